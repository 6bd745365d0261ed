// See device_names.hpp.
#include "scheduling/plugins/dynamic_resources/nodes/device_names.hpp"

#include <string_view>

#include "scheduling/plugins/dynamic_resources/pools/attribute_names.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {

std::vector<std::string> values_of(const api::SliceDevice& device, std::string_view driver,
                                   const std::vector<std::string>& attributes) {
  std::vector<std::string> values;
  for (const auto& [name, attribute] : device.attributes) {
    if (!attribute.string || attribute.string->empty()) continue;
    for (const std::string& wanted : attributes)
      if (is_same_attribute(name.view(), wanted, driver)) {
        values.push_back(attribute.string->str());
        break;
      }
  }
  return values;
}

}  // namespace

CommonDevices::Offered names_of(const api::SliceDevice& device, CommonDevices::Number number, Symbol driver,
                                const NamingAttributes& attributes) {
  return {.number = number,
          .driver = driver.str(),
          .ids = values_of(device, driver.view(), attributes.ids),
          .buses = values_of(device, driver.view(), attributes.buses)};
}

std::string node_of(const api::AllocationResult& allocation) {
  if (!allocation.node_selector) return {};
  for (const api::NodeSelectorTerm& term : allocation.node_selector->node_selector_terms)
    for (const api::NodeSelectorRequirement& each : term.match_fields)
      if (each.key.view() == "metadata.name" && each.operator_.view() == "In" && each.values.size() == 1)
        return each.values[0].str();
  return {};
}

}  // namespace koord::scheduling::dynamic_resources
