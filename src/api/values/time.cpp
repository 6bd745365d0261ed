#include "koord/api/values/time.hpp"

#include <array>
#include <limits>

namespace koord::api {

namespace {

using std::chrono::days;
using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::string_view kSecondLayout = "2006-01-02T15:04:05Z07:00";
constexpr std::string_view kMicroLayout = "2006-01-02T15:04:05.000000Z07:00";

/// As Go's package time quotes what it could not read.
std::string quote(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte >= 0x80) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out += '"';
}

bool digit_at(std::string_view s, std::size_t i) { return i < s.size() && s[i] >= '0' && s[i] <= '9'; }

struct Instant {
  std::chrono::sys_seconds at;
  microseconds fraction{};
};

/// Reads RFC 3339 the way Go's time.Parse does for one of the two layouts: an hour of one digit, a comma
/// before the fraction and offsets of up to 24:60 are let through, as the API server lets them through.
class Rfc3339Reader {
 public:
  Rfc3339Reader(std::string_view text, std::string_view layout) : text_(text), rest_(text), layout_(layout) {}

  Result<Instant> read() {
    KOORD_TRY(year, year_number());
    KOORD_CHECK(separator("-"));
    KOORD_TRY(month, number("01", true));
    if (month < 1 || month > 12) return out_of_range("month");
    KOORD_CHECK(separator("-"));
    KOORD_TRY(day, number("02", true));
    KOORD_CHECK(separator("T"));
    KOORD_TRY(hour, number("15", false));
    if (hour > 23) return out_of_range("hour");
    KOORD_CHECK(separator(":"));
    KOORD_TRY(minute, number("04", true));
    if (minute > 59) return out_of_range("minute");
    KOORD_CHECK(separator(":"));
    KOORD_TRY(second, number("05", true));
    if (second > 59) return out_of_range("second");
    KOORD_TRY(fraction, fraction_micros());
    KOORD_TRY(offset, zone_offset());
    if (!rest_.empty())
      return Error(Code::parse, "parsing time " + quote(text_) + ": extra text: " + quote(rest_));
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(unsigned(month)),
                                           std::chrono::day(unsigned(day))};
    if (!date.ok()) return out_of_range("day");
    return Instant{std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
                       seconds(second) - seconds(offset),
                   fraction};
  }

 private:
  Error cannot(std::string_view rest, std::string_view element) const {
    return Error(Code::parse, "parsing time " + quote(text_) + " as " + quote(layout_) + ": cannot parse " +
                                  quote(rest) + " as " + quote(element));
  }
  Error out_of_range(std::string_view what) const {
    return Error(Code::parse, "parsing time " + quote(text_) + ": " + std::string(what) + " out of range");
  }

  Result<> separator(std::string_view mark) {
    if (!rest_.starts_with(mark)) return cannot(rest_, mark);
    rest_.remove_prefix(mark.size());
    return {};
  }

  Result<int> year_number() {
    for (std::size_t i = 0; i < 4; ++i)
      if (!digit_at(rest_, i)) return cannot(rest_, "2006");
    return take(4);
  }

  Result<int> number(std::string_view element, bool two_digits) {
    if (!digit_at(rest_, 0) || (two_digits && !digit_at(rest_, 1))) return cannot(rest_, element);
    return take(digit_at(rest_, 1) ? 2 : 1);
  }

  int take(std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value * 10 + (rest_[i] - '0');
    rest_.remove_prefix(count);
    return value;
  }

  Result<microseconds> fraction_micros() {
    const bool exact = layout_ == kMicroLayout;
    const bool mark = !rest_.empty() && (rest_[0] == '.' || rest_[0] == ',');
    std::size_t end = 1;
    while (mark && digit_at(rest_, end) && (!exact || end < 7)) ++end;
    if (exact && (!mark || end != 7)) return cannot(rest_, ".000000");
    if (!mark || end == 1) return microseconds(0);
    int micros = 0;
    for (std::size_t i = 1; i < 7; ++i) micros = micros * 10 + (i < end ? rest_[i] - '0' : 0);
    rest_.remove_prefix(end);
    return microseconds(micros);
  }

