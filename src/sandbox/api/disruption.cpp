// Eviction against the status that the disruption controller keeps of PodDisruptionBudgets.
#include "sandbox/api/disruption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sandbox/select/selection.hpp"

namespace koord::sandbox {
namespace {

constexpr std::size_t kMostDisrupted = 2000;  // evictions that the controller has not confirmed

json::Value* disruption_condition(json::Value& status) {
  if (json::Value* list = find(status, "conditions"); list && list->is_array())
    for (json::Value& each : list->elements())
      if (text_at(each, "type") == "DisruptionAllowed") return &each;
  return nullptr;
}

// Why a budget that allows nothing does not.
std::string reason_of(const Object& budget, json::Value& status, std::int64_t healthy, std::int64_t wanted) {
  const json::Value* condition = disruption_condition(status);
  const std::string_view message = condition ? text_at(*condition, "message") : std::string_view();
  const std::string_view reason = condition ? text_at(*condition, "reason") : std::string_view();
  if (reason == "SyncFailed" && !message.empty())
    return fmt::format(
        "The disruption budget {} does not allow evicting pods currently because it failed sync: {}",
        budget.name, message);
  if (healthy <= wanted)
    return fmt::format("The disruption budget {} needs {} healthy pods and has {} currently", budget.name,
                       wanted, healthy);
  if (!message.empty())
    return fmt::format("The disruption budget {} does not allow evicting pods currently ({}): {}",
                       budget.name, reason, message);
  return fmt::format("The disruption budget {} does not allow evicting pods currently", budget.name);
}

Failure refusal(std::string cause, int retry_after_seconds) {
  Failure failure = too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.",
                                      retry_after_seconds);
  failure.causes.push_back({"DisruptionBudget", std::move(cause), ""});
  return failure;
}

}  // namespace

std::int64_t disruption_amount(const json::Value& value, std::int64_t total) {
  if (value.is_int()) return *value.to_int();
  if (!value.is_string()) return 0;
  std::int64_t percent = 0;
  const std::string_view text = value.text();
  std::from_chars(text.data(), text.data() + text.size(), percent);
  return (std::clamp<std::int64_t>(percent, 0, 1'000'000) * total + 99) / 100;
}

void set_disruption_condition(json::Value& status, std::string_view reason, std::string_view message,
                              const std::string& now, json::Arena& arena) {
  const std::string_view value = reason == "SufficientPods" ? "True" : "False";
  json::Value* condition = disruption_condition(status);
  if (!condition) {
    json::Value& list = array_at(status, "conditions", arena);
    list.push_back(json::Value::object(), arena);
    condition = &list[list.size() - 1];
    set(*condition, "type", json::make_const("DisruptionAllowed"), arena);
  }
  if (text_at(*condition, "status") != value) set_text(*condition, "lastTransitionTime", now, arena);
  set_text(*condition, "status", value, arena);
  set_text(*condition, "reason", reason, arena);
  set_text(*condition, "message", message, arena);
  set_int(*condition, "observedGeneration", int_at(status, "observedGeneration").value_or(0), arena);
}

Outcome<void> check_disruption(Verbs& verbs, const Object& pod, bool dry_run) {
  const Kind& kind = verbs.registry().get("policy", "poddisruptionbudgets");
  ObjectPtr budget;
  json::Document doc;
  for (const auto& [key, object] : kind.objects->in_namespace(pod.ns)) {
    load(*object, doc);
    auto chosen = Selection::from_json(find(doc, "spec", "selector"));
    if (!chosen || !chosen->matches_labels(pod.labels)) continue;
    if (budget)
      return internal_failure(
          "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
    budget = object;
  }
  if (!budget) return {};
  load(*budget, doc);
  json::Value& status = object_at(doc, "status", doc.arena());
  const std::int64_t healthy = int_at(status, "currentHealthy").value_or(0);
  const std::int64_t wanted = int_at(status, "desiredHealthy").value_or(0);
  // A pod that is not healthy is none of those that the budget counts on.
  if (pod.field(kReadyField).empty() &&
      (text_at(doc, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow" ||
       (healthy >= wanted && wanted > 0)))
    return {};
  if (int_at(status, "observedGeneration").value_or(0) < int_at(doc, "metadata", "generation").value_or(0))
    return refusal(
        fmt::format("The disruption budget {} is still being processed by the server.", budget->name), 10);
  if (const json::Value* disrupted = find(status, "disruptedPods");
      disrupted && disrupted->size() > kMostDisrupted)
    return forbidden({"policy", "poddisruptionbudget"}, budget->name,
                     "DisruptedPods map too big - too many evictions not confirmed by PDB controller");
  const std::int64_t allowed = int_at(status, "disruptionsAllowed").value_or(0);
  if (allowed <= 0) return refusal(reason_of(*budget, status, healthy, wanted), 0);
  if (dry_run) return {};
  verbs.write_trusted(kind, *budget, [&](json::Document& now) {
    json::Arena& arena = now.arena();
    json::Value& fresh = object_at(now, "status", arena);
    set_int(fresh, "disruptionsAllowed", allowed - 1, arena);
    if (allowed == 1) set_disruption_condition(fresh, "InsufficientPods", "", verbs.now_text(), arena);
    set_text(object_at(fresh, "disruptedPods", arena), pod.name, verbs.now_text(), arena);
  });
  return {};
}

}  // namespace koord::sandbox
