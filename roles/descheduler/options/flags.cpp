// The descheduler's flags and gates: see flags.hpp.
#include "options/flags.hpp"

#include <array>

#include "drain/gate.hpp"
#include "koord/runtime/audit.hpp"
#include "koord/runtime/component_flags.hpp"
#include "koord/runtime/config.hpp"
#include "koord/runtime/serving.hpp"

namespace koord::descheduler {

namespace {

using runtime::Flag;
using runtime::FlagType;

constexpr std::string_view kMisc = "Misc flags", kInsecure = "Insecure serving flags";

constexpr std::string_view kAuditFolder =
    "A folder of this process alone for audit.log: a line of JSON before each modification of the cluster "
    "and "
    "one after it; what cannot be written down is not done. Empty: the newest are in memory, for /audit.";

constexpr std::array<Flag, 5> kMiscFlags = {{
    {"config", FlagType::text, "",
     "A DeschedulerConfiguration. Without it one pass is made, in which nothing is chosen, and "
     "PodMigrationJobs are seen to.",
     0, kMisc},
    {"write-config-to", FlagType::text, "",
     "Write the configuration in effect to this file, as JSON, and exit.", 0, kMisc},
    {"node-fit", FlagType::text, "scheduler",
     "Who says whether a pod would fit on another node, where a plugin or an evictor asks (nodeFit): "
     "scheduler, "
     "by all filters of the scheduler, or basic, by the few rules of koord-descheduler's own check.",
     0, kMisc},
    {"scheduler-config", FlagType::text, "",
     "The KubeSchedulerConfiguration of the scheduler that places the cluster's pods, for "
     "--node-fit=scheduler; "
     "empty: the default profile of koord's scheduler, for koord-scheduler and default-scheduler.",
     0, kMisc},
    {"scheduler-feature-gates", FlagType::text, "",
     "The --feature-gates of that scheduler, by which its filters go, too.", 0, kMisc},
}};

constexpr std::array<Flag, 2> kInsecureFlags = {{
    {"address", FlagType::text, "0.0.0.0",
     "The address of the plain port; it and --port, where given, win over healthzBindAddress and "
     "metricsBindAddress of --config.",
     0, kInsecure},
    {"port", FlagType::integer, "10251", "The port of plain HTTP; 0 serves none.", 0, kInsecure},
}};

constexpr auto kFlags = runtime::join_flags(
    kMiscFlags, runtime::secure_serving_flags("10258"), kInsecureFlags, runtime::audit_flags(kAuditFolder),
    runtime::leader_election_flags("koordinator-system", "koord-descheduler"),
    runtime::ignored_component_flags());

constexpr FeatureGate kGates[] = {
    {.name = "DisablePVCReservation",
     .enabled = false,
     .stage = Stage::beta,
     .help = "Reservations of MigrationController name no volume claims of the pod's."},
    {.name = kDrainGate,
     .enabled = false,
     .stage = Stage::alpha,
     .help = "The plugin Drain may be enabled: DrainNodeGroups and DrainNodes are gone on with."},
};

/// `place`: where it comes from, for errors; empty: from nowhere.
Result<DeschedulerConfiguration> finish(Result<DeschedulerConfiguration> config, const std::string& place,
                                        const json::LineMap& lines, const runtime::FlagValues& flags,
                                        PluginTable table) {
  if (!config) return config;
  const auto named = [&](Error error) {
    return place.empty() ? std::move(error) : runtime::located(error, place, lines);
  };
  if (auto done = complete(*config, table); !done) return named(std::move(done).error());
  runtime::apply_flags(flags, config->leader_election);
  if (auto valid = validate(*config, table); !valid) return named(std::move(valid).error());
  return config;
}

}  // namespace

std::span<const Flag> flags() { return kFlags; }
std::span<const FeatureGate> gates() { return kGates; }

Result<DeschedulerConfiguration> configuration_from(std::string_view text, const std::string& place,
                                                    const runtime::FlagValues& flags, PluginTable table) {
  Result<DeschedulerConfiguration> config{DeschedulerConfiguration()};
  json::LineMap lines;
  KOORD_CHECK(runtime::read_config(text, place, api::schema<DeschedulerConfiguration>(), &*config, &lines));
  return finish(std::move(config), place, lines, flags, table);
}

Result<DeschedulerConfiguration> read_configuration(const runtime::FlagValues& flags, PluginTable table) {
  const std::string& path = flags.get("config");
  Result<DeschedulerConfiguration> config{DeschedulerConfiguration()};
  json::LineMap lines;
  if (!path.empty()) config = runtime::load_config<DeschedulerConfiguration>(path, &lines);
  return finish(std::move(config), path, lines, flags, table);
}

}  // namespace koord::descheduler
