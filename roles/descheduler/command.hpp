// `koord deschedule --dry-run`: one pass over a cluster, told and not made.
#pragma once

#include <span>
#include <string>

#include "koord/runtime/role.hpp"

namespace koord::descheduler {

std::span<const runtime::Flag> command_flags();
int run_deschedule(std::span<const std::string> arguments, runtime::Streams streams);

}  // namespace koord::descheduler
