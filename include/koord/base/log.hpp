// Logger: key=value lines; cheap when disabled, asynchronous and bounded when not.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/error.hpp"

namespace koord {

/// A text that must not be printed: a token, a password. Only reveal() shows it.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& reveal() const { return text_; }
  bool empty() const { return text_.empty(); }
  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  std::string text_;
};

enum class LogLevel : std::uint8_t { error, warn, info };

/// One key=value of a line. Refers to the text that it was made from: use it in the call of the logger.
struct LogField {
  enum class Kind : std::uint8_t { text, integer, natural, real, boolean, nanos };
  std::string_view key;
  Kind kind = Kind::text;
  union {
    std::string_view text;
    std::int64_t integer;
    std::uint64_t natural;
    double real;
    bool boolean;
  };
};

inline LogField kv(std::string_view key, std::string_view value) {
  return {.key = key, .kind = LogField::Kind::text, .text = value};
}
inline LogField kv(std::string_view key, const char* value) { return kv(key, std::string_view(value)); }
inline LogField kv(std::string_view key, const std::string& value) {
  return kv(key, std::string_view(value));
}
inline LogField kv(std::string_view key, const Secret&) { return kv(key, std::string_view("***")); }
inline LogField kv(std::string_view key, const Error& error) { return kv(key, error.message()); }
inline LogField kv(std::string_view key, std::chrono::nanoseconds value) {
  return {.key = key, .kind = LogField::Kind::nanos, .integer = value.count()};
}
template <std::integral T>
LogField kv(std::string_view key, T value) {
  if constexpr (std::same_as<T, bool>) {
    return {.key = key, .kind = LogField::Kind::boolean, .boolean = value};
  } else if constexpr (std::signed_integral<T>) {
    return {.key = key, .kind = LogField::Kind::integer, .integer = value};
  } else {
    return {.key = key, .kind = LogField::Kind::natural, .natural = value};
  }
}
template <std::floating_point T>
LogField kv(std::string_view key, T value) {
  return {.key = key, .kind = LogField::Kind::real, .real = value};
}

/// Where lines go. write() is called from any thread and must not block.
class LogSink {
 public:
  virtual ~LogSink() = default;
  /// `line` is whole, without the line break.
  virtual void write(LogLevel level, std::string line) = 0;
};

/// Prints lines such as
///   time=2026-01-02T03:04:05.000006Z level=info role=scheduler msg="pod bound" pod=default/web-1 node=n7
/// A handle: copies and those made by with() share the sink and the verbosity. Any thread.
class Logger {
 public:
  /// The sink and the clock outlive every copy.
  Logger(LogSink& sink, const Clock& clock, int verbosity = 0);

  /// The same logger, whose lines have these fields too.
  Logger with(std::initializer_list<LogField> fields) const;

  template <std::same_as<LogField>... F>
  void error(std::string_view message, const F&... fields) const {
    emit(LogLevel::error, message, {fields...});
  }
  template <std::same_as<LogField>... F>
  void warn(std::string_view message, const F&... fields) const {
    emit(LogLevel::warn, message, {fields...});
  }
  template <std::same_as<LogField>... F>
  void info(std::string_view message, const F&... fields) const {
    emit(LogLevel::info, message, {fields...});
  }
  /// Printed if --v is `level` or more; where making the fields costs something, ask enabled() first.
  template <std::same_as<LogField>... F>
  void v(int level, std::string_view message, const F&... fields) const {
    if (enabled(level)) emit(LogLevel::info, message, {fields...});
  }

  bool enabled(int level) const { return verbosity_->load(std::memory_order_relaxed) >= level; }
  int verbosity() const { return verbosity_->load(std::memory_order_relaxed); }
  /// --v, also while running; holds for all copies.
  void set_verbosity(int level) const { verbosity_->store(level, std::memory_order_relaxed); }

 private:
  void emit(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) const;

  LogSink* sink_;
  const Clock* clock_;
  std::shared_ptr<std::atomic<int>> verbosity_;
  std::string fields_;  // printed, with a space before each
};

/// Writes lines to a file descriptor from a thread of its own. Not over spdlog, whose asynchronous queue is
/// bounded by the number of lines, not by their bytes, and whose log does not say what it lacks. When the
/// reader is slower than the program, the oldest waiting lines are dropped, and a line says how many. A full
/// disk or a closed descriptor loses lines and nothing else; SIGPIPE is blocked in that thread.
class AsyncLogSink final : public LogSink {
 public:
  struct Stats {
    std::uint64_t dropped = 0;  // lines that gave way to newer ones
    std::uint64_t failed = 0;   // lines that could not be written
  };
  /// `max_bytes` of waiting text at most. The descriptor stays the caller's.
  explicit AsyncLogSink(int fd, std::size_t max_bytes = 4 << 20);
  ~AsyncLogSink() override;  // writes what waits
  AsyncLogSink(const AsyncLogSink&) = delete;
  AsyncLogSink& operator=(const AsyncLogSink&) = delete;

  void write(LogLevel level, std::string line) override;
  /// Blocks until what was written before has left for the descriptor; for the end of the process.
  void flush();
  Stats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Keeps lines, for tests. Any thread.
class CapturedLog final : public LogSink {
 public:
  CapturedLog();
  ~CapturedLog() override;
  void write(LogLevel level, std::string line) override;
  std::vector<std::string> lines() const;
  /// True if a line contains the text.
  bool contains(std::string_view text) const;
  std::size_t count(LogLevel level) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace koord
