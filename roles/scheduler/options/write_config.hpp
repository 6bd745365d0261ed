// --write-config-to: the configuration in effect as a file, and nothing else.
#pragma once

#include <memory>
#include <string>

#include "koord/runtime/role.hpp"
#include "koord/scheduling/config/config.hpp"

namespace koord::scheduler {

/// Writes the configuration to the file, as JSON (which is YAML too) that --config takes. Errors name the
/// file.
Result<> write_config(scheduling::KubeSchedulerConfiguration config, const std::string& file);

/// A role whose work is done: it ends the process, with exit code 0.
std::unique_ptr<runtime::Role> finished(runtime::RoleContext& context);

}  // namespace koord::scheduler
