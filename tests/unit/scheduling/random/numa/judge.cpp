// What pods are given beside what the oracle gives: see numa_world.hpp.
#include <fmt/ranges.h>

#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/schema/codec.hpp"
#include "random/numa/numa_world.hpp"
#include "support/reference/numa_machine.hpp"

namespace koord::scheduling::test {

namespace {

std::optional<api::ResourceStatus> status_of(const api::Pod& pod) {
  auto status = api::read_annotation<api::ResourceStatus>(pod.metadata.annotations);
  return status ? *status : std::nullopt;
}
api::ResourceSpec spec_of(const api::Pod& pod) {
  const auto spec = api::read_annotation<api::ResourceSpec>(pod.metadata.annotations);
  return spec && *spec ? **spec : api::ResourceSpec();
}

/// What is written there of how the CPUs are bound, where the pod leaves it open.
api::ResourceSpec completed(api::ResourceSpec spec, const std::string& bind, bool must) {
  Symbol &required = spec.required_cpu_bind_policy, &preferred = spec.preferred_cpu_bind_policy;
  if (bind.empty()) return spec;
  if (must && (required.empty() || required == "Default")) required = Symbol(bind);
  if (preferred == "Default") preferred = Symbol(bind);
  if (required.empty() && preferred.empty()) preferred = Symbol(bind);
  return spec;
}

}  // namespace

void RandomNumaWorld::judge_gift(const api::Pod& asked, const api::Pod& bound) {
  const std::string node = bound.spec.node_name.str();
  const auto expected = reference::numa_written(cluster_, oracle_, asked, *cluster_.nodes.at(node));
  const auto status = status_of(bound);
  if (status.has_value() != expected.has_value())
    return tell(api::encode(bound),
                fmt::format("on {} {} is written into it", node, status ? "what it was given" : "nothing"));
  const api::ResourceSpec own = spec_of(asked);
  const api::ResourceSpec spec = expected ? completed(own, expected->bind, expected->required) : own;
  if (spec_of(bound) != spec)
    return tell(api::encode(bound),
                fmt::format("on {} its CPUs are bound by other than {}", node, api::encode_annotation(spec)));
  if (!expected) return;
  const auto cpus = reference::parse_cpus(status->cpuset);
  std::map<int, std::map<std::string, std::int64_t>> zones;
  for (const api::NumaNodeResource& zone : status->numa_node_resources)
    for (const auto& [name, amount] : zone.resources)
      zones[zone.node][name.str()] = reference::whole_amount(zone.resources, name);
  if (!cpus || *cpus != expected->cpus || zones != expected->zones)
    return tell(api::encode(bound),
                fmt::format("on {} the oracle gives it {} and {}", node, expected->cpus, expected->zones));
  ++met_[!expected->cpus.empty() && !zones.empty() ? "CPUs at memory nodes given"
         : !zones.empty()                          ? "shares of memory nodes given"
                                                   : "CPUs given"];
  check_gift(asked, bound);
}

/// By the objects alone: nobody else has these CPUs, they are there, as many as it asks for, and no memory
/// node has to give more than it has.
void RandomNumaWorld::check_gift(const api::Pod& asked, const api::Pod& bound) {
  const api::Node& node = *cluster_.nodes.at(bound.spec.node_name.str());
  const auto gift = reference::gift_of(bound);
  if (!gift) return;
  const reference::Machine machine(cluster_, node);
  const auto wrong = [&](const std::string& what) {
    tell(api::encode(bound), fmt::format("on {} {}", node.metadata.name, what));
  };
  const std::int64_t cpu = reference::whole_amount(api::pod_requests(asked), "cpu");
  if (!gift->cpus.empty() && static_cast<std::int64_t>(gift->cpus.size()) * 1000 != cpu)
    wrong("it is given another number of CPUs than it asks for");
  for (const auto& [key, other] : machine.given)
    if (!reference::common(other.cpus, gift->cpus).empty()) wrong("it is given CPUs of " + key);
  if (!reference::without(gift->cpus, machine.all()).empty()) wrong("it is given CPUs that are not there");
  if (!reference::common(gift->cpus, machine.reserved).empty()) wrong("it is given CPUs that are kept back");
  for (const auto& [zone, amounts] : gift->zones)
    for (const auto& [name, amount] : amounts) {
      const std::int64_t left = machine.has_of(zone, name) - machine.allocated(zone, name);
      if (amount > left)
        wrong(fmt::format("memory node {} has {} {} left, not {}", zone, left, name, amount));
    }
}

std::string RandomNumaWorld::refusal(const reference::Rejection& by) const {
  if (by.plugin != "NodeNUMAResource") return by.plugin + " refuses";
  return "refused: " + (by.reasons[0].starts_with("Unaligned") ? "Unaligned" : by.reasons[0].substr(0, 24));
}

}  // namespace koord::scheduling::test
