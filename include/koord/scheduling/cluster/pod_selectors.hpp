// PodSelectors: which pods do selectors select? Label sets and selectors interned, the answers kept both
// ways.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "koord/base/result.hpp"
#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/cluster/label_set.hpp"

namespace koord::scheduling {

/// Pods on a row, or a change of their number. Those that are being deleted are among `all`.
struct PodCount {
  std::int32_t all = 0;
  std::int32_t terminating = 0;
};

/// Told how many pods a selector selects on a row more, or fewer, than before. It takes no references and
/// gives none back while it is told.
class SelectionObserver {
 public:
  virtual ~SelectionObserver() = default;
  virtual void selection_changed(const PodSelector& selector, Row row, PodCount by) = 0;
};

/// Conditions on namespace and labels, of which a pod has to meet all.
class PodSelector {
 public:
  struct Selects {
    LabelSet* set;
    std::uint32_t place;  // the selector's, in the set's list
  };
  /// A small number, of no other selector at the same time; used again afterwards.
  std::uint32_t id() const { return id_; }
  /// The label sets that it selects, in no order.
  std::span<const Selects> sets() const { return sets_; }
  /// Calls f(row, count) for the pods on rows; a row may come several times.
  template <class F>
  void each_row(F&& f) const {
    for (const Selects& selects : sets_)
      for (const LabelSet::Placed& placed : selects.set->pods())
        f(placed.row, PodCount{1, placed.terminating});
  }
  void observe(SelectionObserver& observer) { observers_.push_back(&observer); }
  void forget(SelectionObserver& observer) { std::erase(observers_, &observer); }

 private:
  friend PodSelectors;
  friend void intrusive_ptr_add_ref(PodSelector* selector);
  friend void intrusive_ptr_release(PodSelector* selector);
  struct Term {
    std::vector<Symbol> namespaces;  // sorted
    api::Selector of_namespaces;     // or: what the namespace's labels say
    api::Selector labels;
    bool known_only = false;
    bool reads_namespaces() const { return !of_namespaces.is_nothing() && !of_namespaces.is_everything(); }
  };
  /// Where a label set that it selects must show up: its owner looks for selectors there.
  struct Anchor {
    enum class By : std::uint8_t { none, key, label } by = By::none;
    bool any_namespace = false;
    Symbol namespace_, key, value;
    friend bool operator==(const Anchor&, const Anchor&) = default;
  };
  struct AnchorHash {
    std::size_t operator()(const Anchor& a) const;
  };

  explicit PodSelector(PodSelectors& owner) : owner_(owner) {}
  void find_anchors();

  PodSelectors& owner_;
  std::vector<Term> terms_;
  std::vector<Anchor> anchors_;
  std::vector<Selects> sets_;
  std::vector<SelectionObserver*> observers_;
  const std::string* key_ = nullptr;
  std::uint32_t id_ = 0;
  std::uint32_t users_ = 0;
};

void intrusive_ptr_add_ref(PodSelector* selector);
void intrusive_ptr_release(PodSelector* selector);
/// Holds a selector for as long as somebody reads it.
using PodSelectorRef = boost::intrusive_ptr<PodSelector>;

/// What is selected is worked out once for a label set and a selector, when the later of them comes or when a
/// namespace's labels change; an arriving pod then costs a look-up and the selectors that select it. A
/// selector costs the label sets that have one of its labels, a label set the selectors that ask for one of
/// its. What nobody holds is forgotten. Belongs to the engine's thread, is told of pods before all that asks
/// it, and outlives the references.
class PodSelectors final : public ClusterObserver {
 public:
  /// A condition: the pods of `namespaces` and of the namespaces that `namespace_selector` selects (nullptr:
  /// none) whose labels `labels` selects (nullptr: none). Of a namespace that is not known the labels count
  /// as empty; with `known_only` it is selected by name or with all others alone.
  struct Term {
    std::vector<Symbol> namespaces;
    const api::LabelSelector* namespace_selector = nullptr;
    const api::LabelSelector* labels = nullptr;
    bool known_only = false;
  };

