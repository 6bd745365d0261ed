// FieldErrors: what a validation finds wrong, in the words of Kubernetes' field.Error.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "koord/api/rules/error_texts.hpp"

namespace koord::api {

/// `path: Invalid value: 0: why`. Bounded as ErrorTexts are: the input is from outside, and nobody reads
/// more.
class FieldErrors {
 public:
  /// `value` is as it shall be printed: texts in quotes, see quote().
  void invalid(std::string_view path, std::string_view value, std::string_view why);
  void required(std::string_view path, std::string_view why = {});
  void duplicate(std::string_view path, std::string_view value);
  /// `value` is quoted here.
  void not_supported(std::string_view path, std::string_view value,
                     std::span<const std::string_view> supported);
  /// Worded already. One that is there already is not added again.
  void add(std::string message);

  bool empty() const { return texts_.empty(); }
  /// As ErrorTexts::aggregate.
  std::string text() const { return texts_.aggregate(); }

 private:
  ErrorTexts texts_;
};

}  // namespace koord::api
