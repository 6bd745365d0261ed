// Reading {"policyName":"static","entries":{"POD":{"CONTAINER":"2-3"}}}; before Kubernetes 1.18 entries had
// the containers themselves.
#include "framework/states/cpu_manager.hpp"

#include <algorithm>

#include "koord/json/value.hpp"

namespace koord::koordlet {

namespace {

Result<> add_cpus(const json::Value& value, host::CpuSet& cpus) {
  if (!value.is_string()) return Error(Code::parse, "cpu_manager_state: expected a text of CPUs");
  KOORD_TRY(more, host::CpuSet::parse(value.text()));
  cpus = cpus | more;
  return {};
}

}  // namespace

Result<CpuManagerState> read_cpu_manager_state(std::string_view json) {
  KOORD_TRY(document, json::parse(json));
  const std::string_view policy = json::text_at(document, "policyName");
  if (policy.empty()) return Error(Code::parse, "cpu_manager_state: it names no policy");
  CpuManagerState state;
  state.static_policy = policy == "static";
  if (const json::Value* shared = json::find(document, "defaultCpuSet"); shared && state.static_policy) {
    host::CpuSet cpus;
    KOORD_CHECK(add_cpus(*shared, cpus));
    if (!cpus.empty()) state.shared = std::move(cpus);
  }
  const json::Value* const entries = json::find(document, "entries");
  if (entries == nullptr) return state;
  for (const json::Member& entry : entries->members()) {
    if (!entry.value.is_object()) {
      KOORD_CHECK(add_cpus(entry.value, state.given));
      continue;
    }
    KubeletGrant grant{std::string(entry.key()), {}};
    for (const json::Member& container : entry.value.members())
      KOORD_CHECK(add_cpus(container.value, grant.cpus));
    state.given = state.given | grant.cpus;
    if (!grant.cpus.empty()) state.grants.push_back(std::move(grant));
  }
  std::ranges::sort(state.grants, {}, &KubeletGrant::uid);
  return state;
}

}  // namespace koord::koordlet
