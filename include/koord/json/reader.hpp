// Reading JSON, text or a value in memory, as a stream of events: the one place where text becomes JSON.
#pragma once

#include <string_view>
#include <utility>

#include "koord/base/result.hpp"

namespace koord::json {

class Value;

/// JSON nested deeper than this is refused wherever outside input is read.
inline constexpr int kMaxDepth = 1000;

/// Receives a document's events in order. Each returns false to stop reading; read then fails with
/// stop_error(). Views are valid during the call only. Numbers come as their text.
class Events {
 public:
  virtual ~Events() = default;
  virtual bool on_null() = 0;
  virtual bool on_bool(bool value) = 0;
  virtual bool on_number(std::string_view text) = 0;
  virtual bool on_string(std::string_view value) = 0;
  virtual bool on_begin_object() = 0;
  virtual bool on_key(std::string_view key) = 0;
  virtual bool on_end_object() = 0;
  virtual bool on_begin_array() = 0;
  virtual bool on_end_array() = 0;
  virtual Error stop_error() = 0;

  /// Within on_key: there will be no events of the member's value. It is checked all the same, but at a
  /// fraction of the cost.
  void skip_value() { skip_ = true; }
  /// For the reader, and for one who passes events on.
  bool take_skip() { return std::exchange(skip_, false); }

 private:
  bool skip_ = false;
};

/// One JSON value, whole, in valid UTF-8, not deeper than kMaxDepth. Errors of the text are
/// Code::parse and tell line, column and offset. Takes time linear in the text and no stack for its depth.
Result<> read(std::string_view text, Events& events);
/// The same events as for the value's text (writer.hpp), without printing it. What is nested deeper than
/// kMaxDepth is an error of Code::parse, where somebody wants it. No stack for its depth, either.
Result<> read(const Value& value, Events& events);

}  // namespace koord::json
