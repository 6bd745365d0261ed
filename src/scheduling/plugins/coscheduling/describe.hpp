// Gangs as JSON, for people who look.
#pragma once

#include <optional>
#include <string_view>

#include "koord/scheduling/plugin/service_plugin.hpp"
#include "scheduling/gangs/book.hpp"

namespace koord::scheduling::coscheduling {

/// Koordinator's /gangs and /gang/NAMESPACE/NAME, with its fields. Absent: there is nothing at the path.
std::optional<ServiceAnswer> describe(const gangs::GangBook& book, std::string_view path);

}  // namespace koord::scheduling::coscheduling
