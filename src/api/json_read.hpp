// Reading JSON text as a stream of events: the one place where RapidJSON is used.
#pragma once

#include <string_view>

#include "koord/base/result.hpp"

namespace koord::api {

/// Receives a document's events in order. Each returns false to stop reading; read_json then fails with
/// stop_error(). Views are valid during the call only. Numbers come as their text.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
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
};

/// One JSON value, whole, in valid UTF-8, not deeper than kMaxJsonDepth. Errors of the text are
/// Code::parse and tell line, column and offset.
Result<> read_json(std::string_view text, JsonEvents& events);

}  // namespace koord::api
