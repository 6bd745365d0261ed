// How the plugin is made, for a row of a plugin table.
#pragma once

#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling::elastic_quota {

/// As PluginEntry::make, of ElasticQuotaArgs.
Result<std::unique_ptr<Plugin>> make_elastic_quota(const Args& args, const PluginContext& context);

}  // namespace koord::scheduling::elastic_quota
