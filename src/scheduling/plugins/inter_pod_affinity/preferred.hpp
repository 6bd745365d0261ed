// PreferredState: how much one class of pods is drawn to each row, or away from it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/plugin/plugin_base.hpp"
#include "scheduling/plugins/inter_pod_affinity/terms.hpp"

namespace koord::scheduling::inter_pod_affinity {

/// Keeps a sum for each domain of the keys that matter, repaired from the logs of the counts.
class PreferredState final : public PodState {
 public:
  /// `terms`: of all pods of the class; nullptr: they have none. `hard_weight`: what a required affinity term
  /// of a pod on a row counts as.
  PreferredState(TermTable& table, std::shared_ptr<const AffinityTerms> terms, std::int64_t hard_weight);

  /// For a pod with these labels and these counts. False: nothing draws it anywhere.
  bool update(const LabelSet& pod);
  /// out[i] = the sum of rows[i]; the rows ascend.
  void score(std::span<const Row> rows, std::span<std::int64_t> out) const;

  std::size_t bytes() const override;

 private:
  struct Key {
    TopologyRef key;
    std::vector<std::int64_t> sums;  // by domain
  };
  struct Source {
    CountedRef counted;
    std::int64_t factor;
    std::uint32_t key;
    std::uint64_t read = 0;  // of its log
  };

  std::uint32_t key_of(const Counted& counted);
  void find_drawing(const LabelSet& pod);
  void rebuild();
  bool catch_up(Source& source);

  TermTable& table_;
  std::shared_ptr<const AffinityTerms> terms_;
  std::int64_t hard_weight_;
  std::vector<Key> keys_;  // those of the pod's own terms first
  std::size_t own_keys_ = 0;
  std::unordered_map<const TopologyKey*, std::uint32_t> key_index_;
  std::vector<Source> own_, drawing_;  // the second by serial
  std::uint64_t pod_version_ = 0, table_version_ = 0;
  bool built_ = false;
};

/// kube-scheduler's: the highest becomes 100 and the lowest 0; all 0 if they are alike.
void normalize(std::span<std::int64_t> scores);

}  // namespace koord::scheduling::inter_pod_affinity
