// Quotas in a group's own period: a kubelet with CustomCPUCFSQuotaPeriod gives its groups another one than
// the kernel's 100 ms, and so may whoever made a group.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "framework/qos/plugin.hpp"

namespace koord::koordlet {

/// Microseconds, as the group's file says; nothing where there is no such group (yet).
inline std::optional<std::int64_t> quota_period(KnobReader& knobs, std::string_view group) {
  const auto found = knobs.current(host::Knob::cpu_period, group);
  const auto* const us = found ? std::get_if<std::int64_t>(&*found) : nullptr;
  return us != nullptr && *us > 0 ? std::optional(*us) : std::nullopt;
}

/// What is `quota` of 100 ms in another period; none stays none.
inline std::int64_t in_period(std::int64_t quota, std::int64_t period) {
  constexpr std::int64_t kLeast = 1000;  // the kernel's
  if (quota <= 0 || period == host::kDefaultPeriodUs) return quota;
  const double share = static_cast<double>(quota) / static_cast<double>(host::kDefaultPeriodUs);
  return std::max(kLeast, static_cast<std::int64_t>(share * static_cast<double>(period)));
}

}  // namespace koord::koordlet
