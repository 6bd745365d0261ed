// The descheduler's flags and gates: see flags.hpp.
#include "options/flags.hpp"

#include <array>

#include "koord/runtime/config.hpp"
#include "koord/runtime/serving.hpp"

namespace koord::descheduler {

namespace {

using runtime::Flag;
using runtime::FlagType;

constexpr std::string_view kMisc = "Misc flags", kInsecure = "Insecure serving flags",
                           kDeprecated = "Deprecated flags";

constexpr std::array<Flag, 2> kMiscFlags = {{
    {"config", FlagType::text, "",
     "A DeschedulerConfiguration. Without it one pass is made, in which nothing is chosen, and "
     "PodMigrationJobs are seen to.",
     0, kMisc},
    {"write-config-to", FlagType::text, "",
     "Write the configuration in effect to this file, as JSON, and exit.", 0, kMisc},
}};

constexpr std::array<Flag, 2> kInsecureFlags = {{
    {"address", FlagType::text, "0.0.0.0",
     "The address of the plain port; it and --port, where given, win over healthzBindAddress and "
     "metricsBindAddress of --config.",
     0, kInsecure},
    {"port", FlagType::integer, "10251", "The port of plain HTTP; 0 serves none.", 0, kInsecure},
}};

constexpr Flag ignored(std::string_view name, FlagType type, std::string_view value, std::string_view help) {
  return {name, type, value, help, 0, kDeprecated, true, "accepted, without effect in this version"};
}

constexpr std::string_view kLogs = "Log lines are key=value, asynchronous and bounded.";
constexpr std::string_view kMetrics = "All metrics are shown, with the labels that they have.";

constexpr std::array kIgnoredFlags = {
    ignored("allow-metric-labels", FlagType::pairs, "", kMetrics),
    ignored("allow-metric-labels-manifest", FlagType::text, "", kMetrics),
    ignored("disabled-metrics", FlagType::list, "", kMetrics),
    ignored("show-hidden-metrics-for-version", FlagType::text, "", kMetrics),
    ignored("disable-http2-serving", FlagType::boolean, "false", "HTTP/1.1 is served alone."),
    ignored("http2-max-streams-per-connection", FlagType::integer, "0", "HTTP/1.1 is served alone."),
    ignored("permit-address-sharing", FlagType::boolean, "false", "Ports are not shared."),
    ignored("permit-port-sharing", FlagType::boolean, "false", "Ports are not shared."),
    ignored("tls-sni-cert-key", FlagType::list, "", "There is one certificate for all names."),
    ignored("log-flush-frequency", FlagType::duration, "5s", kLogs),
    ignored("log-json-info-buffer-size", FlagType::text, "0", kLogs),
    ignored("log-json-split-stream", FlagType::boolean, "false", kLogs),
    ignored("log-text-info-buffer-size", FlagType::text, "0", kLogs),
    ignored("log-text-split-stream", FlagType::boolean, "false", kLogs),
    ignored("logging-format", FlagType::text, "text", kLogs),
    ignored("vmodule", FlagType::text, "", kLogs),
};

constexpr auto kFlags = runtime::join_flags(
    kMiscFlags, runtime::secure_serving_flags("10258"), kInsecureFlags,
    runtime::leader_election_flags("koordinator-system", "koord-descheduler"), kIgnoredFlags);

constexpr FeatureGate kGates[] = {
    {.name = "DisablePVCReservation",
     .enabled = false,
     .stage = Stage::beta,
     .help = "Reservations of MigrationController name no volume claims of the pod's."},
};

}  // namespace

std::span<const Flag> flags() { return kFlags; }
std::span<const FeatureGate> gates() { return kGates; }

Result<DeschedulerConfiguration> read_configuration(const runtime::FlagValues& flags, PluginTable table) {
  const std::string& path = flags.get("config");
  DeschedulerConfiguration config;
  json::LineMap lines;
  if (!path.empty()) {
    auto read = runtime::load_config<DeschedulerConfiguration>(path, &lines);
    if (!read) return std::move(read).error();
    config = std::move(*read);
  }
  const auto named = [&](Error error) {
    return path.empty() ? std::move(error) : runtime::located(error, path, lines);
  };
  if (auto done = complete(config, table); !done) return named(std::move(done).error());
  runtime::apply_flags(flags, config.leader_election);
  if (auto valid = validate(config, table); !valid) return named(std::move(valid).error());
  return config;
}

}  // namespace koord::descheduler
