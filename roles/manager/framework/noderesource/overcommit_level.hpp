// OvercommitLevel: how much of what it could lend a node may lend, after what went wrong on it.
#pragma once

#include <optional>
#include <string>

#include "framework/config/strategies.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/types/core_v1/node.hpp"

namespace koord::manager {

/// The annotation that says it, on nodes that lost something: {"percent":60,"time":"2026-01-02T03:04:05Z"}.
inline constexpr std::string_view kLevelAnnotation = api::kOvercommitStanding;

/// The rule: every node begins at 100 percent. What goes wrong (its NodeMetric grew stale, best-effort pods
/// were evicted on it) takes abnormalNodeStepPercent off, once a minute at most and never below 0; each
/// abnormalNodeRecoverMinutes (10) without any give as much back. Off unless abnormalNodeStepPercent is set
/// and above 0. What a node lends is multiplied by it. A value; the annotation is its text: it outlives a
/// manager.
struct OvercommitLevel {
  std::int64_t percent = 100;
  api::Time time;  // when it changed last

  /// From the annotation; 100 percent if there is none, or it cannot be read.
  static OvercommitLevel of(const api::Node& node);
  std::string to_string() const;

  /// After what went wrong at `now`.
  OvercommitLevel lowered(const ColocationStrategy& strategy, const api::Time& now) const;
  /// With the spans that passed since it changed.
  OvercommitLevel recovered(const ColocationStrategy& strategy, const api::Time& now) const;
  /// How long until it rises; nothing at 100 percent.
  std::optional<std::chrono::seconds> rises_in(const ColocationStrategy& strategy,
                                               const api::Time& now) const;

  friend bool operator==(const OvercommitLevel&, const OvercommitLevel&) = default;
};

/// Whether the rule is in effect.
bool lowers_level(const ColocationStrategy& strategy);

}  // namespace koord::manager
