// Time, MicroTime, Duration: the API's times, thin over std::chrono.
#pragma once

#include <chrono>
#include <compare>
#include <string>
#include <string_view>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::api {

/// metav1.Time: RFC 3339 on the wire, printed in UTC with whole seconds. Years 0 to 9999.
struct Time {
  std::chrono::sys_seconds at{};

  constexpr Time() = default;
  constexpr explicit Time(std::chrono::sys_seconds t) : at(t) {}
  explicit Time(WallTime t) : at(std::chrono::floor<std::chrono::seconds>(t)) {}
  /// Any offset and any number of fraction digits (cut to seconds); the messages are Go's.
  static Result<Time> parse(std::string_view text);
  std::string to_string() const;  // 2026-01-02T03:04:05Z
  /// Saturates beyond the years 1677 to 2262.
  WallTime wall() const;
  friend auto operator<=>(const Time&, const Time&) = default;
};

/// metav1.MicroTime: the same with microseconds, always six digits.
struct MicroTime {
  std::chrono::sys_time<std::chrono::microseconds> at{};

  MicroTime() = default;
  explicit MicroTime(std::chrono::sys_time<std::chrono::microseconds> t) : at(t) {}
  explicit MicroTime(WallTime t) : at(std::chrono::floor<std::chrono::microseconds>(t)) {}
  static Result<MicroTime> parse(std::string_view text);
  std::string to_string() const;  // 2026-01-02T03:04:05.000006Z
  WallTime wall() const;
  friend auto operator<=>(const MicroTime&, const MicroTime&) = default;
};

/// metav1.Duration: Go's duration strings ("1h30m", "1.5h", "-10ms"), whole nanoseconds.
struct Duration {
  std::chrono::nanoseconds value{};

  Duration() = default;
  constexpr Duration(std::chrono::nanoseconds v) : value(v) {}
  static Result<Duration> parse(std::string_view text);
  std::string to_string() const;  // as Go prints it: 1h30m0s, 1.5s, 0s
  friend auto operator<=>(const Duration&, const Duration&) = default;
};

}  // namespace koord::api
