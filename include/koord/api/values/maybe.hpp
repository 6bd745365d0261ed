// Maybe<T>: an optional that costs no more than its value.
#pragma once

#include <cstdint>
#include <limits>

#include "koord/api/values/time.hpp"

namespace koord::api {

/// A value of T that stands for "absent"; none that the API could mean.
template <class T>
struct Absent;
template <>
struct Absent<std::int64_t> {
  static constexpr std::int64_t value() { return std::numeric_limits<std::int64_t>::min(); }
};
template <>
struct Absent<Time> {
  static constexpr Time value() { return Time(std::chrono::sys_seconds::min()); }
};

/// For optional numbers and times of objects that are cached by the hundred thousand: std::optional takes
/// twice the bytes. The one value that stands for "absent" cannot be held.
template <class T>
class Maybe {
 public:
  using value_type = T;

  constexpr Maybe() : value_(Absent<T>::value()) {}
  constexpr Maybe(T value) : value_(value) {}  // NOLINT: as std::optional

  constexpr bool has_value() const { return !(value_ == Absent<T>::value()); }
  constexpr explicit operator bool() const { return has_value(); }
  constexpr T& operator*() { return value_; }
  constexpr const T& operator*() const { return value_; }
  constexpr T* operator->() { return &value_; }
  constexpr const T* operator->() const { return &value_; }
  constexpr T value_or(T fallback) const { return has_value() ? value_ : fallback; }
  constexpr T& emplace() { return value_ = T{}; }
  constexpr void reset() { value_ = Absent<T>::value(); }

  friend constexpr bool operator==(const Maybe&, const Maybe&) = default;

 private:
  T value_;
};

}  // namespace koord::api
