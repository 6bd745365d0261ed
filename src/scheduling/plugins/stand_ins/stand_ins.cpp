// A stand-in for DynamicResources, which koord does not have yet: it refuses the pods that that would judge,
// by name, so that none is placed as if nobody had asked.
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

namespace stand_ins {
namespace {

constexpr const char* kRefused = "pod has resource claims, which koord does not schedule yet";

/// No event can undo it: a pod's claims cannot change. Of a pod without claims that fits nowhere it says what
/// DynamicResources says, which is part of every such pod's message: that it has none, or, where it was not
/// asked before, that it finds nothing.
class NoClaims final : public Plugin,
                       public NodeFilterPlugin,
                       public PreFilterPlugin,
                       public PostFilterPlugin {
 public:
  explicit NoClaims(const PluginContext& context)
      : index_(context.index), refused_(context.verdicts.intern({context.index, true, {kRefused}})) {}

  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(std::int64_t{has_claims(pod)});
    return true;
  }
  // Of the pod alone; nothing is worth sharing.
  Depends filter_depends() const override { return Depends::pods; }
  Prepared prepare_filter(const PodInfo& pod) override {
    Prepared prepared;
    prepared.skip = !has_claims(pod);
    if (!prepared.skip) prepared.rejected = kRefused;
    return prepared;
  }
  VerdictId filter_node(PodState*, const NodeTable&, Row) const override { return refused_; }

  PostFilterResult post_filter(PodAttempt&, const Diagnosis& diagnosis) override {
    // Plugins prepare in the order of their indexes, up to the one that rejects.
    const bool was_asked = diagnosis.rejectors >> index_ >> 1 != 0;
    if (!was_asked && !diagnosis.prefilter_message.empty() && diagnosis.code == StatusCode::unresolvable)
      return {.status = {StatusCode::error, "not found"}};
    return {.status = {StatusCode::unschedulable, "no new claims to deallocate"}};
  }

 private:
  static bool has_claims(const PodInfo& pod) { return !pod.pod->spec.resource_claims.empty(); }

  const PluginIndex index_;
  const VerdictId refused_;
};

}  // namespace
}  // namespace stand_ins

extern const PluginEntry kDynamicResources{
    .name = "DynamicResources", .stand_in = true, .make = &make<stand_ins::NoClaims>};

}  // namespace koord::scheduling
