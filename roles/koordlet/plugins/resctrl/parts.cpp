// Parts: see parts.hpp.
#include "plugins/resctrl/parts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::koordlet::resctrl {

namespace {

constexpr std::int64_t kAllPercent = 100;

void want(Plan& plan, std::string_view group, std::string key, std::string value, std::string_view reason) {
  Intent& intent = plan.want(host::Knob::schemata, group, std::move(value), reason);
  intent.key = std::move(key);
  intent.audit_reason = kAuditReason;
}

}  // namespace

bool is_range(const Range& range) {
  return range.start >= 0 && range.start < range.end && range.end <= kAllPercent;
}

void want_cache(Plan& plan, const host::ResctrlInfo& info, std::string_view group, int id, const Range& range,
                std::string_view reason) {
  for (const host::ResctrlCache& cache : info.caches) {
    if (std::ranges::find(cache.ids, id) == cache.ids.end()) continue;
    if (const auto mask = host::cache_mask(cache.full, cache.least_bits, range.start, range.end))
      want(plan, group, fmt::format("{}/{}", cache.name, id), fmt::format("{:x}", *mask), reason);
  }
}

void want_bandwidth(Plan& plan, const host::ResctrlBandwidth& bandwidth, std::string_view group, int id,
                    std::int64_t percent, std::string_view reason) {
  if (const auto value = host::bandwidth_value(bandwidth, percent))
    want_value(plan, group, id, *value, reason);
}

void want_value(Plan& plan, std::string_view group, int id, std::int64_t value, std::string_view reason) {
  want(plan, group, fmt::format("MB/{}", id), fmt::format("{}", value), reason);
}

}  // namespace koord::koordlet::resctrl
