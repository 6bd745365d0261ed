#include "cel/values/json_formats.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "cel/values/representation.hpp"
#include "koord/api/values/time.hpp"
#include "koord/base/base64.hpp"

namespace koord::cel {
namespace {

bool digits(std::string_view text, std::size_t at, std::size_t count, int& number) {
  if (at + count > text.size()) return false;
  number = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    number = number * 10 + (text[i] - '0');
  }
  return true;
}

std::optional<std::int64_t> day_number(std::string_view text) {
  int year = 0, month = 0, day = 0;
  if (!digits(text, 0, 4, year) || !digits(text, 5, 2, month) || !digits(text, 8, 2, day))
    return std::nullopt;
  if (text[4] != '-' || text[7] != '-') return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

}  // namespace

std::optional<Value> parse_date(std::string_view text) {
  const auto day = text.size() == 10 ? day_number(text) : std::nullopt;
  if (!day) return std::nullopt;
  return Value::timestamp(*day * 86'400, 0);
}

std::optional<Value> parse_timestamp(std::string_view text) {
  int hour = 0, minute = 0, second = 0;
  if (text.size() < 20 || text[10] != 'T' || text[13] != ':' || text[16] != ':') return std::nullopt;
  const auto day = day_number(text);
  if (!day || !digits(text, 11, 2, hour) || !digits(text, 14, 2, minute) || !digits(text, 17, 2, second))
    return std::nullopt;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  std::size_t at = 19;
  std::uint32_t nanos = 0;
  if (text[at] == '.' || text[at] == ',') {
    std::uint32_t scale = 100'000'000;
    const std::size_t from = ++at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      nanos += scale * static_cast<std::uint32_t>(text[at] - '0');
      scale /= 10;
      ++at;
    }
    if (at == from) return std::nullopt;
  }
  int offset = 0;
  const std::string_view zone = text.substr(at);
  if (zone != "Z") {
    int hours = 0, minutes = 0;
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return std::nullopt;
    if (!digits(zone, 1, 2, hours) || !digits(zone, 4, 2, minutes) || hours > 24 || minutes > 60)
      return std::nullopt;
    offset = hours * 60 + minutes;
    if (zone[0] == '-') offset = -offset;
  }
  const std::int64_t seconds = *day * 86'400 + std::int64_t{hour} * 3'600 + std::int64_t{minute} * 60 +
                               second - std::int64_t{offset} * 60;
  return Value::timestamp(seconds, nanos, static_cast<std::int16_t>(offset));
}

std::string timestamp_text(Value timestamp) {
  const std::int64_t local = timestamp.as_int() + std::int64_t{timestamp.offset_minutes()} * 60;
  const std::chrono::sys_seconds at{std::chrono::seconds(local)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const auto time = (at - day).count();
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                 time / 3'600, time / 60 % 60, time % 60);
  if (timestamp.nanos() != 0) {
    std::string fraction = fmt::format(".{:09}", timestamp.nanos());
    while (fraction.back() == '0') fraction.pop_back();
    text += fraction;
  }
  const int offset = timestamp.offset_minutes();
  if (offset == 0) return text + 'Z';
  const int size = offset < 0 ? -offset : offset;
  return text + fmt::format("{}{:02}:{:02}", offset < 0 ? '-' : '+', size / 60, size % 60);
}

std::string duration_text(std::int64_t nanoseconds) {
  // As Go does it: whole seconds and the rest as one double, printed shortest without an exponent.
  const std::int64_t whole = nanoseconds / 1'000'000'000;
  const double seconds = static_cast<double>(whole) + static_cast<double>(nanoseconds % 1'000'000'000) / 1e9;
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), seconds, std::chars_format::fixed);
  return std::string(buffer, end.ptr) + 's';
}

Value formatted(std::string_view text, Shape::Format format, Memory& memory) {
  switch (format) {
    case Shape::Format::none: return Value::string(text);
    case Shape::Format::date:
      if (const auto value = parse_date(text)) return *value;
      return fail(memory, fmt::format("Invalid date formatted string {}", text));
    case Shape::Format::date_time:
      if (const auto value = parse_timestamp(text)) return *value;
      return fail(memory, fmt::format("Invalid date-time formatted string {}", text));
    case Shape::Format::duration: {
      const auto value = api::Duration::parse(text);
      if (value) return Value::duration(value->value.count());
      return fail(memory, fmt::format("Invalid duration {}: {}", text, value.error().message()));
    }
    case Shape::Format::byte:
      if (const auto value = decode_base64(text)) return copy_bytes(*value, memory);
      return fail(memory, fmt::format("Invalid byte formatted string {}", text));
  }
  return Value::null();
}

}  // namespace koord::cel
