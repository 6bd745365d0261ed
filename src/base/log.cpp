#include "koord/base/log.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <mutex>

#include "koord/base/text.hpp"

namespace koord {

namespace {

// A line is cut here: a value that came from outside must not fill the queue by itself.
constexpr std::size_t kMaxValue = 8 << 10;

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > ' ' && byte != '"' && byte != '=' && byte != '\\' && byte < 0x7f;
}

void append_text(std::string& out, std::string_view text) {
  const std::string_view kept = utf8_prefix(text, kMaxValue);
  const bool plain = !kept.empty() && std::all_of(kept.begin(), kept.end(), is_plain);
  if (plain)
    out += kept;
  else
    append_quoted(out, kept);
  if (kept.size() < text.size()) out += "...";
}

template <class T>
void append_number(std::string& out, T value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end.ptr);
}

void append_nanos(std::string& out, std::int64_t nanos) {
  struct Unit {
    double nanos;
    std::string_view name;
  };
  constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  for (const Unit& unit : kUnits) {
    const double magnitude = std::abs(static_cast<double>(nanos));
    if (magnitude < unit.nanos) continue;
    append_number(out, std::round(static_cast<double>(nanos) / unit.nanos * 1e3) / 1e3);
    out += unit.name;
    return;
  }
  append_number(out, nanos);
  out += "ns";
}

void append_field(std::string& out, const LogField& field) {
  out += ' ';
  out += field.key;
  out += '=';
  switch (field.kind) {
    case LogField::Kind::text: append_text(out, field.text); break;
    case LogField::Kind::integer: append_number(out, field.integer); break;
    case LogField::Kind::natural: append_number(out, field.natural); break;
    case LogField::Kind::real: append_number(out, field.real); break;
    case LogField::Kind::boolean: out += field.boolean ? "true" : "false"; break;
    case LogField::Kind::nanos: append_nanos(out, field.integer); break;
  }
}

void append_padded(std::string& out, std::int64_t value, int width) {
  char buffer[20];
  for (int i = width; i-- > 0; value /= 10) buffer[i] = static_cast<char>('0' + value % 10);
  out.append(buffer, static_cast<std::size_t>(width));
}

void append_time(std::string& out, WallTime now) {
  const auto micros = std::chrono::floor<std::chrono::microseconds>(now);
  const auto day = std::chrono::floor<std::chrono::days>(micros);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(micros - day);
  append_padded(out, static_cast<int>(date.year()), 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_padded(out, time.hours().count(), 2);
  out += ':';
  append_padded(out, time.minutes().count(), 2);
  out += ':';
  append_padded(out, time.seconds().count(), 2);
  out += '.';
  append_padded(out, time.subseconds().count(), 6);
  out += 'Z';
}

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::error: return "error";
    case LogLevel::warn: return "warn";
    case LogLevel::info: return "info";
  }
  return "info";
}

}  // namespace

Logger::Logger(LogSink& sink, const Clock& clock, int verbosity)
    : sink_(&sink), clock_(&clock), verbosity_(std::make_shared<std::atomic<int>>(verbosity)) {}

Logger Logger::with(std::initializer_list<LogField> fields) const {
  Logger out = *this;
  for (const LogField& field : fields) append_field(out.fields_, field);
  return out;
}

void Logger::emit(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const {
  std::string line;
  line.reserve(128 + fields_.size() + message.size());
  line += "time=";
  append_time(line, clock_->now());
  line += " level=";
  line += name_of(level);
  line += fields_;
  line += " msg=";
  append_text(line, message);
  for (const LogField& field : fields) append_field(line, field);
  sink_->write(level, std::move(line));
}

struct CapturedLog::State {
  mutable std::mutex mutex;
  std::vector<std::pair<LogLevel, std::string>> lines;
};

CapturedLog::CapturedLog() : state_(std::make_unique<State>()) {}
CapturedLog::~CapturedLog() = default;

void CapturedLog::write(LogLevel level, std::string line) {
  const std::lock_guard lock(state_->mutex);
  state_->lines.emplace_back(level, std::move(line));
}

std::vector<std::string> CapturedLog::lines() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> out;
  for (const auto& [level, line] : state_->lines) out.push_back(line);
  return out;
}

bool CapturedLog::contains(std::string_view text) const {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [level, line] : state_->lines)
    if (line.find(text) != std::string::npos) return true;
  return false;
}

std::size_t CapturedLog::count(LogLevel level) const {
  const std::lock_guard lock(state_->mutex);
  std::size_t n = 0;
  for (const auto& entry : state_->lines) n += entry.first == level ? 1 : 0;
  return n;
}

}  // namespace koord
