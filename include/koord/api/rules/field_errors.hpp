// FieldErrors: what a validation finds wrong, in the words of Kubernetes' field.Error.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace koord::api {

/// `path: Invalid value: 0: why`. At most twenty are kept: the input is from outside, and nobody reads more.
class FieldErrors {
 public:
  static constexpr std::size_t kMost = 20;

  /// `value` is as it shall be printed: texts in quotes, see quote().
  void invalid(std::string_view path, std::string_view value, std::string_view why);
  void required(std::string_view path, std::string_view why = {});
  void duplicate(std::string_view path, std::string_view value);
  /// `value` is quoted here.
  void not_supported(std::string_view path, std::string_view value,
                     std::span<const std::string_view> supported);
  /// Worded already. One that is there already is not added again.
  void add(std::string message);

  bool empty() const { return errors_.empty(); }
  /// Worth to look for more: ask it in loops over what is from outside.
  bool full() const { return errors_.size() >= kMost; }
  /// One error: as it is; several: "[a, b]", as an aggregate prints; beyond kMost "... and others".
  std::string text() const;

 private:
  std::vector<std::string> errors_;
  bool more_ = false;
};

}  // namespace koord::api
