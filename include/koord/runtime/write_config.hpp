// --write-config-to: the configuration in effect as a file, and nothing else.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "koord/runtime/role.hpp"

namespace koord::runtime {

/// Writes the configuration, JSON (which is YAML too) that --config takes, to the file. Errors name the file.
Result<> write_config(std::string_view json, const std::string& file);

/// A role whose work is done: it ends the process, with exit code 0.
std::unique_ptr<Role> finished(RoleContext& context);

}  // namespace koord::runtime
