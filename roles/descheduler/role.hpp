// The descheduler as a role.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "koord/runtime/role.hpp"

namespace koord::descheduler {

struct DeschedulerConfiguration;
struct PassReport;
struct PluginEntry;

/// One row for the program's table of roles.
const runtime::RoleDescriptor& role();

/// The descriptor's `make`, which gives plugin_table(); tests give others.
Result<std::unique_ptr<runtime::Role>> make_role(runtime::RoleContext& context,
                                                 std::span<const PluginEntry* const> plugins);

/// One that makes a single pass, as a dry run whatever the configuration says, without an election or ports,
/// and hands its report to `told`. What a plugin does after several passes it does in this one. `config` is
/// complete and valid. `progress` is told of what it does meanwhile, and how many pods it has chosen.
Result<std::unique_ptr<runtime::Role>> make_rehearsal(
    runtime::RoleContext& context, DeschedulerConfiguration config,
    std::function<void(const PassReport&)> told, std::function<void(std::string_view, std::size_t)> progress);

}  // namespace koord::descheduler
