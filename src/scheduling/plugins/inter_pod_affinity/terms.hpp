// The terms of pods' affinity and anti-affinity, and how many pods in each domain they concern, counted once
// for all pods and profiles.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/inter_pod_affinity/domain_counts.hpp"

namespace koord::api {
struct PodAffinityTerm;
}

namespace koord::scheduling::inter_pod_affinity {

/// What is counted in each domain of a key.
enum class Counts : std::uint8_t {
  selected,    // pods that the selector selects
  repelling,   // pods with a required anti-affinity term of this selector
  attracting,  // pods with a required affinity term of this selector
  liking,      // the weights of pods' preferred terms of this selector; less than 0 for anti-affinity
};

class TermTable;

/// Of one selector and topology key; only pods on nodes that have the key count.
struct Counted {
  PodSelectorRef selector;
  TopologyRef key;
  Counts of;
  DomainCounts counts;
  /// Of no other one, ever.
  std::uint64_t serial = 0;
  std::uint32_t users = 0;
  std::uint32_t place = 0;  // among those of its selector
};

/// Holds it for as long as somebody reads it.
class CountedRef {
 public:
  CountedRef(TermTable& table, Counted& counted) : table_(&table), counted_(&counted) { ++counted.users; }
  CountedRef(const CountedRef& other) : CountedRef(*other.table_, *other.counted_) {}
  CountedRef(CountedRef&& other) noexcept
      : table_(other.table_), counted_(std::exchange(other.counted_, nullptr)) {}
  CountedRef& operator=(CountedRef other) noexcept {
    std::swap(table_, other.table_);
    std::swap(counted_, other.counted_);
    return *this;
  }
  ~CountedRef();
  Counted* operator->() const { return counted_; }
  Counted& operator*() const { return *counted_; }

 private:
  TermTable* table_;
  Counted* counted_;
};

/// The pod affinity of all pods that have the same terms in the same namespace. What is malformed is left
/// out, list by list, as kube-scheduler does; the API server lets none through.
class AffinityTerms {
 public:
  struct Term {
    PodSelectorRef selector;  // of the pods that a pod with these terms is placed by
    PodSelectorRef carried;   // of the pods that are placed by one with these terms
    Symbol key;
    std::int32_t weight;  // 1 for required terms, less than 0 for preferred anti-affinity
  };
  /// What a pod is looked for by, or what it adds where it is.
  struct Part {
    CountedRef counted;
    std::int64_t amount;
  };

  explicit AffinityTerms(TermTable& table) : table_(table) {}
  AffinityTerms(const AffinityTerms&) = delete;
  AffinityTerms& operator=(const AffinityTerms&) = delete;
  ~AffinityTerms();

  /// Of no other terms, ever.
  std::uint64_t serial() const { return serial_; }
  /// What could not be read, in kube-scheduler's words; mostly empty.
  const std::string& error() const { return error_; }
  std::span<const Term> affinity() const { return affinity_; }
  std::span<const Term> anti_affinity() const { return anti_affinity_; }
  std::span<const Term> preferred() const { return preferred_; }
  /// Selects the pods that all terms of affinity() select; absent if there are none.
  const PodSelectorRef& all() const { return all_; }
  /// What a pod with these terms adds to the counts of its node's domains.
  std::span<const Part> carried() const { return carried_; }
  /// What is counted for pods with these terms that are to be placed; from the first call on.
  struct Wanted {
    std::vector<Part> affinity;       // of all(), each key once
    std::vector<Part> anti_affinity;  // each selector and key once
    std::vector<Part> preferred;      // the same, with its weight
  };
  const Wanted& wanted() const;

 private:
  friend TermTable;
  TermTable& table_;
  std::uint64_t serial_ = 0;
  const std::string* signature_ = nullptr;
  std::string error_;
  std::vector<Term> affinity_, anti_affinity_, preferred_;
  PodSelectorRef all_;
  std::vector<Part> carried_;
  mutable std::unique_ptr<Wanted> wanted_;
};

/// All terms that pods have, interned, and the counts. A pod that comes or goes costs its own terms and the
/// selectors that select it. Belongs to the engine's thread.
class TermTable final : public ClusterObserver, public SelectionObserver, public TopologyKey::Observer {
 public:
  explicit TermTable(const PluginContext& context);
  ~TermTable() override;
  TermTable(const TermTable&) = delete;
  TermTable& operator=(const TermTable&) = delete;

  /// Found once for a pod and kept with it; nullptr: it has no pod affinity.
  std::shared_ptr<const AffinityTerms> of(const PodInfo& pod);
  /// The counts of a selector, of all keys and kinds.
  std::span<Counted* const> of_selector(const PodSelector& selector) const {
    return selector.id() < by_selector_.size() ? std::span<Counted* const>(by_selector_[selector.id()].all)
                                               : std::span<Counted* const>();
  }
  /// Another number whenever there are other Counted of pods' own terms than before.
  std::uint64_t version() const { return version_; }
  /// Whether pods have required anti-affinity in the domains of this key.
  bool repels_in(const Symbol& key) const { return repelling_keys_.contains(key); }
  CountedRef hold(Counted& counted) { return {*this, counted}; }
  PodSelectors& selectors() { return selectors_; }

  void pod_added(Row row, const PodInfo& pod) override { carry(row, pod, 1); }
  void pod_removed(Row row, const PodInfo& pod) override { carry(row, pod, -1); }
  void node_changed(Row, const api::Node*, const api::Node*) override {}
  void selection_changed(const PodSelector& selector, Row row, PodCount by) override;
  void domain_changed(const TopologyKey& key, Row row, DomainId from, DomainId to) override;

  std::size_t terms() const { return terms_.size(); }
  std::size_t counted() const { return by_name_.size(); }

 private:
  friend AffinityTerms;
  friend CountedRef;
  using Part = AffinityTerms::Part;
  using Term = AffinityTerms::Term;

  /// One pod may have ten thousand terms of one selector: none is looked for among all of them.
  struct Name {
    std::uint32_t selector;
    Counts of;
    Symbol key;
    friend bool operator==(const Name&, const Name&) = default;
  };
  struct NameHash {
    std::size_t operator()(const Name& name) const noexcept {
      return name.key.hash() * 31 + name.selector * 4 + static_cast<std::size_t>(name.of);
    }
  };
  struct OfSelector {
    std::vector<Counted*> all = {};
    std::uint32_t selected = 0;  // of Counts::selected
  };

  std::shared_ptr<const AffinityTerms> read(const api::Pod& pod);
  void release(const AffinityTerms& terms);
  void add(std::vector<Part>& parts, const PodSelectorRef& selector, const Symbol& key, Counts of,
           std::int64_t amount);
  Counted& find(const PodSelectorRef& selector, const Symbol& key, Counts of);
  void release(Counted& counted);
  void carry(Row row, const PodInfo& pod, std::int64_t sign);

  NodeTable& nodes_;
  TopologyTable& topology_;
  PodSelectors& selectors_;
  std::unordered_map<std::string, std::weak_ptr<const AffinityTerms>> terms_;  // by what they say
  std::vector<OfSelector> by_selector_;
  std::unordered_map<Name, Counted*, NameHash> by_name_;
  std::unordered_map<Symbol, std::uint32_t> observed_keys_,
      repelling_keys_;  // and how many Counted have them
  std::uint64_t serials_ = 0, version_ = 0;
};

}  // namespace koord::scheduling::inter_pod_affinity
