#include "koord/api/rules/field_errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "koord/base/text.hpp"

namespace koord::api {

void FieldErrors::invalid(std::string_view path, std::string_view value, std::string_view why) {
  if (full())
    more_ = true;
  else
    add(fmt::format("{}: Invalid value: {}: {}", path, value, why));
}

void FieldErrors::required(std::string_view path, std::string_view why) {
  add(fmt::format("{}: Required value{}{}", path, why.empty() ? "" : ": ", why));
}

void FieldErrors::duplicate(std::string_view path, std::string_view value) {
  add(fmt::format("{}: Duplicate value: {}", path, value));
}

void FieldErrors::not_supported(std::string_view path, std::string_view value,
                                std::span<const std::string_view> supported) {
  std::vector<std::string> quoted;
  for (const std::string_view text : supported) quoted.push_back(quote(text));
  add(fmt::format("{}: Unsupported value: {}: supported values: {}", path, quote(value),
                  fmt::join(quoted, ", ")));
}

void FieldErrors::add(std::string message) {
  if (std::find(errors_.begin(), errors_.end(), message) != errors_.end()) return;
  if (full())
    more_ = true;
  else
    errors_.push_back(std::move(message));
}

std::string FieldErrors::text() const {
  if (errors_.size() == 1) return errors_.front();
  return fmt::format("[{}{}]", fmt::join(errors_, ", "), more_ ? ", ... and others" : "");
}

}  // namespace koord::api
