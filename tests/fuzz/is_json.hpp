// Whether a text is JSON by its grammar: a number may be beyond a double, which a document refuses and a
// decoder that has no use for it does not look at.
#pragma once

#include <string_view>

#include "koord/json/reader.hpp"

namespace koord {

class IgnoredEvents final : public json::Events {
 public:
  bool on_null() override { return true; }
  bool on_bool(bool) override { return true; }
  bool on_number(std::string_view) override { return true; }
  bool on_string(std::string_view) override { return true; }
  bool on_begin_object() override { return true; }
  bool on_key(std::string_view) override { return true; }
  bool on_end_object() override { return true; }
  bool on_begin_array() override { return true; }
  bool on_end_array() override { return true; }
  Error stop_error() override { return Error(Code::internal, "it never stops"); }
};

inline bool is_json(std::string_view text) {
  IgnoredEvents events;
  return json::read(text, events).has_value();
}

}  // namespace koord
