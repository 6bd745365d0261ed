// Texts of a schema with a format, and what else is read from text: times, durations, base64.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "koord/cel/shape.hpp"
#include "koord/cel/value.hpp"

namespace koord::cel {

/// The value of a text with this format, or an error.
Value formatted(std::string_view text, Shape::Format format, Memory& memory);

/// RFC 3339 with nanoseconds and any offset, years 1 to 9999; empty if it is none.
std::optional<Value> parse_timestamp(std::string_view text);
/// YYYY-MM-DD.
std::optional<Value> parse_date(std::string_view text);
/// RFC 3339 with nanoseconds, in its offset.
std::string timestamp_text(Value timestamp);
/// Seconds with a fraction: "3600s", "0.5s".
std::string duration_text(std::int64_t nanoseconds);

/// The first and the last second that a timestamp can be.
inline constexpr std::int64_t kFirstSecond = -62'135'596'800;
inline constexpr std::int64_t kLastSecond = 253'402'300'799;

}  // namespace koord::cel
