// The node agent as a role: what it needs of the host and of the process.
#include "role.hpp"

#include <fmt/format.h>

#include "collectors.hpp"
#include "koord/base/log.hpp"
#include "koord/base/system.hpp"
#include "koord/host/file.hpp"
#include "koord/host/text.hpp"
#include "koord/kube/config.hpp"
#include "lifecycle/stand_by.hpp"
#include "plugins.hpp"
#include "setup/agent.hpp"
#include "setup/docs.hpp"
#include "setup/flags.hpp"
#include "setup/gates.hpp"
#include "setup/metrics.hpp"
#include "setup/rights.hpp"
#include "setup/state_dirs.hpp"
#include "top/command.hpp"
#include "top/listings.hpp"

namespace koord::koordlet {

namespace {

/// Needed by nothing else, so that a node without it has a reason in the log and no failure.
KernelCounters open_counters(const runtime::RoleContext& context, const Agent::Parts& parts) {
  KernelCounters counters;
  if (context.gates.enabled("CPICollector")) {
    auto events = host::PerfEvents::open(host::kCyclesAndInstructions);
    if (events)
      counters.cpi = std::move(*events);
    else
      counters.no_cpi = events.error().message();
    if (context.gates.enabled("Libpfm4"))
      context.log.info("Libpfm4: cycles and instructions are counted as a group without that library");
  }
  if (!context.flags.get_bool("run-queue-latency")) {
    counters.no_run_queue = counters.no_blame = counters.no_stalls =
        "switched off by --run-queue-latency=false";
    return counters;
  }
  const host::Root& root = parts.place.root;
  const host::CgroupVersion version = parts.cgroups.version();
  if (context.gates.enabled("BECPUBlame")) {
    auto both = host::RunQueueLatency::open(root, version, true);
    if (both) {
      counters.run_queue = std::move(*both);
      counters.blame = counters.run_queue->blame();
      auto stalls = counters.blame->open_stalls(root, version);
      if (stalls)
        counters.stalls = std::move(*stalls);
      else
        counters.no_stalls = stalls.error().message();
      return counters;
    }
    counters.no_blame = counters.no_stalls = both.error().message();
  }
  auto opened = host::RunQueueLatency::open(root, version);
  if (opened)
    counters.run_queue = std::move(*opened);
  else
    counters.no_run_queue = opened.error().message();
  return counters;
}

Result<runtime::ClientSettings> client_settings(const runtime::FlagValues& flags) {
  runtime::ClientSettings settings;
  settings.qps = flags.get_real("kube-api-qps");
  settings.burst = static_cast<int>(flags.get_int("kube-api-burst"));
  if (settings.qps < 0) return Error(Code::invalid, "--kube-api-qps: below 0");
  for (const char* name : {"kubelet-sync-interval", "kubelet-sync-timeout"})
    if (flags.get_duration(name) < std::chrono::milliseconds(100))
      return Error(Code::invalid, fmt::format("--{}: at least 100ms", name));
  const std::int64_t port = flags.get_int("kubelet-read-only-port");
  if (port < 1 || port > 65535)
    return Error(Code::invalid, "--kubelet-read-only-port: not between 1 and 65535");
  return settings;
}

Result<std::unique_ptr<runtime::Role>> make(runtime::RoleContext& context) {
  KOORD_TRY(place, read_place(context.flags, environment));
  const bool standalone = !context.flags.get("standalone-config").empty();
  const bool cleanup = context.flags.get_bool("cleanup");
  if (place.node_name.empty() && (standalone || cleanup)) place.node_name = host_name();
  if (place.node_name.empty())
    return Error(Code::invalid,
                 "the node's name is not known: set NODE_NAME in the environment, or --node-name");
  std::string boot_id;
  if (const auto id = read_file(fmt::format("{}sys/kernel/random/boot_id", place.root.proc)))
    boot_id = host::trimmed(*id);
  if (context.flags.get("cleanup") == "undo")
    return undo_role(context, find_state_dirs(context.flags, place));
  if (!cleanup)
    if (auto standing = must_stand_by(find_state_dirs(context.flags, place), boot_id, context.log)) {
      kube::Client* client = nullptr;  // without it no event says so
      if (!standalone)
        if (const auto settings = client_settings(context.flags))
          if (const auto made = context.clients.client(*settings)) client = *made;
      return stand_by_role(context, client, std::move(*standing), std::move(boot_id), place.node_name);
    }
  auto cgroups = host::CgroupFs::open(place.root, place.cgroup_version);
  if (!cgroups) {
    const std::string why = fmt::format("cgroups: {}", cgroups.error().message());
    if (place.root.cgroup != host::Root::daemon_set_mode().cgroup) return Error(cgroups.error().code(), why);
    return Error(
        cgroups.error().code(),
        why +
            " (where a DaemonSet's pod has the host's: mount it, as packaging/manifests does, or set "
            "--cgroup-root-dir)");
  }
  Agent::Parts parts{.place = std::move(place), .cgroups = std::move(*cgroups)};
  if (auto facts = read_node_facts(parts.place.root, context.gates.enabled("HugePageReport")))
    parts.facts = std::make_shared<const NodeFacts>(std::move(*facts));
  else
    context.log.warn("the CPU topology cannot be read: it is read again later", kv("error", facts.error()));
  parts.boot_id = std::move(boot_id);
  if (cleanup) {
    parts.counters.no_run_queue = parts.counters.no_blame = parts.counters.no_stalls = "cleaning up";
  } else {
    parts.counters = open_counters(context, parts);
  }
  if (!standalone) {
    KOORD_TRY(settings, client_settings(context.flags));
    auto client = context.clients.client(settings);
    if (!client && !cleanup) return std::move(client).error();
    if (client) {
      parts.client = *client;
      parts.credentials = [&clients = context.clients, settings] { return clients.config(settings); };
    } else {
      context.log.warn("the node's pods cannot be asked for", kv("error", client.error()));
    }
  }
  parts.strategies = strategy_table();
  parts.collectors = collector_table();
  KOORD_TRY(agent, Agent::make(context, std::move(parts)));
  return std::unique_ptr<runtime::Role>(std::move(agent));
}

constexpr std::array<runtime::RoleCommand, 6> kCommands = {
    {{"top", "what the node agent, or with --cluster a cluster, uses and does, as a live table", &run_top},
     {"nodes", "what each node of a cluster uses, lends and is asked for", &run_nodes},
     {"lent", "what nodes lend to batch pods, and who has it", &run_lent},
     {"quota", "quotas: what they have and may have, and who waits for them", &run_quota},
     {"gangs", "gangs: members there, placed and waiting, and why", &run_gangs},
     {"reservations", "reservations: where they keep room, and who has it", &run_reservations}}};
constexpr std::array<runtime::PortFlag, 1> kPorts = {{{"addr", "", false, "cleanup"}}};

}  // namespace

const runtime::RoleDescriptor& role() {
  static const std::vector<metrics::Table> kMetrics = metric_tables(strategy_table(), collector_table());
  static const runtime::RoleDescriptor kRole{
      .name = "koordlet",
      .summary = "The node agent: measures the node, reports it, keeps latency-sensitive work safe.",
      .flags = flags(),
      .gates = gates(),
      .ports = kPorts,
      .commands = kCommands,
      .single_dash = true,
      .make = &make,
      .metrics = kMetrics,
      .docs = [] { return docs(strategy_table(), collector_table()); },
      .account = "koordlet",
      .rights = rights(),
  };
  return kRole;
}

}  // namespace koord::koordlet