  PodSelectors() = default;
  PodSelectors(const PodSelectors&) = delete;
  PodSelectors& operator=(const PodSelectors&) = delete;

  /// Found once for a pod and kept with it.
  const LabelSet& label_set(const PodInfo& pod);
  /// At least one term. What selects the same and is written alike is one selector. An error says what is
  /// wrong with a selector, in Kubernetes' words.
  Result<PodSelectorRef> selector(std::span<const Term> terms);
  /// What it would say of a pod with these labels.
  bool selects(const PodSelector& selector, const Symbol& name_of_namespace,
               const api::SymbolMap& labels) const;

  /// nullptr: the namespace is gone.
  void set_namespace(const Symbol& name, const api::SymbolMap* labels);

  void pod_added(Row row, const PodInfo& pod) override;
  void pod_removed(Row row, const PodInfo& pod) override;
  void node_changed(Row, const api::Node*, const api::Node*) override {}

  std::size_t label_sets() const { return sets_.size(); }
  std::size_t selectors() const { return selectors_.size(); }

 private:
  friend void intrusive_ptr_release(LabelSet* set);
  friend void intrusive_ptr_release(PodSelector* selector);
  using Anchor = PodSelector::Anchor;
  struct SetKey {
    const Symbol& namespace_;
    const api::SymbolMap& labels;
  };
  struct SetHash {
    using is_transparent = void;
    std::size_t operator()(const SetKey& key) const;
    std::size_t operator()(const std::unique_ptr<LabelSet>& set) const {
      return (*this)(SetKey{set->namespace_, set->labels_});
    }
  };
  struct SetEqual {
    using is_transparent = void;
    static SetKey key(const SetKey& k) { return k; }
    static SetKey key(const std::unique_ptr<LabelSet>& set) { return {set->namespace_, set->labels_}; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return key(a).namespace_ == key(b).namespace_ && key(a).labels == key(b).labels;
    }
  };
  struct Label {
    Symbol key, value;
    friend bool operator==(const Label&, const Label&) = default;
  };
  struct LabelHash {
    std::size_t operator()(const Label& label) const;
  };
  using Sets = std::vector<LabelSet*>;

  void release(LabelSet& set);
  void release(PodSelector& selector);
  void list(LabelSet& set);
  void unlist(LabelSet& set);
  template <class F>
  void each_candidate(const LabelSet& set, F&& f) const;
  template <class F>
  void each_candidate(const PodSelector& selector, F&& f) const;
  const api::SymbolMap* namespace_labels(const Symbol& name) const;
  bool in_namespace(const PodSelector::Term& term, const Symbol& name, const api::SymbolMap* labels) const;
  bool selects(const PodSelector& selector, const LabelSet& set) const {
    return selects(selector, set.namespace_, set.labels_);
  }
  void connect(PodSelector& selector, LabelSet& set);
  void disconnect(PodSelector& selector, LabelSet& set);
  static void tell(const PodSelector& selector, const LabelSet& set, std::int32_t sign);
  static void tell(const LabelSet& set, Row row, PodCount by);

  std::unordered_set<std::unique_ptr<LabelSet>, SetHash, SetEqual> sets_;
  std::unordered_map<Label, Sets, LabelHash> sets_of_label_;
  std::unordered_map<Symbol, Sets> sets_of_namespace_;
  std::uint64_t versions_ = 0;

  std::unordered_map<std::string, std::unique_ptr<PodSelector>> selectors_;
  std::unordered_map<Anchor, std::vector<PodSelector*>, PodSelector::AnchorHash> anchored_;
  std::unordered_map<Symbol, std::uint32_t> anchored_keys_;  // how many anchors ask for a label of this key
  std::vector<PodSelector*> reading_namespaces_;
  std::vector<std::uint32_t> free_ids_;
  std::uint32_t next_id_ = 0;

  std::unordered_map<Symbol, api::SymbolMap> namespaces_;
};

}  // namespace koord::scheduling
