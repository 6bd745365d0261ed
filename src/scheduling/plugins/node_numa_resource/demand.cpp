// Demand: see demand.hpp.
#include "scheduling/plugins/node_numa_resource/demand.hpp"

#include <algorithm>
#include <array>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/json/value.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugin/pod_hint.hpp"

namespace koord::scheduling::node_numa_resource {

namespace {

constexpr const char* kNotWhole = "the requested CPUs must be integer";

/// LSE and LSR, of the class prod.
bool may_have_cpus(const api::Pod& pod) {
  const api::KoordQos qos = api::koord_qos(pod);
  if (qos != api::KoordQos::lse && qos != api::KoordQos::lsr) return false;
  return api::with_default(api::koord_priority(pod), qos) == api::KoordPriority::prod;
}

/// "Default" is what the configuration says.
BindPolicy bind_policy(const Symbol& said, BindPolicy by_default) {
  return said == "Default" ? by_default : parse_bind_policy(said.view());
}

/// Its hint wants it where its annotations say that it was.
bool is_designated(const api::Pod& pod) {
  if (!has_hint(pod)) return false;
  const auto hint = hint_of(pod);
  if (!hint || !*hint || (*hint)->extensions.text.empty()) return false;
  const auto extensions = json::parse((*hint)->extensions.text);
  return extensions && json::find(*extensions, "NodeNUMAResource") != nullptr;
}

}  // namespace

Demand read_demand(const PodInfo& info, const ResourceNames& names, BindPolicy default_policy) {
  const api::Pod& pod = *info.pod;
  Demand demand;
  const auto refuse = [&](std::string why, StatusCode code) {
    demand.rejected = std::move(why);
    demand.code = code;
    return demand;
  };
  const auto spec = api::read_annotation<api::ResourceSpec>(pod.metadata.annotations);
  if (!spec) return refuse(spec.error().message(), StatusCode::error);
  const auto numa = api::read_annotation<api::NumaTopologySpec>(pod.metadata.annotations);
  if (!numa) return refuse(numa.error().message(), StatusCode::error);

  static const Symbol kMemoryName("memory"), kStorageName("ephemeral-storage");
  const Requests& requests = info.requests;
  demand.cpu = requests.cpu;
  const auto add = [&](const Symbol& name, std::int64_t amount) {
    if (amount != 0) demand.amounts.emplace_back(name, amount);
  };
  add(cpu_name(), requests.cpu);
  add(kStorageName, requests.storage);
  add(kMemoryName, requests.memory);
  for (const Amount& scalar : requests.scalars) add(Symbol(names.name(scalar.resource)), scalar.amount);
  if (!requests.scalars.empty())
    std::ranges::sort(demand.amounts, {}, [](const auto& each) { return each.first.view(); });
  if (demand.none()) return demand;

  if (*numa) {
    demand.policy = parse_numa_policy((*numa)->numa_topology_policy.view());
    const Symbol& exclusive = (*numa)->single_numa_node_exclusive;
    demand.zones_apart = exclusive == "Required" || (exclusive.empty() && demand.policy != NumaPolicy::none);
  }
  if (is_designated(pod))
    if (const auto given = given_by_annotations(pod); given && *given != nullptr) demand.designated = **given;

  const api::ResourceSpec said = spec->value_or(api::ResourceSpec());
  demand.written = parse_exclusive(said.preferred_cpu_exclusive_policy.view());
  if (!may_have_cpus(pod)) return demand;
  BindPolicy policy = said.preferred_cpu_bind_policy.empty()
                          ? default_policy
                          : bind_policy(said.preferred_cpu_bind_policy, default_policy);
  const Symbol& must = said.required_cpu_bind_policy;
  // A default that is none requires nothing.
  const bool required = !must.empty() && (must != "Default" || default_policy != BindPolicy::none);
  if (required) policy = bind_policy(must, default_policy);
  if (policy == BindPolicy::none) return demand;
  if (demand.cpu % 1000 != 0) return refuse(kNotWhole, StatusCode::unresolvable);
  if (demand.cpu == 0) return demand;
  demand.binds = true;
  demand.required = required ? policy : BindPolicy::none;
  demand.preferred = policy;
  demand.exclusive = demand.written;
  return demand;
}

void sign_demand(const PodInfo& info, Signature& signature) {
  const api::Pod& pod = *info.pod;
  const Requests& requests = info.requests;
  for (const std::int64_t amount : {requests.cpu, requests.memory, requests.storage}) signature.add(amount);
  signature.add(static_cast<std::int64_t>(requests.scalars.size()));
  for (const Amount& scalar : requests.scalars) {
    signature.add(scalar.resource);
    signature.add(scalar.amount);
  }
  // One number for most pods: nothing else is asked for.
  const bool designated = is_designated(pod);
  const std::array<std::string_view, 3> said{
      api::value_or(pod.metadata.annotations, api::ResourceSpec::kAnnotation),
      api::value_or(pod.metadata.annotations, api::NumaTopologySpec::kAnnotation),
      designated ? api::value_or(pod.metadata.annotations, api::ResourceStatus::kAnnotation)
                 : std::string_view()};
  const bool plain = std::ranges::all_of(said, &std::string_view::empty);
  signature.add((may_have_cpus(pod) ? 4 : 0) + (plain ? 0 : 2) + (designated ? 1 : 0));
  if (plain) return;
  for (const std::string_view text : said) signature.add(text);
}

}  // namespace koord::scheduling::node_numa_resource
