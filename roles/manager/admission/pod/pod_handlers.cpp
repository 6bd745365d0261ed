// Pods under admission: see pod_handlers.hpp.
#include "admission/pod/pod_handlers.hpp"

#include <fmt/format.h>

#include "admission/pod/pod_resources.hpp"
#include "admission/pod/pod_rules.hpp"
#include "admission/raw/raw_object.hpp"

namespace koord::manager {
namespace {

/// A pod is to blame for what is wrong with it.
Verdict refuse(std::string wrong) {
  return wrong.empty() ? Verdict::allow() : Verdict::error(400, std::move(wrong));
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
  return check(request, [&](std::string_view plugin, const Step& step) {
    return times.run(request.operation, plugin, step);
  });
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
  Verdict verdict =
      run("ClusterReservation", [&] { return refuse(check_reserved_annotations(request.object)); });
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
  // ElasticQuota and EvaluateQuota stand here: they come with the quota plugin.
  if (verdict.allowed && parts_.options.devices)
    verdict = run("DeviceResource", [&] { return refuse(check_device_resources(request.object)); });
  if (verdict.allowed && parts_.options.enhanced)
    verdict = run("EnhancedValidation", [&] { return check_enhanced(request); });
  return verdict;
}

Verdict PodValidating::check_enhanced(const AdmissionRequest& request) {
  if (auto config = parts_.config(); config != config_ || !config) {
    config_ = std::move(config);
    if (const auto set = enhanced_.set(config_.get()); !set)
      parts_.log.warn("the rules of the enhanced validator are not taken; those that were stay",
                      kv("error", set.error()));
  }
  const std::string_view own = json::text_at(request.object, "metadata", "namespace");
  return refuse(enhanced_.check(request.object, own.empty() ? request.ns : own));
}

}  // namespace koord::manager
