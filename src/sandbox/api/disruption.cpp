// Eviction against PodDisruptionBudgets, with the budget computed from the pods there are.
#include "sandbox/api/disruption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sandbox/select/selection.hpp"

namespace koord::sandbox {
namespace {

// A number, or a percentage of `total` rounded up.
std::int64_t amount(const json::Value& value, std::int64_t total) {
  if (value.is_int()) return *value.to_int();
  if (!value.is_string()) return 0;
  std::int64_t percent = 0;
  const std::string_view text = value.text();
  std::from_chars(text.data(), text.data() + text.size(), percent);
  return (std::clamp<std::int64_t>(percent, 0, 1'000'000) * total + 99) / 100;
}

}  // namespace

Outcome<void> check_disruption(Verbs& verbs, const Object& pod) {
  const Collection& budgets = *verbs.registry().get("policy", "poddisruptionbudgets").objects;
  const Collection& pods = *verbs.registry().get("", "pods").objects;
  ObjectPtr budget;
  Selection selection;
  json::Document doc;
  for (const auto& [key, object] : budgets.in_namespace(pod.ns)) {
    load(*object, doc);
    auto chosen = Selection::from_json(find(doc, "spec", "selector"));
    if (!chosen || !chosen->matches_labels(pod.labels)) continue;
    if (budget)
      return internal_failure(
          "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
    budget = object;
    selection = *std::move(chosen);
  }
  if (!budget) return {};
  std::int64_t expected = 0, healthy = 0;
  for (const auto& [key, other] : pods.in_namespace(pod.ns)) {
    const std::string_view phase = other->field("status.phase");
    if (phase == "Succeeded" || phase == "Failed" || !selection.matches_labels(other->labels)) continue;
    ++expected;
    healthy += !other->deleting && !other->field(kReadyField).empty();
  }
  load(*budget, doc);
  const json::Value* least = find(doc, "spec", "minAvailable");
  const json::Value* most = find(doc, "spec", "maxUnavailable");
  std::int64_t wanted = least ? amount(*least, expected) : most ? expected - amount(*most, expected) : 0;
  if (healthy - 1 >= wanted) return {};
  Failure failure = too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.", 0);
  failure.causes.push_back({"DisruptionBudget",
                            fmt::format("The disruption budget {} needs {} healthy pods and has {} currently",
                                        budget->name, wanted, healthy),
                            ""});
  return failure;
}

}  // namespace koord::sandbox
