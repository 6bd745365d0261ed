// What plugins write of a node, and which differences are worth a write.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "koord/api/koordinator/node.hpp"
#include "koord/api/types/core_v1/node.hpp"

namespace koord::manager {

inline constexpr std::string_view kOriginExtended = api::kOriginExtendedAllocatable;

/// Into capacity and allocatable, rounded up to a whole number: an API server takes nothing else. Nothing: it
/// goes.
void set_amount(api::Node& node, std::string_view name, const std::optional<api::Quantity>& amount);
/// Empty: it goes.
void set_annotation(api::Node& node, std::string_view name, std::string_view value);

/// That many, 0 at least.
api::Quantity from_zero(std::int64_t value, api::Quantity::Format format = api::Quantity::Format::decimal_si);

/// Whether an amount changed by more than a share of what it was; of 0, by anything.
bool is_worth(const api::Quantity& was, const api::Quantity& is, double share);
/// The same of a resource that may also have come or gone.
bool is_worth(const api::ResourceList& before, const api::ResourceList& after, std::string_view name,
              double share);

}  // namespace koord::manager
