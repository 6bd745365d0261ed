// What a pod says to the runtime hooks: see hook_terms.hpp.
#include "framework/hooks/hook_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "framework/objects/annotations.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node_agent.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr std::string_view kKata = "kata";  // the class by which upstream knows them
constexpr std::int64_t kLeastScore = -1000, kMostScore = 1000;
constexpr std::int64_t kLeastIdentity = -1, kMostIdentity = 2;
/// Of NUMA nodes and of containers in an annotation; more has no machine and no pod.
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
void lend_by_annotation(const api::Pod& pod, HookTerms& terms, std::vector<std::string>& complaints) {
  const auto document = annotation(pod.metadata, api::kExtendedResourceSpec, complaints);
  if (!document) return;
  const json::Value* const containers = json::find(*document, "containers");
  if (!containers || !containers->is_object()) return;
  if (containers->size() > kMaxEntries) {
    complaints.push_back(fmt::format("{}: more than {} containers", api::kExtendedResourceSpec, kMaxEntries));
    return;
  }
  const std::size_t before = complaints.size();
  LentResources whole{.cpu_limit = 0, .memory_limit = 0};
  HookTerms found;
  for (const json::Member& member : containers->members()) {
    const auto amount = [&](std::string_view of, std::string_view name, std::int64_t most) -> std::int64_t {
      const json::Value* const list = json::find(member.value, of);
      if (!list) return 0;
      return bounded(quantity_of(*list, name, 0, api::kExtendedResourceSpec, complaints).value_or(0), most);
    };
    LentResources lent;
    lent.cpu_request = amount("requests", api::kBatchCpu, kMaxMilli);
    take(lent.cpu_limit, amount("limits", api::kBatchCpu, kMaxMilli));
    take(lent.memory_limit, amount("limits", api::kBatchMemory, kMaxBytes));
    add(whole, lent);
    found.lent_to.emplace(member.name.text(), lent);
  }
  if (complaints.size() > before) return;  // as a whole, as upstream reads it
  if (found.lent_to.empty()) return;
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

void read_cpu_qos(const api::Pod& pod, HookTerms& terms, std::vector<std::string>& complaints) {
  const auto document = annotation(pod.metadata, api::kCpuQos, complaints);
  if (!document) return;
  const std::size_t before = complaints.size();
  CpuQosTerms qos;
  const json::Value* const enable = json::find(*document, "enable");
  if (enable && !enable->is_null() && !enable->is_bool())
    complaints.push_back(fmt::format("{}: /enable: expected true or false", api::kCpuQos));
  qos.enable = enable && enable->is_true();
  qos.group_identity = integer_of(*document, "groupIdentity", api::kCpuQos, complaints);
  if (qos.group_identity && (*qos.group_identity < kLeastIdentity || *qos.group_identity > kMostIdentity))
    complaints.push_back(fmt::format("{}: /groupIdentity: {} is not from {} to {}", api::kCpuQos,
                                     *qos.group_identity, kLeastIdentity, kMostIdentity));
  if (complaints.size() == before) terms.cpu_qos = qos;
}

bool is_score(std::int64_t score, std::string_view where, std::vector<std::string>& complaints) {
  if (score >= kLeastScore && score <= kMostScore) return true;
  complaints.push_back(fmt::format("{}: {} is not from {} to {}", where, score, kLeastScore, kMostScore));
  return false;
}

/// A list that cannot be read as a whole says that nothing is known of any container, as upstream has it.
void read_oom_scores(const api::Pod& pod, HookTerms& terms, std::vector<std::string>& complaints) {
  const std::size_t before = complaints.size();
  const auto document = annotation(pod.metadata, api::kOomScoreAdjSpec, complaints);
  if (complaints.size() > before) return;
  if (document && document->size() > kMaxEntries) {
    complaints.push_back(fmt::format("{}: more than {} containers", api::kOomScoreAdjSpec, kMaxEntries));
    return;
  }
  std::span<const json::Member> members;
  if (document) members = std::as_const(*document).members();
  HookTerms found;
  for (const json::Member& member : members) {
    const auto score = member.value.to_int();
    if (!score) {
      complaints.push_back(fmt::format("{}: /{}: expected a whole number", api::kOomScoreAdjSpec,
                                       member.name.text().substr(0, 64)));
      return;
    }
    const bool fits = is_score(*score, api::kOomScoreAdjSpec, complaints);
    found.oom_scores.insert_or_assign(std::string(member.name.text()),
                                      fits ? std::optional(*score) : std::nullopt);
  }
  terms.oom_scores = std::move(found.oom_scores);
  const Symbol* const text = pod.metadata.annotations.find(api::kOomScoreAdj);
  if (text == nullptr || text->empty()) return;
  std::string_view digits = *text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);  // as Go reads it
  std::int64_t score = 0;
  if (!host::to_number(digits, score))
    complaints.push_back(
        fmt::format("{}: \"{}\" is no whole number", api::kOomScoreAdj, digits.substr(0, 64)));
  else if (is_score(score, api::kOomScoreAdj, complaints))
    terms.oom_score = score;
}

}  // namespace

std::shared_ptr<const HookTerms> hook_terms(const api::Pod& pod, std::vector<std::string>& complaints) {
  HookTerms terms;
  lend(pod, terms);
  if (!terms.lent) lend_by_annotation(pod, terms, complaints);
  place(pod, terms);
  read_cpu_qos(pod, terms, complaints);
  read_oom_scores(pod, terms, complaints);
  terms.virtual_machine = pod.spec.runtime_class_name == kKata;
  if (terms == HookTerms{}) return nullptr;
  return std::make_shared<const HookTerms>(std::move(terms));
}

void read_hook_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& complaints) {
  terms.put(hook_terms(pod, complaints));
}

}  // namespace koord::koordlet
