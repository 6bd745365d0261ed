// WhatIf: which changes of a pod, and which further nodes, would let it fit, found by asking the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/what_if/pod_changes.hpp"

namespace koord::scheduling::explain {

/// A smallest set of changes with which the pod fits on some nodes: without any one of them it does not fit
/// on these.
struct Remedy {
  Changes changes = 0;
  std::vector<Row> rows;        // ascending
  PodChanges::Amounts amounts;  // of its requests: the most that these rows take
};

/// Nodes that no change of the pod makes fit, and what they say to a pod that has made all of them.
struct Hopeless {
  Verdict verdict;
  std::vector<Row> rows;
};

/// A kind of node: alike in what they have, their taints and their labels, but for those that name nodes.
struct NodeKind {
  Row like = kNoRow;  // the first of them
  std::uint32_t nodes = 0;
  bool fits = false;           // one more of them, empty, would take the pod
  Verdict verdict = {};        // else this is why it would not
  std::string prefilter = {};  // or this, said before nodes are looked at
};

/// Asks an engine that decides nothing meanwhile and does not know the pod. Its thread.
class WhatIf {
 public:
  /// `pod` waits for a node: it has none, and no status. `give_up` is asked before the engine is; once it
  /// says true nothing further is looked at.
  WhatIf(Engine& engine, const Profile& profile, std::shared_ptr<const api::Pod> pod,
         std::function<bool()> give_up = {});

  const PodChanges& changes() const { return changes_; }
  /// The smallest first, of equal ones that with the most nodes. At most kMostRemedies.
  const std::vector<Remedy>& remedies() const { return remedies_; }
  const std::vector<Hopeless>& hopeless() const { return hopeless_; }
  /// Looks for both. Only worth it for a pod that fits nowhere.
  void search();
  /// Of the most numerous kinds of nodes. The engine is as before afterwards.
  std::vector<NodeKind> node_kinds();
  /// How often the engine was asked about a pod.
  std::size_t asked() const { return asked_; }
  /// Then there are no remedies, and not all kinds.
  bool gave_up() const { return gave_up_; }

  static constexpr std::size_t kMostRemedies = 8, kMostKinds = 24;

 private:
  bool may_ask();
  /// Ascending.
  std::vector<Row> feasible(Changes changes, const PodChanges::Amounts& amounts = {});
  bool fits(Row row, Changes changes, const PodChanges::Amounts& amounts);
  void look_deeper(const std::vector<Row>& rows, Changes needed);
  Hopeless as_a_whole(const Diagnosis& diagnosis, const std::string& said) const;
  Changes shrink(Row row);
  void add(Changes changes, std::vector<Row> rows);
  void settle();
  void bargain(Remedy& remedy);
  std::int64_t free(std::size_t place, Row row) const;
  std::int64_t most(const Remedy& remedy, std::size_t place);
  std::vector<Symbol> naming_labels() const;

  Engine& engine_;
  const Profile& profile_;
  std::shared_ptr<const api::Pod> pod_;
  PodChanges changes_;
  std::vector<Remedy> remedies_;
  std::vector<Hopeless> hopeless_;
  std::function<bool()> give_up_;
  std::size_t asked_ = 0;
  bool gave_up_ = false;
};

}  // namespace koord::scheduling::explain
