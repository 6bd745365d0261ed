// GPUs: by template, by partition, by the machine's topology.
#include <algorithm>
#include <array>
#include <bit>

#include "scheduling/plugins/device_share/allocate/view.hpp"

namespace koord::scheduling::device_share {

namespace {

constexpr DeviceType kGpus = DeviceType::gpu;

void take(Choice& choice, std::size_t place) {
  Choice::OfType& of = choice.types[index(kGpus)];
  of.picks[of.count++] = {static_cast<std::uint8_t>(place), Choice::kNoFunction};
  of.mask |= Places{1} << place;
}

/// What stays whole if these are taken: an 8 outweighs all 4s, a 4 all 2s.
std::int64_t left_whole(const DeviceShape& shape, Places taken, int from) {
  constexpr std::array<std::pair<int, std::int64_t>, 3> kWeights{{{8, 10000}, {4, 100}, {2, 1}}};
  std::int64_t score = 0;
  for (const auto& [size, weight] : kWeights) {
    const DeviceShape::Partitions* const of = size >= from ? shape.partitions_of(size) : nullptr;
    for (std::size_t i = 0; of != nullptr && i < of->best; ++i)
      if ((of->partitions[i].mask & taken) == 0) score += weight * of->partitions[i].score;
  }
  return score;
}

Refusal by_partition(const View& view, Places used, Choice& choice) {
  const BoundDemand& bound = view.bound();
  if (!view.shape().has_partitions) return {Why::no_partition_table};
  if (bound.partitions == nullptr) return {Why::no_partitions_of_size};
  const std::int32_t highest = bound.partitions->partitions.front().score;
  const Places healthy = view.healthy(kGpus);
  const DeviceShape::Partition* best = nullptr;
  std::int64_t best_score = 0;
  for (const DeviceShape::Partition* const each : bound.wide_enough) {
    if (best != nullptr ? each->score < best->score
                        : view.demand().gpu.best_partition && each->score < highest)
      break;
    if ((each->mask & used) != 0 || (each->mask & ~healthy) != 0) continue;
    const std::int64_t score = left_whole(view.shape(), used | each->mask, bound.partitions->size);
    if (best != nullptr && score <= best_score) continue;
    best = each;
    best_score = score;
  }
  if (best == nullptr) return {Why::too_few_partitions};
  for (const std::uint8_t place : best->gpus) take(choice, place);
  return {};
}

/// The nearest place that has enough: the deepest group, of equally deep ones that with more in use on the
/// way to it, then, of a share, the best score.
class ByTopology {
 public:
  ByTopology(const View& view, Places used, const DeviceScorer* scorer)
      : view_(view),
        scorer_(scorer),
        fitting_(view.fitting(kGpus)),
        used_(used),
        count_(view.demand().of(kGpus).count),
        shared_(view.demand().gpu.shared) {}

  Places find() const { return search(view_.shape().of(kGpus).all, view_.shape().gpu_tree, 1, 0).gpus; }

 private:
  struct Found {
    Places gpus = 0;  // 0: nothing
    int depth = 0;
    int in_use = 0;
    std::int64_t score = -1;
  };

  Found search(Places gpus, const std::vector<DeviceShape::Group>& inner, int depth, int in_use) const {
    if (std::popcount(gpus) < count_) return {};
    in_use += (gpus & used_) != 0 ? 1 : 0;
    Found best;
    for (const DeviceShape::Group& group : inner) {
      const Found found = search(group.gpus, group.inner, depth + 1, in_use);
      if (found.gpus != 0 && (best.gpus == 0 || better(found, best))) best = found;
    }
    if (best.gpus != 0 || static_cast<int>(view_.demand().gpu.scope) > depth) return best;
    const Places fitting = gpus & fitting_;
    if (shared_) return best_share(fitting, depth, in_use);
    if (std::popcount(fitting) < count_) return {};
    Places chosen = 0;
    Places left = fitting;
    for (int i = 0; i < count_; ++i, left &= left - 1) chosen |= left & ~(left - 1);
    return {chosen, depth, in_use, -1};
  }

  bool better(const Found& a, const Found& b) const {
    if (a.depth != b.depth) return a.depth > b.depth;
    if (a.in_use != b.in_use) return a.in_use > b.in_use;
    return shared_ && a.score > b.score;
  }

  Found best_share(Places fitting, int depth, int in_use) const {
    Found best;
    for (; fitting != 0; fitting &= fitting - 1) {
      const auto place = static_cast<std::size_t>(std::countr_zero(fitting));
      const std::int64_t score = scorer_ == nullptr
                                     ? 0
                                     : scorer_->score(kGpus, view_.demand().of(kGpus).per_device,
                                                      view_.total(kGpus, place), view_.free(kGpus, place));
      if (score > best.score) best = {Places{1} << place, depth, in_use, score};
    }
    return best;
  }

  const View& view_;
  const DeviceScorer* scorer_;
  Places fitting_, used_;
  int count_;
  bool shared_;
};

Refusal by_topology(const View& view, Places used, const DeviceScorer* scorer, Choice& choice,
                    bool& by_score) {
  const GpuDemand& gpu = view.demand().gpu;
  const bool has_tree = !view.shape().gpu_tree.empty();
  if (!has_tree || (gpu.shared && view.demand().of(kGpus).count > 1)) {
    by_score = !gpu.scoped;
    if (by_score) return {};
    return {has_tree ? Why::shared_multi : Why::no_topology_tree};
  }
  Places found = ByTopology(view, used, scorer).find();
  if (found == 0) return {gpu.scoped ? Why::too_few_scoped : Why::too_few_gpus};
  for (; found != 0; found &= found - 1) take(choice, static_cast<std::size_t>(std::countr_zero(found)));
  return {};
}

}  // namespace

Refusal allocate_gpus(const View& view, const DeviceScorer* scorer, Choice& choice, bool& by_score) {
  by_score = false;
  const GpuDemand& gpu = view.demand().gpu;
  const BoundDemand& bound = view.bound();
  if (gpu.by_template && bound.templates == 0) return {Why::no_matched_template};
  // One of several templates nobody has chosen: the share goes without.
  choice.by_template = gpu.by_template && bound.templates == 1;
  const Places used = view.used(kGpus);
  if (!gpu.shared) {
    const Refusal refusal = by_partition(view, used, choice);
    if (!refusal.refused()) return {};
    if (gpu.by_partition || view.shape().honors_partitions) return refusal;
  }
  return by_topology(view, used, scorer, choice, by_score);
}

}  // namespace koord::scheduling::device_share
