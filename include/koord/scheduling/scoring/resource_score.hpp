// ResourceScorer: the scores that follow from how full a node is, in kube-scheduler's arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "koord/scheduling/plugin/plugin.hpp"

namespace koord::scheduling {

class ResourceScorer {
 public:
  enum class Strategy : std::uint8_t {
    least_allocated,  // the weighted mean of the free parts, in percent, rounded down
    most_allocated,   // the same of the used parts
    ratio,            // a broken line over the used percentage, the mean rounded to nearest
    balanced,         // 100 * (1 - the standard deviation of the used parts)
  };
  struct Resource {
    ResourceId id;
    bool scalar;  // counts only for pods that ask for it
    std::int64_t weight;
  };
  /// Of the broken line; scores are 0..100, utilizations ascend.
  struct Point {
    std::int64_t utilization, score;
  };

  ResourceScorer(Strategy strategy, std::vector<Resource> resources, std::vector<Point> shape = {})
      : strategy_(strategy), resources_(std::move(resources)), shape_(std::move(shape)) {}

  struct Room {
    std::int64_t there = 0, used = 0;
  };
  /// What there is on a row of a scalar resource that the node does not list: nothing, if nobody knows of
  /// any.
  using Elsewhere = std::function<Room(ResourceId, Row)>;
  /// From now on this counts, too, for pods that ask for such a resource.
  void look_elsewhere(Elsewhere elsewhere) { elsewhere_ = std::move(elsewhere); }
  bool has_scalars() const;

  /// What the pod adds, in the order of the resources. All but `balanced` count containers without a request
  /// with the defaults of Requests::nonzero_cpu and nonzero_memory, on the node too.
  std::vector<std::int64_t> requests(const PodInfo& pod) const;
  void score(std::span<const std::int64_t> requests, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const;
  /// Of the view's row as it would be.
  std::int32_t score(std::span<const std::int64_t> requests, const NodeView& view) const;
  /// `used` and `capacity` as far as capacity is not 0, with the weights; public for the tests' tables.
  std::int32_t score(std::span<const std::int64_t> used, std::span<const std::int64_t> capacity,
                     std::span<const std::int64_t> weights) const;

 private:
  bool looks_elsewhere(std::span<const std::int64_t> requests) const;
  /// Whose sums count for a resource.
  ResourceId counted(ResourceId resource) const;
  std::int64_t part(std::int64_t used, std::int64_t capacity) const;

  Strategy strategy_;
  std::vector<Resource> resources_;
  std::vector<Point> shape_;
  Elsewhere elsewhere_;
};

/// The height of a line over utilizations, of at least one point; level beyond its ends.
std::int64_t on_broken_line(std::span<const ResourceScorer::Point> shape, std::int64_t utilization);

}  // namespace koord::scheduling
