// DeviceShareArgs: their rows, and what is wrong with them in Koordinator's words.
#include "scheduling/plugins/device_share/args.hpp"

#include "koord/api/koordinator/devices.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/base/joined.hpp"

namespace koord::scheduling::device_share {

namespace {
constexpr std::string_view kEach = R"({"type":"LeastAllocated","resources":[{"name":")",
                           kNext = R"(","weight":1},{"name":")", kEnd = R"(","weight":1}]})";
constexpr std::string_view kLeast =
    kJoined<kEach, api::kGpuMemoryRatio, kNext, api::kGpuMemory, kNext, api::kRdma, kNext, api::kFpga, kEnd>;
constexpr std::string_view kTemplatesOf =
    R"({"configMapNamespace":"koordinator-system","configMapName":"gpu-shared-resource-templates",)"
    R"("matchedResources":[")";
constexpr std::string_view kClosed = R"("]})";
constexpr std::string_view kTemplates = kJoined<kTemplatesOf, api::kNpuCore, kClosed>;
}  // namespace

void DeviceShareArgs::validate(const std::string&, FieldErrors& errors) const {
  scoring_strategy->validate("scoring strategy", errors);
}

KOORD_SCHEMA(GpuSharedResourceTemplatesConfig, ROW(config_map_namespace), ROW(config_map_name),
             ROW(matched_resources).doc("Pods that ask for one of them get a template's share."));
KOORD_SCHEMA(GpuShareUnsupportedModel, ROW(vendor).doc("As the nodes' label says."), ROW(model));
KOORD_OBJECT(DeviceShareArgs, args_kind("DeviceShareArgs"), ROW(allocator).doc("Deprecated, without effect."),
             ROW(scoring_strategy).default_json(kLeast).doc("How devices are scored."),
             ROW(disable_device_numa_topology_alignment).wire("disableDeviceNUMATopologyAlignment"),
             ROW(gpu_shared_resource_templates_config)
                 .default_json(kTemplates)
                 .doc("The ConfigMap of the templates of shared devices."),
             ROW(gpu_share_unsupported_models).doc("Models that pods do not share."));

}  // namespace koord::scheduling::device_share
