// `koord nodes`, `koord lent`, `koord quota`, `koord gangs` and `koord reservations`: a part of a cluster's
// figures, once.
#pragma once

#include <span>
#include <string>

#include "koord/runtime/role.hpp"

namespace koord::koordlet {

/// See runtime::RoleCommand.
int run_nodes(std::span<const std::string> arguments, runtime::Streams streams);
int run_lent(std::span<const std::string> arguments, runtime::Streams streams);
int run_quota(std::span<const std::string> arguments, runtime::Streams streams);
int run_gangs(std::span<const std::string> arguments, runtime::Streams streams);
int run_reservations(std::span<const std::string> arguments, runtime::Streams streams);

}  // namespace koord::koordlet
