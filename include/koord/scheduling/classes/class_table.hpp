// ClassTable: the classes of pods that were seen, and how much memory what is known of them may take.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "koord/scheduling/classes/cache_memory.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/classes/facet.hpp"
#include "koord/scheduling/config/profile.hpp"

namespace koord::scheduling {

struct PodClass final : CacheMemory::Entry {
  PodClass(const Profile& p, const PodInfo& s, bool can_share) : profile(&p), sample(s), shared(can_share) {}

  const Profile* profile;
  PodInfo sample;
  std::unique_ptr<ClassState> state;  // while the memory keeps it
  const std::string* key = nullptr;
  std::uint32_t pods = 0;  // that refer to it
  bool shared;             // false: of one pod that could not be signed
  std::size_t weight = 0;  // about what it takes besides its state, in bytes
  std::list<PodClass*>::iterator idle;
  /// For whose pods nobody was found to preempt when they were refused by key (admission.cpp).
  struct InVain {
    Symbol key;
    PluginIndex by;
    std::uint64_t since;  // the key refuses pods
    std::int32_t priority;
    bool preempts;  // false: its policy is Never
  };
  std::vector<InVain> in_vain = {};  // each key once, a few

 private:
  void drop() override { state.reset(); }
};

/// What is remembered of classes and facets together, in bytes: so many a node, but not less than a floor,
/// below which it is not worth forgetting anything.
struct ClassMemory {
  std::size_t per_node = 4096;
  std::size_t floor = std::size_t{1} << 20;
};

class ClassTable {
 public:
  ClassTable(NodeTable& nodes, VerdictTable& verdicts, ClassMemory memory)
      : nodes_(nodes), options_(memory), shared_{nodes, verdicts, facets_, memory_, scratch_, sweep_} {}

  /// Counts a pod in; release() counts it out. Classes without pods are remembered for a while, by age.
  PodClass& acquire(const Profile& profile, const PodInfo& pod);
  void release(PodClass& cls);
  /// Up to date with the node table, in a cycle of this pod, which outlives the state's use; valid until the
  /// next call, or until the class is gone. `rows`: see ClassState::update().
  ClassState& state(PodClass& cls, const PodInfo& pod, ClassState::Rows rows = ClassState::Rows::all);

  /// From now on these pods are yielded to; outlives the table.
  void yield_to(const Nominated& nominated) { shared_.nominated = &nominated; }
  /// From now on asked within each cycle; outlives the table.
  void ask(CycleHooks& hooks) { shared_.hooks = &hooks; }
  /// From now on the time for ranking nodes is measured.
  void measure(const Clock& clock) { scratch_.clock = &clock; }
  /// What ranking took since the last call.
  nanoseconds take_scoring() { return std::exchange(scratch_.scoring, nanoseconds{0}); }

  std::size_t size() const { return classes_.size(); }
  /// A pod of each class.
  template <class F>
  void each_sample(F&& f) const {
    for (const auto& [key, cls] : classes_) f(cls.sample);
  }
  /// See RowScratch.
  std::uint64_t rows_looked_at() const { return scratch_.looked_at; }
  /// What is kept. It is brought within its bound by each state(), which may let one thing more grow.
  const CacheMemory& memory() const { return memory_; }

 private:
  // Classes without pods that are remembered, and what they may weigh: pods may be as large as anybody writes
  // them.
  static constexpr std::size_t kIdle = 4096, kIdleWeight = std::size_t{4} << 20;
  void unlist(PodClass& cls);

  NodeTable& nodes_;
  ClassMemory options_;
  CacheMemory memory_;
  RowScratch scratch_;
  FacetTable facets_;
  SweepScratch sweep_;
  ClassShared shared_;
  std::unordered_map<std::string, PodClass> classes_;
  std::list<PodClass*> idle_;  // the longest unused first
  std::size_t idle_weight_ = 0;
  std::unique_ptr<ClassState> transient_;  // of the last class whose state is not kept
  Signature signature_;                    // reused
  std::uint64_t unsigned_ = 0;
};

}  // namespace koord::scheduling
