#include "koord/api/rules/toleration.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace koord::api {

namespace {

/// A decimal integer as people write it: no sign but '-', no leading zeros.
std::optional<std::int64_t> decimal(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits[0] == '0' && text.size() > 1)) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool tolerates(const Toleration& toleration, const Taint& taint, bool comparisons) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  const std::string_view op = toleration.operator_.view();
  if (op.empty() || op == "Equal") return toleration.value == taint.value;
  if (op == "Exists") return true;
  if ((op != "Lt" && op != "Gt") || !comparisons) return false;
  const auto bound = decimal(toleration.value.view());
  const auto value = decimal(taint.value.view());
  return bound && value && (op == "Lt" ? *value < *bound : *value > *bound);
}

bool tolerates(std::span<const Toleration> tolerations, const Taint& taint, bool comparisons) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return tolerates(toleration, taint, comparisons); });
}

const Taint* untolerated(std::span<const Taint> taints, std::span<const Toleration> tolerations,
                         bool comparisons) {
  for (const Taint& taint : taints) {
    if (taint.effect != kNoSchedule && taint.effect != kNoExecute) continue;
    if (!tolerates(tolerations, taint, comparisons)) return &taint;
  }
  return nullptr;
}

std::size_t count_untolerated_preferences(std::span<const Taint> taints,
                                          std::span<const Toleration> tolerations, bool comparisons) {
  return static_cast<std::size_t>(std::count_if(taints.begin(), taints.end(), [&](const Taint& taint) {
    if (taint.effect != kPreferNoSchedule) return false;
    return std::none_of(tolerations.begin(), tolerations.end(), [&](const Toleration& toleration) {
      return (toleration.effect.empty() || toleration.effect == kPreferNoSchedule) &&
             tolerates(toleration, taint, comparisons);
    });
  }));
}

}  // namespace koord::api
