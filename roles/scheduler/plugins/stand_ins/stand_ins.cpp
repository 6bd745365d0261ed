// Stand-ins for plugins that koord does not have yet: they refuse the pods that those would judge, by name,
// so that none is placed as if nobody had asked.
#include "framework/args.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduler {

namespace stand_ins {
namespace {

/// What of a pod a plugin would judge; bits.
constexpr unsigned kVolumeClaims = 1, kDisks = 2, kResourceClaims = 4;

unsigned asks_for(const api::Pod& pod) {
  unsigned all = pod.spec.resource_claims.empty() ? 0 : kResourceClaims;
  for (const api::Volume& v : pod.spec.volumes) {
    if (v.persistent_volume_claim || v.ephemeral) all |= kVolumeClaims;
    if (v.gce_persistent_disk || v.aws_elastic_block_store || v.iscsi || v.rbd) all |= kDisks;
  }
  return all;
}

std::string_view reason(unsigned asked) {
  if ((asked & kVolumeClaims) != 0)
    return "pod has volumes from PersistentVolumeClaims, which koord does not schedule yet";
  if ((asked & kDisks) != 0)
    return "pod mounts a disk by itself (gcePersistentDisk, awsElasticBlockStore, iscsi or rbd), which koord "
           "does not schedule yet";
  return "pod has resource claims, which koord does not schedule yet";
}

/// No event can undo it: none of these fields of a pod can change.
template <unsigned kJudged>
class StandIn : public Plugin, public NodeFilterPlugin, public PreFilterPlugin {
 public:
  explicit StandIn(const PluginContext& context) : context_(context) {}

  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(std::int64_t{asks_for(*pod.pod) & kJudged});
    return true;
  }
  // Of the pod alone; nothing is worth sharing.
  Depends filter_depends() const override { return Depends::pods; }
  Prepared prepare_filter(const PodInfo& pod) override {
    Prepared prepared;
    const unsigned asked = asks_for(*pod.pod) & kJudged;
    prepared.skip = asked == 0;
    if (asked == 0) return prepared;
    auto state = std::make_unique<State>();
    state->refused = context_.verdicts.intern({context_.index, true, {std::string(reason(asked))}});
    prepared.state = std::move(state);
    prepared.rejected = reason(asked);
    return prepared;
  }
  VerdictId filter_node(PodState* state, const NodeTable&, Row) const override {
    return static_cast<State*>(state)->refused;
  }

 private:
  struct State final : PodState {
    VerdictId refused = kPass;
  };
  PluginContext context_;
};

/// Says what DynamicResources says of a pod without claims that fits nowhere, which is part of every such
/// pod's message: that it has none, or, where it was not asked before, that it finds nothing.
class NoClaims final : public StandIn<kResourceClaims>, public PostFilterPlugin {
 public:
  using StandIn::StandIn;
  PostFilterResult post_filter(PodAttempt&, const Diagnosis& diagnosis) override {
    if (!diagnosis.prefilter_message.empty() && diagnosis.code == StatusCode::unresolvable)
      return {.status = {StatusCode::error, "not found"}};
    return {.status = {StatusCode::unschedulable, "no new claims to deallocate"}};
  }
};

template <unsigned kJudged>
constexpr PluginEntry stand_in(std::string_view name) {
  return {.name = name, .stand_in = true, .make = &make<StandIn<kJudged>>};
}

}  // namespace
}  // namespace stand_ins

using namespace stand_ins;
extern const PluginEntry kVolumeRestrictions = stand_in<kVolumeClaims | kDisks>("VolumeRestrictions");
extern const PluginEntry kNodeVolumeLimits = stand_in<kVolumeClaims | kDisks>("NodeVolumeLimits");
extern const PluginEntry kVolumeZone = stand_in<kVolumeClaims>("VolumeZone");
extern const PluginEntry kDynamicResources{
    .name = "DynamicResources", .stand_in = true, .make = &make<NoClaims>};

}  // namespace koord::scheduler
