// Eviction against PodDisruptionBudgets, with the budget computed from the pods there are.
#include "sandbox/api/disruption.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sandbox/select/selection.hpp"

namespace koord::sandbox {
namespace {

// A number, or a percentage of `total` rounded up.
std::int64_t amount(const Json& value, std::int64_t total) {
  if (value.IsInt64()) return value.GetInt64();
  if (!value.IsString()) return 0;
  double percent = std::atof(value.GetString());
  return static_cast<std::int64_t>(std::ceil(percent * static_cast<double>(total) / 100.0));
}

bool ready(const Json& pod) {
  const Json* conditions = find(pod, "status", "conditions");
  if (!conditions || !conditions->IsArray()) return false;
  for (const auto& condition : conditions->GetArray())
    if (text_at(condition, "type") == "Ready") return text_at(condition, "status") == "True";
  return false;
}

}  // namespace

Outcome<void> check_disruption(Verbs& verbs, const Object& pod) {
  const Collection& budgets = *verbs.registry().get("policy", "poddisruptionbudgets").objects;
  const Collection& pods = *verbs.registry().get("", "pods").objects;
  for (const auto& [key, object] : budgets.objects()) {
    if (object->ns != pod.ns) continue;
    JsonDoc budget;
    load(*object, budget);
    auto selection = Selection::from_json(find(budget, "spec", "selector"));
    if (!selection || !selection->matches_labels(pod.labels)) continue;
    std::int64_t expected = 0, healthy = 0;
    for (const auto& [pod_key, other] : pods.objects()) {
      if (other->ns != pod.ns || !selection->matches_labels(other->labels)) continue;
      JsonDoc doc;
      load(*other, doc);
      std::string_view phase = text_at(doc, "status", "phase");
      if (phase == "Succeeded" || phase == "Failed") continue;
      ++expected;
      healthy += !other->deleting && ready(doc);
    }
    const Json* least = find(budget, "spec", "minAvailable");
    const Json* most = find(budget, "spec", "maxUnavailable");
    std::int64_t wanted = least ? amount(*least, expected) : most ? expected - amount(*most, expected) : 0;
    if (healthy - 1 >= wanted) continue;
    Failure failure =
        too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.", 0);
    failure.causes.push_back(
        {"DisruptionBudget",
         fmt::format("The disruption budget {} needs {} healthy pods and has {} currently", object->name,
                     wanted, healthy),
         ""});
    return failure;
  }
  return {};
}

}  // namespace koord::sandbox
