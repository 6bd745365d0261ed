// What is written into a pod: see written.hpp.
#include "scheduling/plugins/node_numa_resource/written.hpp"

#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::node_numa_resource {

std::string status_text(const api::Pod& pod, const Given& given) {
  api::ResourceStatus status;
  status.cpuset = given.cpus.to_string();
  const api::ResourceList asked = given.zones.empty() ? api::ResourceList() : api::pod_requests(pod);
  for (const Given::Zone& zone : given.zones) {
    api::NumaNodeResource& of = status.numa_node_resources.emplace_back();
    of.node = zone.id;
    for (const auto& [name, amount] : zone.amounts) {
      const api::Quantity* const as = asked.find(name.view());
      const auto format = as != nullptr ? as->format() : api::Quantity::Format::decimal_si;
      of.resources[name.view()] = name == cpu_name() ? api::Quantity::from_milli(amount, format)
                                                     : api::Quantity::from_int(amount, format);
    }
  }
  return api::encode_annotation(status);
}

std::string spec_text(const api::Pod& pod, const Room::Binding& binding) {
  const auto read = api::read_annotation<api::ResourceSpec>(pod.metadata.annotations);
  api::ResourceSpec spec = read ? read->value_or(api::ResourceSpec()) : api::ResourceSpec();
  const api::ResourceSpec before = spec;
  const Symbol policy(to_string(binding.policy));
  Symbol &required = spec.required_cpu_bind_policy, &preferred = spec.preferred_cpu_bind_policy;
  if (binding.required && (required.empty() || required == "Default")) required = policy;
  if (preferred == "Default") preferred = policy;
  if (required.empty() && preferred.empty()) preferred = policy;
  return spec == before ? std::string() : api::encode_annotation(spec);
}

}  // namespace koord::scheduling::node_numa_resource
