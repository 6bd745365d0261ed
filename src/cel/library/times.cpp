// Parts of timestamps and durations. Time zones are UTC or a given offset: names of zones need a database,
// which a static binary has not.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <optional>

#include "cel/library/tables.hpp"
#include "cel/values/json_formats.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;

enum class Part : std::uint8_t {
  year,
  month,
  day_of_year,
  day_of_month,
  date,
  day_of_week,
  hours,
  minutes,
  seconds,
  milliseconds
};

std::optional<int> whole(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Minutes east of UTC.
std::optional<int> offset_of(std::string_view zone) {
  if (zone.empty() || zone == "UTC") return 0;
  const std::size_t colon = zone.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto hours = whole(zone.substr(0, colon)), minutes = whole(zone.substr(colon + 1));
  if (!hours || !minutes || *hours < -1000 || *hours > 1000 || *minutes < -100'000 || *minutes > 100'000)
    return std::nullopt;
  return zone[0] == '-' ? *hours * 60 - *minutes : *hours * 60 + *minutes;
}

std::int64_t part_of(Part part, std::int64_t local, std::uint32_t nanos) {
  const std::chrono::sys_seconds at{std::chrono::seconds(local)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::int64_t time = (at - day).count();
  switch (part) {
    case Part::year: return static_cast<int>(date.year());
    case Part::month: return static_cast<unsigned>(date.month()) - 1;
    case Part::day_of_year: return (day - std::chrono::sys_days(date.year() / 1 / 1)).count();
    case Part::day_of_month: return static_cast<unsigned>(date.day()) - 1;
    case Part::date: return static_cast<unsigned>(date.day());
    case Part::day_of_week: return std::chrono::weekday(day).c_encoding();
    case Part::hours: return time / 3'600;
    case Part::minutes: return time / 60 % 60;
    case Part::seconds: return time % 60;
    case Part::milliseconds: return nanos / 1'000'000;
  }
  return 0;
}

template <Part kPart>
Value of_timestamp(Args args, Memory& memory) {
  int offset = 0;
  if (args.size() == 2) {
    const auto zone = offset_of(args[1].text());
    if (!zone) return fail(memory, fmt::format("unknown time zone {}", args[1].text()));
    offset = *zone;
  }
  return Value::integer(part_of(kPart, args[0].as_int() + std::int64_t{offset} * 60, args[0].nanos()));
}

template <std::int64_t kUnit>
Value of_duration(Args args, Memory&) {
  return Value::integer(args[0].as_int() / kUnit);
}

Value duration_milliseconds(Args args, Memory&) { return Value::integer(args[0].as_int() / 1'000'000); }

}  // namespace

std::span<const Declaration> time_table() {
  static constexpr std::string_view kPlain = "timestamp.() -> int", kZoned = "timestamp.(string) -> int",
                                    kDuration = "duration.() -> int";
  static constexpr Declaration kRows[] = {
      {"getFullYear", "timestamp_to_year", kPlain, of_timestamp<Part::year>},
      {"getFullYear", "timestamp_to_year_with_tz", kZoned, of_timestamp<Part::year>},
      {"getMonth", "timestamp_to_month", kPlain, of_timestamp<Part::month>},
      {"getMonth", "timestamp_to_month_with_tz", kZoned, of_timestamp<Part::month>},
      {"getDayOfYear", "timestamp_to_day_of_year", kPlain, of_timestamp<Part::day_of_year>},
      {"getDayOfYear", "timestamp_to_day_of_year_with_tz", kZoned, of_timestamp<Part::day_of_year>},
      {"getDayOfMonth", "timestamp_to_day_of_month", kPlain, of_timestamp<Part::day_of_month>},
      {"getDayOfMonth", "timestamp_to_day_of_month_with_tz", kZoned, of_timestamp<Part::day_of_month>},
      {"getDate", "timestamp_to_day_of_month_1_based", kPlain, of_timestamp<Part::date>},
      {"getDate", "timestamp_to_day_of_month_1_based_with_tz", kZoned, of_timestamp<Part::date>},
      {"getDayOfWeek", "timestamp_to_day_of_week", kPlain, of_timestamp<Part::day_of_week>},
      {"getDayOfWeek", "timestamp_to_day_of_week_with_tz", kZoned, of_timestamp<Part::day_of_week>},
      {"getHours", "timestamp_to_hours", kPlain, of_timestamp<Part::hours>},
      {"getHours", "timestamp_to_hours_with_tz", kZoned, of_timestamp<Part::hours>},
      {"getHours", "duration_to_hours", kDuration, of_duration<3'600'000'000'000>},
      {"getMinutes", "timestamp_to_minutes", kPlain, of_timestamp<Part::minutes>},
      {"getMinutes", "timestamp_to_minutes_with_tz", kZoned, of_timestamp<Part::minutes>},
      {"getMinutes", "duration_to_minutes", kDuration, of_duration<60'000'000'000>},
      {"getSeconds", "timestamp_to_seconds", kPlain, of_timestamp<Part::seconds>},
      {"getSeconds", "timestamp_to_seconds_tz", kZoned, of_timestamp<Part::seconds>},
      {"getSeconds", "duration_to_seconds", kDuration, of_duration<1'000'000'000>},
      {"getMilliseconds", "timestamp_to_milliseconds", kPlain, of_timestamp<Part::milliseconds>},
      {"getMilliseconds", "timestamp_to_milliseconds_with_tz", kZoned, of_timestamp<Part::milliseconds>},
      {"getMilliseconds", "duration_to_milliseconds", kDuration, duration_milliseconds},
  };
  return kRows;
}

}  // namespace koord::cel