  Result<int> zone_offset() {
    if (rest_.starts_with('Z')) {
      rest_.remove_prefix(1);
      return 0;
    }
    const std::string_view zone = rest_;
    if (zone.size() < 6 || zone[3] != ':' || !digit_at(zone, 1) || !digit_at(zone, 2))
      return cannot(zone, "Z07:00");
    const int hours = (zone[1] - '0') * 10 + (zone[2] - '0');
    if (hours > 24) return out_of_range("time zone offset hour");
    if (!digit_at(zone, 4) || !digit_at(zone, 5)) return cannot(zone, "Z07:00");
    const int minutes = (zone[4] - '0') * 10 + (zone[5] - '0');
    if (minutes > 60) return out_of_range("time zone offset minute");
    if (zone[0] != '+' && zone[0] != '-') return cannot(zone, "Z07:00");
    rest_.remove_prefix(6);
    const int offset = (hours * 60 + minutes) * 60;
    return zone[0] == '-' ? -offset : offset;
  }

  std::string_view text_;
  std::string_view rest_;
  std::string_view layout_;
};

void append_number(std::string& out, std::uint64_t value, int width) {
  std::array<char, 20> buffer{};
  auto at = buffer.end();
  for (int i = 0; i < width || value > 0; ++i, value /= 10) *--at = static_cast<char>('0' + value % 10);
  out.append(at, buffer.end());
}

/// Without the zone.
std::string date_and_time(std::chrono::sys_seconds t) {
  const auto day = std::chrono::floor<days>(t);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<seconds> time(t - day);
  std::string out;
  out.reserve(28);
  const int year = static_cast<int>(date.year());
  if (year < 0) out += '-';
  append_number(out, static_cast<std::uint64_t>(std::abs(year)), 4);
  const std::array<std::pair<char, std::uint64_t>, 5> rest{{{'-', unsigned(date.month())},
                                                            {'-', unsigned(date.day())},
                                                            {'T', std::uint64_t(time.hours().count())},
                                                            {':', std::uint64_t(time.minutes().count())},
                                                            {':', std::uint64_t(time.seconds().count())}}};
  for (const auto& [mark, value] : rest) {
    out += mark;
    append_number(out, value, 2);
  }
  return out;
}

template <class TimePoint>
WallTime to_wall(TimePoint at) {
  constexpr auto kHighest = std::chrono::floor<typename TimePoint::duration>(WallTime::max());
  constexpr auto kLowest = std::chrono::ceil<typename TimePoint::duration>(WallTime::min());
  return at > kHighest ? WallTime::max() : at < kLowest ? WallTime::min() : WallTime(at);
}

