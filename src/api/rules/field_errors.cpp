#include "koord/api/rules/field_errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "koord/base/text.hpp"

namespace koord::api {

void FieldErrors::invalid(std::string_view path, std::string_view value, std::string_view why) {
  texts_.add([&] { return fmt::format("{}: Invalid value: {}: {}", path, value, why); });
}

void FieldErrors::required(std::string_view path, std::string_view why) {
  texts_.add([&] { return fmt::format("{}: Required value{}{}", path, why.empty() ? "" : ": ", why); });
}

void FieldErrors::duplicate(std::string_view path, std::string_view value) {
  texts_.add([&] { return fmt::format("{}: Duplicate value: {}", path, value); });
}

void FieldErrors::not_supported(std::string_view path, std::string_view value,
                                std::span<const std::string_view> supported) {
  texts_.add([&] {
    std::vector<std::string> quoted;
    for (const std::string_view text : supported) quoted.push_back(quote(text));
    return fmt::format("{}: Unsupported value: {}: supported values: {}", path, quote(value),
                       fmt::join(quoted, ", "));
  });
}

void FieldErrors::add(std::string message) {
  texts_.add([&] { return std::move(message); });
}

}  // namespace koord::api
