// GangScheduling: Kubernetes' own gangs, whose pods are placed together or not at all.
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/gangs/gang_plugin.hpp"
#include "scheduling/plugins/gang_scheduling/kube_book.hpp"

namespace koord::scheduling {

namespace gang_scheduling {
namespace {

/// Kubernetes' front door of the engine for gangs (gangs/gang_plugin.hpp).
class GangScheduling final : public gangs::GangPlugin {
 public:
  explicit GangScheduling(const PluginContext& context)
      : GangPlugin(context.shared.get<KubeBook>(context), context) {}
};

}  // namespace
}  // namespace gang_scheduling

extern const PluginEntry kGangScheduling{
    .name = "GangScheduling", .gate = "GangScheduling", .make = &make<gang_scheduling::GangScheduling>};

}  // namespace koord::scheduling
