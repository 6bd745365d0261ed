// IntOrString: a field that is a number or a text (a port's name, a percentage).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"
#include "koord/base/symbol.hpp"

namespace koord::api {

class IntOrString {
 public:
  IntOrString() = default;  // the number 0
  IntOrString(std::int32_t value) : int_(value) {}
  IntOrString(Symbol text) : text_(std::move(text)), is_string_(true) {}
  IntOrString(const char* text) : IntOrString(Symbol(text)) {}

  bool is_string() const { return is_string_; }
  /// 0 for a text, see to_int().
  std::int32_t int_value() const { return int_; }
  /// Empty for a number.
  const Symbol& string_value() const { return text_; }
  /// The number, or the text read as one; 0 if it is none (Go's IntValue).
  std::int32_t to_int() const;
  /// As a text in either case.
  std::string to_string() const;
  /// A number as it is, "N%" of `total` rounded up or down. Kubernetes' error texts.
  Result<std::int64_t> scaled(std::int64_t total, bool round_up) const;

  friend bool operator==(const IntOrString&, const IntOrString&) = default;

 private:
  Symbol text_;
  std::int32_t int_ = 0;
  bool is_string_ = false;
};

}  // namespace koord::api
