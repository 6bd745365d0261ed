// The program: from arguments to an exit code. main() is one call of this, tests make others.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "koord/runtime/role.hpp"

namespace koord::app {

using runtime::kFailed;
using runtime::kOk;
using runtime::kUsage;
using runtime::Streams;

/// `arguments` without the program's name.
int run(std::span<const std::string> arguments, std::span<const runtime::RoleDescriptor* const> roles,
        Streams streams);

/// The roles that this program has, in the order of `koord --help`.
std::span<const runtime::RoleDescriptor* const> all_roles();

/// The flags that belong to the process, whatever roles it runs.
std::span<const runtime::Flag> process_flags();

std::string version();

}  // namespace koord::app
