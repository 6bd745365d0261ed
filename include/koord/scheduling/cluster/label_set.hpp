// LabelSet: what selectors read of a pod, kept once for all pods that are alike in it.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "koord/api/values/string_map.hpp"
#include "koord/base/symbol.hpp"
#include "koord/scheduling/cluster/resource_cells.hpp"

namespace koord::scheduling {

class PodSelector;
class PodSelectors;
struct PodInfo;

/// A namespace and labels, the pods on rows that have them, and the selectors that select those. Belongs to
/// the PodSelectors that made it.
class LabelSet {
 public:
  /// A selector that selects it; `place` is the set's place in the selector's list.
  struct Selected {
    PodSelector* by;
    std::uint32_t place;
  };
  /// A pod that counts on a row.
  struct Placed {
    const PodInfo* pod;
    Row row;
    bool terminating;
  };

  const Symbol& namespace_name() const { return namespace_; }
  const api::SymbolMap& labels() const { return labels_; }
  /// In no order.
  std::span<const Selected> selected() const { return selected_; }
  std::span<const Placed> pods() const { return pods_; }
  /// Another one whenever selected() changes, and never that of any other set.
  std::uint64_t version() const { return version_; }

 private:
  friend PodSelectors;
  friend void intrusive_ptr_add_ref(LabelSet* set);
  friend void intrusive_ptr_release(LabelSet* set);
  LabelSet(PodSelectors& owner, Symbol name_of_namespace, api::SymbolMap labels)
      : owner_(owner), namespace_(std::move(name_of_namespace)), labels_(std::move(labels)) {}

  PodSelectors& owner_;
  Symbol namespace_;
  api::SymbolMap labels_;
  std::vector<Selected> selected_;
  std::vector<Placed> pods_;
  std::uint64_t version_ = 0;
  std::uint32_t users_ = 0;
  // Where it stands in its owner's lists: of its namespace, and of each label.
  std::uint32_t place_ = 0;
  std::vector<std::uint32_t> places_;
};

void intrusive_ptr_add_ref(LabelSet* set);
void intrusive_ptr_release(LabelSet* set);
/// Holds a set for as long as somebody reads it.
using LabelSetRef = boost::intrusive_ptr<LabelSet>;

/// What PodSelectors keeps with a pod: it is for that pod alone, and stays with it when the pod's object is
/// replaced by one with the same labels.
struct PodLabels {
  LabelSetRef set;
  std::uint32_t place = 0;  // among the set's pods, while the pod counts on a row
};

}  // namespace koord::scheduling
