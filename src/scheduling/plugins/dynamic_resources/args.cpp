// DynamicResourcesArgs: see args.hpp. The messages are kube-scheduler's.
#include "scheduling/plugins/dynamic_resources/args.hpp"

#include <fmt/format.h>

#include "koord/api/rules/validation_names.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/base/text.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {
constexpr std::size_t kMostNames = 16;
}  // namespace

void DynamicResourcesArgs::validate(const std::string& path, FieldErrors& errors) const {
  const std::string at = path.empty() ? path : path + ".";
  if (filter_timeout && filter_timeout->value < nanoseconds::zero())
    errors.invalid(at + "filterTimeout", quote(filter_timeout->to_string()), "must be zero or positive");
  if (binding_timeout && binding_timeout->value < std::chrono::seconds(1))
    errors.invalid(at + "bindingTimeout", quote(binding_timeout->to_string()), "must be at least 1 second");
  const auto check = [&](std::string_view field, const std::vector<std::string>& names) {
    if (names.size() > kMostNames)
      errors.invalid(fmt::format("{}{}", at, field), std::to_string(names.size()),
                     fmt::format("at most {} attributes can be named", kMostNames));
    for (std::size_t i = 0; i < names.size(); ++i)
      for (const std::string& why : api::check_qualified_name(names[i]))
        errors.invalid(fmt::format("{}{}[{}]", at, field, i), quote(names[i]), why);
  };
  if (gpu_names) {
    check("gpuNames.ids", gpu_names->ids);
    check("gpuNames.pciBuses", gpu_names->pci_buses);
  }
  if (numa_nodes) check("numaNodes.attributes", numa_nodes->attributes);
}

Result<> DynamicResourcesArgs::check_gates(bool filters_end, bool binding_conditions) const {
  FieldErrors errors;
  const auto forbidden = [&](std::string_view field, std::string_view gates) {
    errors.add(fmt::format("{}: Forbidden: {} feature gate is disabled", field, gates));
  };
  if (!filters_end && filter_timeout && filter_timeout->value != kFilterTimeout)
    forbidden("filterTimeout", "DRASchedulingFilterTimeout");
  if (!binding_conditions && binding_timeout)
    forbidden("bindingTimeout", "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus");
  if (!errors.empty()) return Error(Code::invalid, errors.text());
  return {};
}

KOORD_SCHEMA(GpuNameAttributes,
             ROW(ids).doc("As texts: a Device's id, or that of the GPU of which it is a part."),
             ROW(pci_buses).doc("Addresses on the PCI bus."));
KOORD_SCHEMA(
    NumaNodeAttributes,
    ROW(attributes).doc("As numbers; the first that a device has says it. None: no device is on any."));
KOORD_OBJECT(
    DynamicResourcesArgs, args_kind("DynamicResourcesArgs"),
    ROW(filter_timeout)
        .default_json(R"("10s")")
        .doc("How long devices are looked for in one attempt to place a pod; 0s: until all ways are tried."),
    ROW(binding_timeout)
        .doc("With the gate DRADeviceBindingConditions: how long a pod waits until its devices may be used; "
             "10m0s if it is absent."),
    ROW(gpu_names).doc(
        "koord's own. Attributes of devices that say which GPU of the node's Device they are: of a GPU "
        "that one of DeviceShare and claims has given the other gives nothing. Absent: ids uuid and "
        "parentUUID, pciBuses resource.kubernetes.io/pciBusID and pciBusID; of the driver where no "
        "domain is said."),
    ROW(numa_nodes)
        .doc("koord's own. On which memory nodes devices are: where the node or the pod has a NUMA topology "
             "policy, a pod's CPUs, memory and devices are on the same. Absent: attributes "
             "resource.kubernetes.io/numaNode, and numaNode, numaNodeID and numa of the driver."));

}  // namespace koord::scheduling::dynamic_resources
