// NodeResourcesFitPlus: fills nodes up by some resources and spreads pods by others.
#include <algorithm>

#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/plugins/node_resources_fit_plus/request.hpp"

namespace koord::scheduling {

namespace node_resources_fit_plus {

struct ResourceStrategy {
  std::string type;
  std::int64_t weight = 0;
  KOORD_STRUCT(ResourceStrategy);
};
KOORD_SCHEMA(ResourceStrategy, ROW(type).doc("MostAllocated or LeastAllocated; else it scores 0."),
             ROW(weight).doc("Weight of the resource."));

struct NodeResourcesFitPlusArgs {
  api::FlatMap<ResourceStrategy> resources;

  // Koordinator takes all that can be read.
  void validate(const std::string&, FieldErrors&) const {}
  KOORD_STRUCT(NodeResourcesFitPlusArgs);
};
KOORD_OBJECT(NodeResourcesFitPlusArgs, args_kind("NodeResourcesFitPlusArgs"),
             ROW(resources).doc("How nodes are scored by each resource that a pod asks for."));

namespace {

__extension__ using Wide = __int128;
constexpr std::int64_t kMax = 100;
constexpr std::int64_t kNotAsked = -1;

struct Resource {
  ResourceId id;
  ResourceId counted;  // whose sums count for it
  std::string name;
  bool most, least;
  std::int64_t weight;
};

struct State final : PodState {
  std::vector<std::int64_t> requests;  // in the order of the resources; kNotAsked
};

/// Of what the node has. `used` is not negative.
std::int64_t part(const Resource& r, std::int64_t used, std::int64_t capacity) {
  if (capacity == 0 || !(r.most || r.least)) return 0;
  if (r.least && used > capacity) return 0;
  const Wide share = r.most ? std::min(used, capacity) : capacity - used;
  return static_cast<std::int64_t>(share * kMax / capacity);
}

class NodeResourcesFitPlus final : public Plugin, public ScorePlugin, public PreScorePlugin {
 public:
  NodeResourcesFitPlus(const NodeResourcesFitPlusArgs& args, const PluginContext& context) {
    for (const auto& [name, strategy] : args.resources) {
      const ResourceId fixed = fixed_resource(name);
      if (fixed == kPods || (fixed == kFirstScalar && !is_scalar_resource(name))) continue;
      const ResourceId id = context.nodes.keep_resource(name);
      resources_.push_back({id,
                            id == kCpu      ? kNonzeroCpu
                            : id == kMemory ? kNonzeroMemory
                                            : id,
                            name.str(), strategy.type == "MostAllocated", strategy.type == "LeastAllocated",
                            strategy.weight});
    }
  }

  bool sign(const PodInfo& pod, Signature& signature) const override {
    for (const std::int64_t n : requests(pod)) signature.add(n);
    return true;
  }
  Depends score_depends() const override { return Depends::pods; }
  Prepared prepare_score(const PodInfo& pod) override {
    auto state = std::make_unique<State>();
    state->requests = requests(pod);
    return {std::move(state), false};
  }
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    const std::vector<std::int64_t>& asked = static_cast<const State*>(state)->requests;
    const Wide weights = weights_of(asked);
    for (std::size_t n = 0; n < rows.size(); ++n)
      out[n] = score_of(asked, weights, [&](const Resource& r) {
        return Room{nodes.used(r.counted, rows[n]), nodes.allocatable(r.id, rows[n])};
      });
  }
  std::int32_t score_view(PodState* state, const NodeTable&, const NodeView& view) const override {
    const std::vector<std::int64_t>& asked = static_cast<const State*>(state)->requests;
    return score_of(asked, weights_of(asked), [&](const Resource& r) {
      return Room{view.used(r.counted), view.allocatable(r.id)};
    });
  }

 private:
  struct Room {
    std::int64_t used, capacity;
  };
  Wide weights_of(std::span<const std::int64_t> asked) const {
    Wide weights = 0;  // anything can be configured
    for (std::size_t i = 0; i < asked.size(); ++i)
      if (asked[i] != kNotAsked) weights += resources_[i].weight;
    return weights;
  }
  template <class RoomOf>
  std::int32_t score_of(std::span<const std::int64_t> asked, Wide weights, RoomOf&& room_of) const {
    if (weights == 0) return kMax;
    Wide sum = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i] == kNotAsked) continue;
      const Resource& r = resources_[i];
      const Room room = room_of(r);
      std::int64_t used;
      if (__builtin_add_overflow(asked[i], room.used, &used)) used = INT64_MAX;
      sum += Wide{part(r, used, room.capacity)} * r.weight;
    }
    // Weights below zero could leave the range, which fails the pod in Koordinator.
    return static_cast<std::int32_t>(std::clamp(sum / weights, Wide{0}, Wide{kMax}));
  }
  std::vector<std::int64_t> requests(const PodInfo& pod) const {
    std::vector<std::int64_t> all;
    all.reserve(resources_.size());
    for (const Resource& r : resources_)
      all.push_back(pod.requests[r.id] > 0 ? counted_request(*pod.pod, r.name) : kNotAsked);
    return all;
  }

  std::vector<Resource> resources_;
};

std::int64_t amount(const api::Quantity& quantity, std::string_view resource) {
  return std::max<std::int64_t>(0, resource == "cpu" ? quantity.milli_value() : quantity.value());
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace

std::int64_t counted_request(const api::Pod& pod, std::string_view resource) {
  const auto of = [&](const api::Container& c) -> std::int64_t {
    const api::Quantity* const said = c.resources.requests.find(resource);
    if (said != nullptr) return amount(*said, resource);
    return resource == "cpu" ? 100 : resource == "memory" ? std::int64_t{200} << 20 : 0;
  };
  std::int64_t sum = 0;
  for (const api::Container& c : pod.spec.containers) sum = plus(sum, of(c));
  for (const api::Container& c : pod.spec.init_containers)
    sum = c.restart_policy == "Always" ? plus(sum, of(c)) : std::max(sum, of(c));
  const api::Quantity* const overhead = pod.spec.overhead.find(resource);
  return overhead != nullptr ? plus(sum, amount(*overhead, resource)) : sum;
}

}  // namespace node_resources_fit_plus

extern const PluginEntry kNodeResourcesFitPlus{
    .name = "NodeResourcesFitPlus",
    .args = &args_type<node_resources_fit_plus::NodeResourcesFitPlusArgs>,
    .make = &make_with<node_resources_fit_plus::NodeResourcesFitPlus,
                       node_resources_fit_plus::NodeResourcesFitPlusArgs>};

}  // namespace koord::scheduling
