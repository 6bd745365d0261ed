// DeviceShareArgs: their rows, and what is wrong with them in Koordinator's words.
#include "scheduling/plugins/koordinator_args/device_share.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::scheduling {

namespace device_share {

namespace {
constexpr std::string_view kLeast =
    R"({"type":"LeastAllocated","resources":[{"name":"koordinator.sh/gpu-memory-ratio","weight":1},)"
    R"({"name":"koordinator.sh/gpu-memory","weight":1},{"name":"koordinator.sh/rdma","weight":1},)"
    R"({"name":"koordinator.sh/fpga","weight":1}]})";
constexpr std::string_view kTemplates =
    R"({"configMapNamespace":"koordinator-system","configMapName":"gpu-shared-resource-templates",)"
    R"("matchedResources":["huawei.com/npu-core"]})";
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

}  // namespace device_share

extern const PluginEntry kDeviceShare{.name = "DeviceShare",
                                      .args = &args_type<device_share::DeviceShareArgs>};

}  // namespace koord::scheduling
