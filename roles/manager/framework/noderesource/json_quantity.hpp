// Quantities in annotations.
#pragma once

#include <optional>
#include <string>

#include "koord/api/values/quantity.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {

/// A text or a number; nothing if it is no quantity.
inline std::optional<api::Quantity> quantity_of(const json::Value& value) {
  auto quantity = api::Quantity::parse(value.is_string() ? std::string(value.text()) : json::to_text(value));
  if (!quantity) return std::nullopt;
  return std::move(*quantity);
}

}  // namespace koord::manager
