// Parts: what a group of resctrl may use, as intents: one for each cache and each path to memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "framework/plan/strategy.hpp"
#include "koord/host/resctrl.hpp"

namespace koord::koordlet::resctrl {

/// Of a cache, in percent.
struct Range {
  std::int64_t start = 0, end = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

inline constexpr std::string_view kAuditReason = "Resctrl";

/// Whether 0 <= start < end <= 100.
bool is_range(const Range& range);

/// Wants the range of this cache, of code and data both where they are told apart. The range is one.
void want_cache(Plan& plan, const host::ResctrlInfo& info, std::string_view group, int id, const Range& range,
                std::string_view reason);
/// Wants the bandwidth of this path; nothing where its number cannot be told.
void want_bandwidth(Plan& plan, const host::ResctrlBandwidth& bandwidth, std::string_view group, int id,
                    std::int64_t percent, std::string_view reason);
/// The same, as the number that is written.
void want_value(Plan& plan, std::string_view group, int id, std::int64_t value, std::string_view reason);

}  // namespace koord::koordlet::resctrl
