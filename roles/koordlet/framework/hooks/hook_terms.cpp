// What a pod says to the runtime hooks: see hook_terms.hpp.
#include "framework/hooks/hook_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "framework/objects/annotations.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node_agent.hpp"

namespace koord::koordlet {

namespace {

constexpr std::string_view kKata = "kata";  // the class by which upstream knows them
/// Of NUMA nodes in an annotation; more has no machine.
constexpr std::size_t kMaxEntries = 1024;
constexpr std::int64_t kMaxNode = 1023;

/// Amounts of 0 and less are none.
void take(std::optional<std::int64_t>& to, std::int64_t amount) {
  if (amount > 0) to = amount;
}

/// Nothing if the container names no lent resource. Where it lends only one of CPU and memory, the other one
/// is the node's own, as the kubelet sees it.
std::optional<LentResources> lent_to(const api::Container& container) {
  const api::ResourceList& requests = container.resources.requests;
  const api::ResourceList& limits = container.resources.limits;
  const auto names = [&](std::string_view name) { return requests.contains(name) || limits.contains(name); };
  const bool batch = names(api::kBatchCpu) || names(api::kBatchMemory);
  const std::string_view cpu = batch ? api::kBatchCpu : api::kMidCpu;
  const std::string_view memory = batch ? api::kBatchMemory : api::kMidMemory;
  if (!names(cpu) && !names(memory)) return std::nullopt;
  LentResources lent;
  lent.cpu_request = names(cpu) ? plain(requests, cpu, kMaxMilli) : milli(requests, "cpu");
  take(lent.cpu_limit, names(cpu) ? plain(limits, cpu, kMaxMilli) : milli(limits, "cpu"));
  take(lent.memory_limit, plain(limits, names(memory) ? memory : "memory", kMaxBytes));
  return lent;
}

/// What a container that names none counts in its pod: a limit of its own has room there.
LentResources own(const api::Container& container) {
  const api::ResourceList& limits = container.resources.limits;
  return {.cpu_request = milli(container.resources.requests, "cpu"),
          .cpu_limit = milli(limits, "cpu"),
          .memory_limit = plain(limits, "memory", kMaxBytes)};
}

void add(std::optional<std::int64_t>& sum, std::optional<std::int64_t> one) {
  if (!sum || !one)
    sum.reset();
  else
    *sum += *one;
}
void add(LentResources& sum, const LentResources& one) {
  sum.cpu_request += one.cpu_request;
  add(sum.cpu_limit, one.cpu_limit);
  add(sum.memory_limit, one.memory_limit);
}
void widen(std::optional<std::int64_t>& limit, std::optional<std::int64_t> one) {
  if (limit && one) limit = std::max(*limit, *one);
}

/// Containers and sidecars added up: who names no limit at all beside those that do counts as upstream has
/// it, not at all. Init containers run before them, and may need more.
void lend(const api::Pod& pod, HookTerms& terms) {
  LentResources whole{.cpu_limit = 0, .memory_limit = 0};
  LentResources sidecars{.cpu_limit = 0, .memory_limit = 0};
  std::vector<LentResources> alone;
  bool any = false;
  const auto count = [&terms](const api::Container& container, bool& names_some) {
    const auto lent = lent_to(container);
    if (!lent) return own(container);
    terms.lent_to.emplace(container.name.view(), *lent);
    names_some = true;
    return *lent;
  };
  for (const api::Container& container : pod.spec.init_containers) {
    if (container.restart_policy == "Always") {
      const LentResources one = count(container, any);
      add(sidecars, one);
      add(whole, one);
    } else {
      bool some = false;
      alone.push_back(sidecars);
      add(alone.back(), count(container, some));
    }
  }
  for (const api::Container& container : pod.spec.containers) add(whole, count(container, any));
  if (!any) {
    terms.lent_to.clear();
    return;
  }
  for (const LentResources& one : alone) {
    whole.cpu_request = std::max(whole.cpu_request, one.cpu_request);
    widen(whole.cpu_limit, one.cpu_limit);
    widen(whole.memory_limit, one.memory_limit);
  }
  terms.lent = whole;
}

/// What the webhook wrote down of a pod whose spec does not say it.
void lend_by_annotation(const api::Pod& pod, HookTerms& terms, std::vector<std::string>& warnings) {
  const auto spec = read<api::ExtendedResourceSpec>(pod.metadata, warnings);
  if (!spec || spec->containers.empty()) return;
  LentResources whole{.cpu_limit = 0, .memory_limit = 0};
  HookTerms found;
  for (const auto& [name, said] : spec->containers) {
    for (const api::ResourceList* const list : {&said.requests, &said.limits})
      for (const auto& [resource, amount] : *list)
        if (!is_amount(amount, api::ExtendedResourceSpec::kAnnotation,
                       fmt::format(".containers[{}]: {}", name.view(), resource.view()), warnings))
          return;  // as a whole, as upstream reads it
    LentResources lent;
    lent.cpu_request = plain(said.requests, api::kBatchCpu, kMaxMilli);
    take(lent.cpu_limit, plain(said.limits, api::kBatchCpu, kMaxMilli));
    take(lent.memory_limit, plain(said.limits, api::kBatchMemory, kMaxBytes));
    add(whole, lent);
    found.lent_to.emplace(name.view(), lent);
  }
  terms.lent_to = std::move(found.lent_to);
  terms.lent = whole;
}

/// By node, without the CPUs being named: those of the nodes in which CPU was given.
void place(const api::Pod& pod, HookTerms& terms) {
  const auto status =
      api::read_annotation<api::ResourceStatus>(pod.metadata.annotations);  // read_pod() tells
  if (!status || !*status || (*status)->numa_node_resources.size() > kMaxEntries) return;
  bool cpu = false;
  for (const api::NumaNodeResource& one : (*status)->numa_node_resources) {
    if (one.node < 0 || one.node > kMaxNode) continue;
    cpu = cpu || milli(one.resources, "cpu") > 0 || plain(one.resources, api::kBatchCpu, kMaxMilli) > 0;
    terms.numa_nodes.push_back(one.node);
  }
  if (!cpu) terms.numa_nodes.clear();
}

/// A list that cannot be read as a whole says that nothing is known of any container, as upstream has it.
void read_oom_scores(const api::Pod& pod, HookTerms& terms, std::vector<std::string>& warnings) {
  const std::size_t before = warnings.size();
  const auto named = read<api::OomScores>(pod.metadata, warnings);
  if (warnings.size() > before) return;
  if (named) {
    for (const auto& [name, score] : named->by_container) {
      const bool fits = score >= api::kLeastOomScore && score <= api::kMostOomScore;
      if (!fits)
        warnings.push_back(fmt::format("{}: {} is not from {} to {}", api::OomScores::kAnnotation, score,
                                       api::kLeastOomScore, api::kMostOomScore));
      terms.oom_scores.emplace(name.view(), fits ? std::optional(score) : std::nullopt);
    }
  }
  if (const auto score = api::oom_score(pod.metadata))
    terms.oom_score = *score;
  else
    warnings.push_back(score.error().message());
}

}  // namespace

std::shared_ptr<const HookTerms> hook_terms(const api::Pod& pod, std::vector<std::string>& warnings) {
  HookTerms terms;
  lend(pod, terms);
  if (!terms.lent) lend_by_annotation(pod, terms, warnings);
  place(pod, terms);
  terms.cpu_qos = read<api::PodCpuQos>(pod.metadata, warnings);
  read_oom_scores(pod, terms, warnings);
  terms.virtual_machine = pod.spec.runtime_class_name == kKata;
  if (terms == HookTerms{}) return nullptr;
  return std::make_shared<const HookTerms>(std::move(terms));
}

void read_hook_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings) {
  terms.put(hook_terms(pod, warnings));
}

}  // namespace koord::koordlet
