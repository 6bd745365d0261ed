// FieldPath: where in an object something stands, written only when a message names it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace koord::sandbox {

/// A step below another one; both live on the stack of who walks the object, as do the names.
class FieldPath {
 public:
  FieldPath() = default;  // the object itself
  explicit FieldPath(std::string_view root) : name_(root), length_(root.size()) {}

  /// ".name", without the dot at the beginning.
  FieldPath field(std::string_view name) const { return {*this, Form::field, name, 0}; }
  FieldPath at(std::size_t index) const { return {*this, Form::index, {}, index}; }   // "[7]"
  FieldPath key(std::string_view name) const { return {*this, Form::key, name, 0}; }  // "[name]"

  /// About as many bytes as the text has, not fewer.
  std::size_t length() const { return length_; }
  bool is_root() const { return !up_ && name_.empty(); }

  std::string text() const {
    std::string out;
    append(out);
    return out;
  }

 private:
  enum class Form : std::uint8_t { field, index, key };
  FieldPath(const FieldPath& up, Form form, std::string_view name, std::size_t index)
      : up_(&up), name_(name), index_(index), length_(up.length_ + name.size() + kBrackets), form_(form) {}

  void append(std::string& out) const {
    if (up_) up_->append(out);
    switch (form_) {
      case Form::field: fmt::format_to(std::back_inserter(out), "{}{}", out.empty() ? "" : ".", name_); break;
      case Form::index: fmt::format_to(std::back_inserter(out), "[{}]", index_); break;
      case Form::key: fmt::format_to(std::back_inserter(out), "[{}]", name_); break;
    }
  }

  static constexpr std::size_t kBrackets = 2;
  const FieldPath* up_ = nullptr;
  std::string_view name_;
  std::size_t index_ = 0, length_ = 0;
  Form form_ = Form::field;
};

}  // namespace koord::sandbox
