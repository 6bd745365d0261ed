// See pod_evictions.hpp.
#include "evictions/pod_evictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"

namespace koord::descheduler {

namespace {

constexpr metrics::Metric kPodsEvicted{
    .name = "descheduler_pods_evicted",
    .help =
        "Pods that were asked to go, by what came of it (success, error), by the plugin that chose them, "
        "by namespace and node.",
    .labels = {"result", "strategy", "namespace", "node"}};

constexpr std::array<std::pair<EvictionPolicy, std::string_view>, 3> kPolicies = {
    {{EvictionPolicy::eviction, "Eviction"},
     {EvictionPolicy::deletion, "Delete"},
     {EvictionPolicy::soft_eviction, "SoftEviction"}}};

kube::ObjectKey key_of(const api::Pod& pod) {
  return {std::string(pod.metadata.namespace_.view()), pod.metadata.name};
}

/// For that very pod: what else the options say of it holds, too.
Result<kube::DeleteOptions> request_options(const api::Pod& pod,
                                            const std::optional<api::DeleteOptions>& said) {
  kube::DeleteOptions options;
  options.uid = pod.metadata.uid;
  if (!said) return options;
  if (said->preconditions) {
    if (!said->preconditions->uid.empty() && said->preconditions->uid != pod.metadata.uid)
      return Error(Code::invalid,
                   fmt::format("deleteOptions.preconditions.uid: \"{}\", but the pod's UID is {}",
                               said->preconditions->uid, pod.metadata.uid));
    options.resource_version = said->preconditions->resource_version;
  }
  options.grace_period_seconds = said->grace_period_seconds;
  options.propagation_policy = said->propagation_policy.str();
  options.orphan_dependents = said->orphan_dependents;
  for (const Symbol& stage : said->dry_run) options.dry_run.push_back(stage.str());
  return options;
}

/// The annotation's value, as Koordinator's extension.SoftEvictionSpec.
std::string soft_eviction(const EvictOptions& why, WallTime now) {
  std::string text;
  json::Writer json(text);
  json.begin_object().member("timestamp", api::Time(now).to_string());
  if (why.delete_options) json.key("deleteOptions").raw(api::encode(*why.delete_options));
  json.member_if("initiator", why.plugin).member_if("reason", why.reason).end_object();
  return text;
}

/// Whether the annotation asks for the same already, whenever it was asked: the time is the first member, and
/// always of one length.
bool is_asked(std::string_view before, std::string_view now) {
  constexpr std::size_t kTime = std::string_view(R"({"timestamp":"2026-01-02T03:04:05Z")").size();
  return before.size() > kTime && now.size() > kTime && before.substr(kTime) == now.substr(kTime);
}

/// The name belongs to another pod by now: the one that was asked to go is gone.
bool is_another(const Error& error) {
  return error.code() == Code::conflict && error.message().find("UID in ") != std::string::npos &&
         error.message().find("recondition") != std::string::npos;
}

}  // namespace

const metrics::Table PodEvictions::kMetrics = {&kPodsEvicted};

std::optional<EvictionPolicy> eviction_policy(std::string_view name) {
  for (const auto& [policy, its] : kPolicies)
    if (its == name) return policy;
  return std::nullopt;
}

std::string_view name_of(EvictionPolicy policy) {
  return std::ranges::find(kPolicies, policy, &std::pair<EvictionPolicy, std::string_view>::first)->second;
}

PodEvictions::PodEvictions(Parts parts) : parts_(std::move(parts)) {
  if (parts_.metrics != nullptr) evicted_ = parts_.metrics->counters(kPodsEvicted);
}

Task<Result<>> PodEvictions::send(const api::Pod& pod, EvictionPolicy policy, const EvictOptions& options) {
  if (!parts_.may_write()) co_return Error(Code::unavailable, "this process does not lead any more");
  KOORD_CO_TRY(request, request_options(pod, options.delete_options));
  request.may_go = parts_.may_write;
  request.by = kube::by({.profile = options.profile,
                         .plugin = options.plugin.empty() ? "MigrationController" : options.plugin,
                         .wanted_by = options.wanted_by,
                         .reason = options.reason});
  if (policy == EvictionPolicy::eviction)
    co_return co_await parts_.client.evict(key_of(pod), std::move(request));
  if (policy == EvictionPolicy::deletion)
    co_return co_await parts_.client.remove<api::Pod>(key_of(pod), std::move(request));
  const std::string asked = soft_eviction(options, parts_.clock.now());
  const Symbol* const before = pod.metadata.annotations.find(api::kSoftEvictionAnnotation);
  if (before != nullptr && is_asked(before->view(), asked)) co_return Result<>();
  std::string body;
  json::Writer json(body);
  json.begin_object().key("metadata").begin_object().member("uid", pod.metadata.uid);
  json.key("annotations").begin_object().member(api::kSoftEvictionAnnotation, asked);
  json.end_object().end_object().end_object();
  kube::PatchOptions patch;
  patch.may_go = parts_.may_write;
  patch.by = std::move(request.by);
  const auto done =
      co_await parts_.client.patch_raw(api::kind<api::Pod>(), key_of(pod), std::move(body), std::move(patch));
  if (!done) co_return done.error();
  co_return Result<>();
}

Task<Result<>> PodEvictions::ask(PodPtr pod, EvictionPolicy policy, EvictOptions options) {
  Result<> done = co_await send(*pod, policy, options);
  if (!done && (done.error().code() == Code::not_found || is_another(done.error()))) done = {};
  if (parts_.metrics != nullptr)
    evicted_
        .with({done ? "success" : "error", options.plugin, pod->metadata.namespace_.view(),
               pod->spec.node_name.view()})
        .inc();
  if (done)
    parts_.log.v(1, "Evicted pod", kv("namespace", pod->metadata.namespace_.view()),
                 kv("pod", pod->metadata.name), kv("node", pod->spec.node_name.view()),
                 kv("policy", name_of(policy)), kv("strategy", options.plugin), kv("reason", options.reason));
  else
    parts_.log.warn("a pod was not evicted", kv("namespace", pod->metadata.namespace_.view()),
                    kv("pod", pod->metadata.name), kv("node", pod->spec.node_name.view()),
                    kv("policy", name_of(policy)), kv("strategy", options.plugin),
                    kv("reason", options.reason), kv("error", done.error()));
  co_return done;
}

}  // namespace koord::descheduler
