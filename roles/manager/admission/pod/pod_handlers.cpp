// Pods under admission: see pod_handlers.hpp.
#include "admission/pod/pod_handlers.hpp"

#include <fmt/format.h>

#include "admission/pod/pod_resources.hpp"
#include "admission/pod/pod_rules.hpp"
#include "admission/pod/tree_affinity.hpp"
#include "admission/raw/raw_object.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "koord/api/koordinator/renamed_resources.hpp"
#include "koord/api/koordinator/scheduling.hpp"
#include "koord/api/rules/pod_requests.hpp"

namespace koord::manager {
namespace {

/// A pod is to blame for what is wrong with it.
Verdict refuse(std::string wrong) {
  return wrong.empty() ? Verdict::allow() : Verdict::error(400, std::move(wrong));
}

std::string_view namespace_of(const AdmissionRequest& request) {
  const std::string_view own = json::text_at(request.object, "metadata", "namespace");
  return own.empty() ? request.ns : own;
}

std::string_view quota_label(const json::Value& pod) {
  return label(pod, api::kQuotaNameLabel).value_or(std::string_view());
}

Task<Result<Verdict>> room_in(std::shared_ptr<QuotaEvaluator> evaluator, std::string ns, std::string name,
                              api::ResourceList requests, bool dry_run) {
  KOORD_CO_TRY(wrong,
               co_await evaluator->evaluate(std::move(ns), std::move(name), std::move(requests), dry_run));
  co_return refuse(std::move(wrong));
}

/// How long it took until a pod had its room, or had none.
Task<Result<Verdict>> timed(const PluginTimes& times, Operation operation,
                            std::function<Task<Result<Verdict>>()> later) {
  const MonoTime began = times.clock().mono();
  Result<Verdict> verdict = co_await later();
  times.record(operation, "EvaluateQuota", verdict && verdict->allowed, times.clock().mono() - began);
  co_return verdict;
}

/// One that asks for nothing any more.
bool has_ended(const json::Value& pod) {
  const std::string_view phase = json::text_at(pod, "status", "phase");
  return phase == "Failed" || phase == "Succeeded";
}

}  // namespace

Verdict PodMutating::handle(const AdmissionRequest& request, json::Document& object,
                            const PluginTimes& times) {
  if (!is_about(request, "pods") || request.operation != Operation::create) return Verdict::allow();
  if (const auto right = check_pod(object); !right) return Verdict::error(400, right.error().message());
  Verdict verdict =
      times.run(request.operation, "ClusterColocationProfile", [&] { return apply(request, object); });
  if (verdict.allowed && !parts_.options.without_extended_resources)
    verdict = times.run(request.operation, "ExtendedResourceSpec", [&] {
      const auto set = set_extended_resource_spec(object, object.arena());
      return set ? Verdict::allow() : Verdict::error(500, set.error().message());
    });
  if (verdict.allowed && parts_.quotas)
    verdict = times.run(request.operation, "MultiQuotaTree", [&] {
      parts_.quotas->refresh();
      const std::string_view own = quota_label(object), ns = namespace_of(request);
      QuotaCatalog::Version quota = parts_.quotas->find(own.empty() ? ns : own);
      if (!quota) quota = parts_.quotas->of_namespace(ns);
      if (!quota || quota->terms.tree_id.empty()) return Verdict::allow();
      const auto profiles = parts_.trees(quota->terms.tree_id);
      if (!profiles.empty() && profiles.front()->spec.node_selector)
        require_nodes(object, *profiles.front()->spec.node_selector, object.arena());
      return Verdict::allow();
    });
  if (verdict.allowed && !parts_.options.without_device_resources)
    verdict = times.run(request.operation, "DeviceResourceSpec", [&] {
      set_device_resources(object, object.arena());
      return Verdict::allow();
    });
  return verdict;
}

Verdict PodMutating::apply(const AdmissionRequest& request, json::Document& object) {
  profiles_.set(parts_.profiles(),
                [this](const Profile& profile) { failures_.tell(parts_.log, profile, profile.defect()); });
  if (profiles_.profiles().empty()) return Verdict::allow();
  std::shared_ptr<const api::Namespace> of_pod;
  const NamespaceLabels labels = [&]() -> const api::SymbolMap* {
    of_pod = parts_.namespaces(request.ns);
    return of_pod ? &of_pod->metadata.labels : nullptr;
  };
  const auto applied =
      apply_profiles(profiles_.profiles(), object, object.arena(), {}, labels, parts_.classes, parts_.dice);
  if (!applied) return Verdict::not_yet(applied.error().message());  // a namespace or a class
  for (const ProfileOutcome::Failure& failure : applied->failures)
    failures_.tell(parts_.log, *failure.profile, failure.why);
  if (applied->matched && !applied->keeps_resources && !parts_.options.keep_resources) {
    if (is_lent_to(object))
      if (std::string wrong = check_pod_level_resources(object, true); !wrong.empty())
        return refuse(std::move(wrong));
    translate_resources(object, object.arena());
  }
  return Verdict::allow();
}

Verdict PodValidating::handle(const AdmissionRequest& request, const PluginTimes& times) {
  const bool update = request.operation == Operation::update;
  if (!is_about(request, "pods") && !(update && is_about(request, "pods", "resize"))) return Verdict::allow();
  if (!update && request.operation != Operation::create) return Verdict::allow();
  if (const auto right = check_pod(request.object); !right)
    return Verdict::error(400, right.error().message());
  if (update)
    if (const auto right = check_pod(request.old_object); !right)
      return Verdict::error(400, right.error().message());
  Verdict verdict = check(request, [&](std::string_view plugin, const Step& step) {
    return times.run(request.operation, plugin, step);
  });
  if (verdict.later)
    verdict.later = [&times, operation = request.operation, later = std::move(verdict.later)] {
      return timed(times, operation, later);
    };
  return verdict;
}

std::optional<BrokenRule> PodValidating::broken_rule(const json::Value& pod) {
  json::Document copy = json::clone(pod);
  AdmissionRequest request;
  request.version = "v1";
  request.resource = "pods";
  request.name = json::text_at(pod, "metadata", "name");
  request.ns = json::text_at(pod, "metadata", "namespace");
  request.object = std::move(static_cast<json::Value&>(copy));
  if (!check_pod(request.object)) return std::nullopt;  // no API server stores such a pod
  std::string_view broken;
  Verdict verdict = check(request, [&](std::string_view plugin, const Step& step) {
    broken = plugin;
    return step();
  });
  if (verdict.allowed) return std::nullopt;
  return BrokenRule{broken, std::move(verdict.message)};
}

Verdict PodValidating::check(const AdmissionRequest& request,
                             const std::function<Verdict(std::string_view plugin, const Step&)>& run) {
  static const json::Value kNone;
  const json::Value& before = request.operation == Operation::update ? request.old_object : kNone;
  Verdict verdict = run("ClusterReservation", [&] {
    return refuse(check_reserved_annotations(request.object, request.operation == Operation::create));
  });
  if (verdict.allowed)
    verdict = run("ClusterColocationProfile", [&] {
      std::string wrong =
          check_classes(request.object, before, {.priority_may_change = parts_.options.priority_may_change});
      // A pod that is there already must not be held up for what it says.
      const json::Value* const now = json::find(request.object, "spec", "resources");
      const json::Value* const then = json::find(before, "spec", "resources");
      if (wrong.empty() && now != nullptr && (then == nullptr || !(*now == *then)))
        wrong = check_pod_level_resources(request.object, false);
      return refuse(std::move(wrong));
    });
  if (verdict.allowed && parts_.quotas.rules)
    verdict = run("QuotaMetaChecker", [&] { return check_quota(request); });
  Verdict room;
  if (verdict.allowed && parts_.evaluator) {
    verdict = room = run("EvaluateQuota", [&] { return evaluate(request); });
    verdict.later = {};
  }
  if (verdict.allowed && parts_.options.devices)
    verdict = run("DeviceResource", [&] { return refuse(check_device_resources(request.object)); });
  if (verdict.allowed && parts_.options.enhanced)
    verdict = run("EnhancedValidation", [&] { return check_enhanced(request); });
  // Last, so that who is refused is not counted.
  if (verdict.allowed) verdict.later = std::move(room.later);
  return verdict;
}

Verdict PodValidating::check_quota(const AdmissionRequest& request) {
  const json::Value &pod = request.object, &before = request.old_object;
  if (request.operation == Operation::update) {
    if (label(pod, api::kQuotaPreemptibleLabel) != label(before, api::kQuotaPreemptibleLabel))
      return refuse("Preemptible label is forbidden modify now.");
    // A pod that is there already must not be held up for where it is.
    if (quota_label(pod) == quota_label(before)) return Verdict::allow();
  }
  parts_.quotas.catalog->refresh();
  QuotaRuling ruling = parts_.quotas.rules->check_pod(quota_label(pod), namespace_of(request),
                                                      json::text_at(pod, "metadata", "name"));
  return ruling.again ? Verdict::unless_soon(400, std::move(ruling.wrong)) : refuse(std::move(ruling.wrong));
}

Verdict PodValidating::evaluate(const AdmissionRequest& request) {
  const json::Value& object = request.object;
  const bool update = request.operation == Operation::update;
  if (update && !parts_.options.evaluate_update) return Verdict::allow();
  parts_.quotas.catalog->refresh();
  const auto quota_of = [&](const json::Value& pod) {
    return parts_.quotas.rules->quota_of_pod(quota_label(pod), namespace_of(request));
  };
  std::string name = quota_of(object);
  if (update && quota_of(request.old_object) == name) return Verdict::allow();
  if (name.empty() || name == api::kDefaultQuota || name == api::kSystemQuota || name == api::kRootQuota)
    return Verdict::allow();
  const std::size_t count = parts_.quotas.catalog->count(name);
  if (count == 0) return Verdict::unless_soon(400, fmt::format("elastic quota {} not found", name));
  if (count > 1) return Verdict::unless_soon(400, fmt::format("more than one elastic quota {} found", name));
  if (has_ended(object)) return Verdict::allow();
  api::Pod pod = outline(object);
  if (parts_.options.replace_resources)
    api::rename(pod, api::replaced_resources(
                         annotation(object, api::kReplaceResources).value_or(std::string_view())));
  api::ResourceList requests = api::pod_requests(pod, {.use_status = false});
  std::string ns = parts_.quotas.catalog->find(name)->object->metadata.namespace_.str();
  Verdict verdict = Verdict::allow();
  verdict.later = [evaluator = parts_.evaluator, ns = std::move(ns), name = std::move(name),
                   requests = std::move(requests),
                   dry_run = request.dry_run] { return room_in(evaluator, ns, name, requests, dry_run); };
  return verdict;
}

Verdict PodValidating::check_enhanced(const AdmissionRequest& request) {
  if (auto config = parts_.config(); config != config_ || !config) {
    config_ = std::move(config);
    if (const auto set = enhanced_.set(config_.get()); !set)
      parts_.log.warn("the rules of the enhanced validator are not taken; those that were stay",
                      kv("error", set.error()));
  }
  return refuse(enhanced_.check(request.object, namespace_of(request)));
}

}  // namespace koord::manager
