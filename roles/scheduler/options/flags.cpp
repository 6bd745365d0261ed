// The scheduler's flags: see flags.hpp.
#include "options/flags.hpp"

#include <array>
#include <vector>

#include "koord/runtime/component_flags.hpp"
#include "koord/runtime/config.hpp"
#include "koord/runtime/serving.hpp"
#include "koord/scheduling/plugins.hpp"

namespace koord::scheduler {

namespace {

using runtime::Flag;
using runtime::FlagType;

constexpr std::string_view kMisc = "Misc flags", kDeprecated = "Deprecated flags",
                           kKoord = "Koordinator flags";
constexpr std::string_view kNoEffect = "accepted, without effect in this version";
constexpr std::string_view kNoBarrierPod =
                               "accepted, without effect: koord asks the API server what it may have missed, "
                               "and needs no pod for it",
                           kOfAuditor = "accepted, without effect yet: it comes with the workload auditor";

constexpr std::array<Flag, 10> kMiscFlags = {{
    {"config", FlagType::text, "",
     "A KubeSchedulerConfiguration. Without it koord serves the names of --scheduler-names with the profile "
     "of Koordinator's own manifests.",
     0, kMisc},
    {"koordinator-semantics", FlagType::boolean, "true",
     "Nodes and pods are what Koordinator's annotations and labels make of them, DefaultPreBind writes and "
     "pods are checked before their binding, whatever --config names; false: as kube-scheduler.",
     0, kMisc},
    {"bind-unserved-pods", FlagType::boolean, "false",
     "Bind pods that ask for what a plugin serves that their profile names and koord does not have; they are "
     "told, and wait otherwise.",
     0, kMisc},
    {"scheduler-names", FlagType::list, "koord-scheduler",
     "Pods of these schedulerNames are koord's, a profile each. Ignored with --config.", 0, kMisc},
    {"write-config-to", FlagType::text, "",
     "Write the configuration in effect to this file, as JSON, and exit.", 0, kMisc},
    {"master", FlagType::text, "", "The address of the API server; replaces the kubeconfig's.", 0, kMisc},
    {"address", FlagType::text, "0.0.0.0", "The address of the plain port.", 0, kMisc},
    {"port", FlagType::integer, "10251", "The port of plain HTTP; 0 serves none.", 0, kMisc},
    {"seed", FlagType::integer, "0", "Breaks ties between nodes alike in every run; 0: by chance.", 0, kMisc},
    {"class-memory-per-node", FlagType::integer, "4096",
     "Bytes a node for verdicts and scores that classes of pods keep, a class about 4; at least 1 MiB in "
     "all.",
     0, kMisc},
}};

constexpr std::array<Flag, 6> kDeprecatedFlags = {{
    {"profiling", FlagType::boolean, "true", "No profiles are served.", 0, kDeprecated, true, kNoEffect},
    {"contention-profiling", FlagType::boolean, "true", "No profiles are served.", 0, kDeprecated, true,
     kNoEffect},
    {"kube-api-content-type", FlagType::text, "application/vnd.kubernetes.protobuf", "koord speaks JSON.", 0,
     kDeprecated, true, kNoEffect},
    {"kube-api-qps", FlagType::real, "0", "Requests a second; 0: no limit. Ignored with --config.", 0,
     kDeprecated},
    {"kube-api-burst", FlagType::integer, "0", "Requests at once beyond that. Ignored with --config.", 0,
     kDeprecated},
    {"pod-max-in-unschedulable-pods-duration", FlagType::duration, "5m",
     "After this long an unschedulable pod is tried again without an event.", 0, kDeprecated},
}};

constexpr std::array<Flag, 15> kKoordFlags = {{
    {"scheduler-monitor-period", FlagType::duration, "10s",
     "How often it is looked at how long the present attempt to place a pod has taken; 0s: never.", 0,
     kKoord},
    {"scheduling-timeout", FlagType::duration, "30s",
     "An attempt that takes longer is logged with what it is at, and counted (scheduler_scheduling_timeout).",
     0, kKoord},
    {"scheduling-drop-unhandled-timeout", FlagType::duration, "5s",
     "A pod that is taken from the queue is tried at once.", 0, kKoord, true, kNoEffect},
    {"debug-scores", FlagType::integer, "0",
     "Log the scores of so many of the best nodes of each attempt; they cost time.", 's', kKoord},
    {"debug-filters", FlagType::boolean, "false",
     "Log which plugin refused how many nodes of each attempt that failed, and some of them.", 'f', kKoord},
    {"debug-diagnosis", FlagType::boolean, "false", "Log a record of each attempt that failed, as JSON.", 'd',
     kKoord},
    {"remembered-pods", FlagType::integer, "10000",
     "Of so many pods the last attempts are remembered, for /apis/v1/attempts and koord explain; 0: of none.",
     0, kKoord},
    {"controller-plugins", FlagType::list, "*",
     "Plugins whose controllers run while this process leads: NAME, -NAME, or * for all others.", 0, kKoord},
    {"enable-network-topology-manager", FlagType::boolean, "false",
     "ClusterNetworkTopology counts: gangs that name a network topology are placed by it "
     "(awareNetworkTopology), and its status is written. Without it they wait.",
     0, kKoord},
    {"enable-workload-auditor", FlagType::boolean, "false", "There is no workload auditor yet.", 0, kKoord,
     true, kOfAuditor},
    {"sync-barrier-pod-namespace", FlagType::text, "kube-system",
     "A new leader needs no pod to learn what the one before wrote.", 0, kKoord, true, kNoBarrierPod},
    {"sync-barrier-pod-name", FlagType::text, "koord-scheduler-sync-barrier",
     "A new leader needs no pod to learn what the one before wrote.", 0, kKoord, true, kNoBarrierPod},
    {"sync-hard-timeout", FlagType::duration, "1m",
     "How long a new leader waits, before its first decision, to learn all that the one before wrote; then "
     "it "
     "decides all the same, with a warning. 0: it does not wait.",
     0, kKoord},
    {"async-log", FlagType::boolean, "false", "Logging is asynchronous and bounded anyway.", 0, kKoord, true,
     kNoEffect},
    {"async-log-queue-length", FlagType::integer, "10000", "Logging is asynchronous and bounded anyway.", 0,
     kKoord, true, kNoEffect},
}};

constexpr std::string_view kAudit = "There is no workload auditor yet.";
constexpr std::string_view kDiagnosis = "Logging is asynchronous and bounded anyway.";

// Of kube-scheduler and koord-scheduler alone: what asks for something that koord does not have, or has
// otherwise.
constexpr std::array<Flag, 11> kIgnoredFlags = {{
    runtime::ignored_flag("emulated-version", FlagType::list, "", "There is one version to be."),
    runtime::ignored_flag("emulation-forward-compatible", FlagType::boolean, "false",
                          "There is one version to be."),
    runtime::ignored_flag("min-compatibility-version", FlagType::list, "", "There is one version to be."),
    runtime::ignored_flag("debug-diagnosis-blocking", FlagType::boolean, "false", kDiagnosis),
    runtime::ignored_flag("debug-diagnosis-queue-size", FlagType::integer, "1000", kDiagnosis),
    runtime::ignored_flag("debug-diagnosis-worker-count", FlagType::integer, "10", kDiagnosis),
    runtime::ignored_flag("workload-auditor-metric-labels", FlagType::text, "", kAudit, kOfAuditor),
    runtime::ignored_flag("workload-auditor-victim-reschedule-duration", FlagType::duration, "10s", kAudit,
                          kOfAuditor),
    runtime::ignored_flag("workload-auditor-victim-deletion-duration", FlagType::duration, "30s", kAudit,
                          kOfAuditor),
    runtime::ignored_flag("workload-auditor-victim-deleting-retries", FlagType::integer, "3", kAudit,
                          kOfAuditor),
    runtime::ignored_flag("workload-auditor-scheduling-event-interval", FlagType::duration, "5m", kAudit,
                          kOfAuditor),
}};

constexpr auto kFlags =
    runtime::join_flags(kMiscFlags, runtime::secure_serving_flags("10259"),
                        runtime::leader_election_flags("koordinator-system", "koord-scheduler"),
                        kDeprecatedFlags, kKoordFlags, runtime::ignored_component_flags(), kIgnoredFlags);

// One profile a name, all alike.
void name_profiles(scheduling::KubeSchedulerConfiguration& config, const std::vector<std::string>& names) {
  const auto profile = config.profiles.front();
  config.profiles.clear();
  for (const std::string& name : names) {
    config.profiles.push_back(profile);
    config.profiles.back().scheduler_name = name;
  }
}

}  // namespace

std::span<const runtime::Flag> flags() { return kFlags; }

Result<scheduling::Configuration> read_configuration(const runtime::FlagValues& flags,
                                                     const FeatureGates& gates) {
  const std::string& path = flags.get("config");
  scheduling::Configuration c;
  c.from_file = !path.empty();
  c.koordinators = flags.get_bool("koordinator-semantics");
  json::LineMap lines;
  if (c.from_file) {
    auto read = runtime::load_config<scheduling::KubeSchedulerConfiguration>(path, &lines);
    if (!read) return std::move(read).error();
    c.config = std::move(*read);
  } else {
    c.config = scheduling::own_defaults();
    if (flags.changed("scheduler-names")) name_profiles(c.config, flags.get_list("scheduler-names"));
  }
  auto named = [&](Error error) {
    return c.from_file ? runtime::located(error, path, lines) : std::move(error);
  };
  if (auto done = scheduling::finish(c, scheduling::plugin_table(), gates); !done)
    return named(std::move(done).error());
  if (!c.from_file) {
    // Without a file there is no client-side limit but what is asked for.
    c.config.client_connection.qps = flags.get_real("kube-api-qps");
    c.config.client_connection.burst = static_cast<std::int32_t>(flags.get_int("kube-api-burst"));
  }
  runtime::apply_flags(flags, c.config.leader_election);
  if (auto valid = validate(c.config, scheduling::plugin_table()); !valid)
    return named(std::move(valid).error());
  return c;
}

}  // namespace koord::scheduler