struct Unit {
  std::string_view name;
  std::uint64_t nanos;
};
constexpr Unit kUnits[] = {{"ns", 1},
                           {"us", 1'000},
                           {"\xc2\xb5s", 1'000},  // U+00B5, micro sign
                           {"\xce\xbcs", 1'000},  // U+03BC, Greek mu
                           {"ms", 1'000'000},
                           {"s", 1'000'000'000},
                           {"m", 60'000'000'000},
                           {"h", 3'600'000'000'000}};
constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;

/// Go's fraction of a number: digits beyond what 63 bits hold are read and ignored.
struct Fraction {
  std::uint64_t digits = 0;
  double scale = 1;
};
Fraction read_fraction(std::string_view& s) {
  Fraction out;
  bool full = false;
  for (; digit_at(s, 0); s.remove_prefix(1)) {
    if (full) continue;
    if (out.digits > (kLimit - 1) / 10) {
      full = true;
      continue;
    }
    const std::uint64_t next = out.digits * 10 + static_cast<std::uint64_t>(s[0] - '0');
    if (next > kLimit) {
      full = true;
      continue;
    }
    out.digits = next;
    out.scale *= 10;
  }
  return out;
}

}  // namespace

Result<Time> Time::parse(std::string_view text) {
  KOORD_TRY(instant, Rfc3339Reader(text, kSecondLayout).read());
  return Time(instant.at);
}

std::string Time::to_string() const { return date_and_time(at) + "Z"; }
WallTime Time::wall() const { return to_wall(at); }

Result<MicroTime> MicroTime::parse(std::string_view text) {
  KOORD_TRY(instant, Rfc3339Reader(text, kMicroLayout).read());
  return MicroTime(std::chrono::sys_time<microseconds>(instant.at + instant.fraction));
}

std::string MicroTime::to_string() const {
  const auto whole = std::chrono::floor<seconds>(at);
  std::string out = date_and_time(whole) + ".";
  append_number(out, static_cast<std::uint64_t>((at - whole).count()), 6);
  return out += 'Z';
}
WallTime MicroTime::wall() const { return to_wall(at); }

Result<Duration> Duration::parse(std::string_view text) {
  const auto bad = [text](const std::string& what) {
    return Error(Code::parse, "time: " + what + quote(text));
  };
  const Error invalid = bad("invalid duration ");
  std::string_view s = text;
  const bool negative = s.starts_with('-');
  if (negative || s.starts_with('+')) s.remove_prefix(1);
  if (s == "0") return Duration();
  if (s.empty()) return invalid;
  std::uint64_t total = 0;
  while (!s.empty()) {
    if (s[0] != '.' && !digit_at(s, 0)) return invalid;
    const bool whole = digit_at(s, 0);
    std::uint64_t value = 0;
    for (; digit_at(s, 0); s.remove_prefix(1)) {
      if (value > kLimit / 10) return invalid;
      value = value * 10 + static_cast<std::uint64_t>(s[0] - '0');
      if (value > kLimit) return invalid;
    }
    Fraction fraction;
    bool fractional = false;
    if (s.starts_with('.')) {
      s.remove_prefix(1);
      fractional = digit_at(s, 0);
      fraction = read_fraction(s);
    }
    if (!whole && !fractional) return invalid;
    const std::string_view name = s.substr(0, s.find_first_of(".0123456789"));
    if (name.empty()) return bad("missing unit in duration ");
    s.remove_prefix(name.size());
    const Unit* unit = nullptr;
    for (const Unit& u : kUnits)
      if (u.name == name) unit = &u;
    if (unit == nullptr) return bad("unknown unit " + quote(name) + " in duration ");
    if (value > kLimit / unit->nanos) return invalid;
    value *= unit->nanos;
    // In double, as Go does: the same digits must give the same nanosecond.
    if (fraction.digits > 0)
      value += static_cast<std::uint64_t>(static_cast<double>(fraction.digits) *
                                          (static_cast<double>(unit->nanos) / fraction.scale));
    if (value > kLimit) return invalid;
    total += value;
    if (total > kLimit) return invalid;
  }
  if (negative) return Duration(nanoseconds(static_cast<std::int64_t>(0 - total)));
  if (total == kLimit) return invalid;
  return Duration(nanoseconds(static_cast<std::int64_t>(total)));
}

std::string Duration::to_string() const {
  const std::int64_t count = value.count();
  if (count == 0) return "0s";
  std::uint64_t rest = count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  std::string out = count < 0 ? "-" : "";
  // `rest` in units of 10^places nanoseconds, without trailing zeros after the point.
  const auto fraction = [&out](std::uint64_t nanos, int places) {
    std::uint64_t unit = 1;
    for (int i = 0; i < places; ++i) unit *= 10;
    append_number(out, nanos / unit, 1);
    std::uint64_t digits = nanos % unit;
    if (digits == 0) return;
    for (; digits % 10 == 0; digits /= 10) --places;
    out += '.';
    append_number(out, digits, places);
  };
  if (rest < 1'000) {
    fraction(rest, 0);
    return out += "ns";
  }
  if (rest < 1'000'000) {
    fraction(rest, 3);
    return out += "\xc2\xb5s";
  }
  if (rest < 1'000'000'000) {
    fraction(rest, 6);
    return out += "ms";
  }
  constexpr std::uint64_t kMinute = 60'000'000'000;
  if (rest >= 60 * kMinute) {
    append_number(out, rest / (60 * kMinute), 1);
    out += 'h';
  }
  if (rest >= kMinute) {
    append_number(out, rest / kMinute % 60, 1);
    out += 'm';
  }
  fraction(rest % kMinute, 9);
  return out += 's';
}

}  // namespace koord::api
