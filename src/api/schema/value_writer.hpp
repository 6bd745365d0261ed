// ValueWriter: the part of json::Writer that typed values are written with, making a document in memory.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/json/value.hpp"

namespace koord::api {

/// What it makes lies in the arena. As with json::Writer, who calls keeps begin and end in pairs.
class ValueWriter {
 public:
  explicit ValueWriter(json::Arena& arena) : arena_(arena) {}

  /// Once, when all that began has ended.
  json::Value take() { return std::move(done_); }

  void begin_object() { open(json::Value::object()); }
  void begin_array() { open(json::Value::array()); }
  void end_object() { close(); }
  void end_array() { close(); }
  /// A field's name.
  void key(std::string_view name) { open_.back().key = name; }

  void null() { add(json::Value()); }
  template <std::same_as<bool> B>
  void value(B value) {
    add(json::Value(value));
  }
  template <std::signed_integral I>
  void value(I value) {
    add(json::Value(std::int64_t{value}));
  }
  /// As it would be read from its text, where a whole number has no point.
  void value(double value) {
    constexpr double kExact = 9007199254740992;  // 2^53
    if (std::trunc(value) == value && std::abs(value) <= kExact)
      add(json::Value(static_cast<std::int64_t>(value)));
    else
      add(json::Value(value));
  }
  void value(std::string_view text) { add(json::make_text(text, arena_)); }
  /// What is no JSON is null.
  void raw(std::string_view text) {
    const auto document = json::parse(text);
    add(document ? json::clone(*document, arena_) : json::Value());
  }
  void member(std::string_view name, std::string_view text) {
    key(name);
    value(text);
  }

 private:
  struct Container {
    json::Value value;
    std::string_view key = {};  // of the member that comes; it outlives the call
  };

  void open(json::Value container) { open_.push_back({std::move(container)}); }
  void close() {
    json::Value whole = std::move(open_.back().value);
    open_.pop_back();
    add(std::move(whole));
  }
  void add(json::Value value) {
    if (open_.empty())
      done_ = std::move(value);
    else if (Container& at = open_.back(); at.value.is_object())
      at.value.append(at.key, std::move(value), arena_);
    else
      at.value.push_back(std::move(value), arena_);
  }

  json::Arena& arena_;
  std::vector<Container> open_;
  json::Value done_;
};

}  // namespace koord::api
