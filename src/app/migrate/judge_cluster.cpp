// Webhooks, objects and nodes, and the order of the swap: see judge.hpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "migrate/judge.hpp"
#include "roles/manager/judged.hpp"

namespace koord::app::migrate {

namespace {

constexpr std::int64_t kLongWait = 10;  // seconds that creating a pod may hang on a manager that is gone

bool runs(const Facts& facts, std::string_view role) {
  return std::ranges::any_of(
      facts.programs, [&](const Program& program) { return program.role == role && !program.is_koord; });
}

bool through_proxy(const NodeGroup& group) {
  return group.runtime_endpoint.find("koord-runtimeproxy") != std::string::npos ||
         group.runtime_endpoint.find("runtimeproxy.sock") != std::string::npos;
}

/// "containerd://1.7.2": 1 and 7.
std::array<int, 2> version_of(std::string_view runtime) {
  std::array<int, 2> numbers = {-1, -1};
  const auto slashes = runtime.find("://");
  std::string_view text = slashes == std::string_view::npos ? runtime : runtime.substr(slashes + 3);
  if (text.starts_with('v')) text.remove_prefix(1);
  (void)std::from_chars(text.data(), text.data() + text.size(), numbers[0]);
  const auto dot = text.find('.');
  if (dot != std::string_view::npos)
    (void)std::from_chars(text.data() + dot + 1, text.data() + text.size(), numbers[1]);
  return numbers;
}

void judge_runtime(const NodeGroup& group, const std::string& about, Findings& findings) {
  const auto [major, minor] = version_of(group.runtime);
  if (through_proxy(group))
    findings.push_back(
        {Verdict::same, about,
         fmt::format("its kubelet goes through a CRI proxy ({}): koord --role=proxy serves the "
                     "same socket; swap it with the node drained, or while no pod starts",
                     group.runtime_endpoint)});
  else if (!group.runtime.starts_with("containerd://"))
    findings.push_back({Verdict::unknown, about,
                        fmt::format("{}: NRI was tried with containerd alone; without it new containers get "
                                    "their values from the reconciler, after they have started",
                                    group.runtime)});
  else if (major >= 2)
    findings.push_back({Verdict::same, about, fmt::format("{} has NRI, on by itself", group.runtime)});
  else if (major == 1 && minor >= 7)
    findings.push_back({Verdict::unknown, about,
                        fmt::format("{} has NRI where its configuration switches it on, which cannot be seen "
                                    "from here",
                                    group.runtime)});
  else
    findings.push_back({Verdict::not_at_all, about,
                        fmt::format("{} has no NRI: new containers get their values from the reconciler, "
                                    "after they have started, or by a CRI proxy",
                                    group.runtime)});
}

}  // namespace

void judge_webhooks(const Facts& facts, Findings& findings) {
  for (const Webhook& hook : facts.webhooks) {
    const std::string_view gate = manager::gate_of_webhook(hook.path);
    if (gate.empty()) {
      findings.push_back({Verdict::not_at_all, hook.configuration,
                          fmt::format("{}: koord's manager does not serve {}, and takes the entry out",
                                      hook.name, hook.path)});
      continue;
    }
    findings.push_back({Verdict::same, hook.configuration,
                        fmt::format("{}: {} is served, with the gate {}", hook.name, hook.path, gate)});
    if (hook.failure_policy == "Fail" || hook.timeout_seconds > kLongWait)
      findings.push_back(
          {Verdict::better, hook.configuration,
           fmt::format(
               "{}: failurePolicy {} and {} s stay as they are; the configurations of koord's chart and "
               "manifests say Ignore and 3 s",
               hook.name, hook.failure_policy, hook.timeout_seconds)});
  }
}

void judge_kinds(const Facts& facts, Findings& findings) {
  for (const Kind& kind : facts.kinds) {
    const std::string count = fmt::format("{}{}", kind.more ? "more than " : "", kind.objects);
    if (!kind.unreadable.empty())
      findings.push_back({Verdict::unknown, kind.name, kind.unreadable});
    else if (!kind.known)
      findings.push_back(
          {Verdict::not_at_all, kind.name,
           fmt::format("koord reads none of them ({} objects); they stay as they are", count)});
    else
      findings.push_back(
          {Verdict::same, kind.name, fmt::format("{} objects, version {}", count, kind.version)});
    for (const std::string& lack : kind.lacks) findings.push_back({Verdict::in_the_way, kind.name, lack});
    for (const std::string& bad : kind.bad)
      findings.push_back({Verdict::in_the_way, kind.name,
                          fmt::format("{}: koord passes it over until it can be read", bad)});
  }
}

void judge_nodes(const Facts& facts, Findings& findings) {
  for (const NodeGroup& group : facts.nodes) {
    const std::string about =
        fmt::format("{} nodes ({}{})", group.nodes, fmt::join(group.names, ", "),
                    static_cast<std::int64_t>(group.names.size()) < group.nodes ? ", ..." : "");
    if (group.os != "linux" || (group.architecture != "amd64" && group.architecture != "arm64"))
      findings.push_back({Verdict::not_at_all, about,
                          fmt::format("{}/{}: koord has no build for it", group.os, group.architecture)});
    judge_runtime(group, about, findings);
    if (!group.unreadable.empty())
      findings.push_back({Verdict::unknown, about,
                          fmt::format("the kubelet's configuration cannot be read: {}", group.unreadable)});
    else if (!group.asked.empty())
      findings.push_back(
          {Verdict::same, about,
           fmt::format("kubelet {} of {}: cgroup driver {}, CPU manager {}, topology manager {}",
                       group.kubelet, group.asked, group.cgroup_driver, group.cpu_manager,
                       group.topology_manager)});
  }
}

std::vector<Step> order_of(const Facts& facts) {
  struct Row {
    std::string_view role, text;
  };
  constexpr Row kRows[] = {
      {"manager",
       "manager: its Deployment gets koord's image. Both follow the same lease and the same ConfigMap: one "
       "leads at a time, and nodes keep what they lend meanwhile"},
      {"scheduler",
       "scheduler: its Deployment gets koord's image, with the configuration that it has. Both follow the "
       "same "
       "lease; what is bound stays, and what waits is read anew"},
      {"descheduler", "descheduler: its Deployment gets koord's image; migrations that are under way go on"},
      {"device-daemon", "device daemon: its DaemonSet gets koord's image"},
      {"koordlet",
       "koordlet: its DaemonSet gets koord's image, node by node (RollingUpdate with maxUnavailable, never "
       "maxSurge): an agent that finds another one on its node ends and says who"},
      {"proxy",
       "runtime proxy: on each node, while no pod starts there, koord --role=proxy on the same socket"},
  };
  std::vector<Step> steps;
  if (facts.programs.empty()) return steps;
  steps.push_back({"",
                   "definitions: koord crds | kubectl apply --server-side --force-conflicts -f -; those of "
                   "v1.8 and koord's take each other's objects"});
  const bool proxy = std::ranges::any_of(facts.nodes, through_proxy);
  for (const Row& row : kRows)
    if (runs(facts, row.role) || (row.role == "proxy" && proxy))
      steps.push_back({std::string(row.role), std::string(row.text)});
  steps.push_back({"",
                   "the way back is the same in reverse, but for the agent: its DaemonSet is deleted, "
                   "manifests/cleanup/10-koordlet.yaml applied, waited for and deleted, and then the "
                   "original's DaemonSet is applied; a change of its image would leave on each node what "
                   "koord's agent held back"});
  return steps;
}

Report judge(const Facts& facts, const Tables& tables) {
  Report report;
  report.server = facts.server;
  report.kubernetes = facts.kubernetes;
  Findings& findings = report.findings;
  if (facts.programs.empty())
    findings.push_back(
        {Verdict::unknown, "cluster", "no Deployment or DaemonSet runs a program of Koordinator's"});
  for (const Program& program : facts.programs) judge_program(program, tables, findings);
  for (const Program& program : facts.programs) {
    const auto twin = std::ranges::find_if(facts.programs, [&](const Program& other) {
      return other.role == program.role && !other.role.empty() && other.is_koord && !program.is_koord;
    });
    if (twin == facts.programs.end()) continue;
    const bool node = program.role == "koordlet" || program.role == "device-daemon";
    findings.push_back(
        {node ? Verdict::in_the_way : Verdict::unknown, program.workload,
         fmt::format("{} runs the same role as koord: {}", twin->workload,
                     node ? "of two agents on a node the second one ends; select other nodes for each"
                          : "one of them leads where both have the same lease, else both write")});
  }
  judge_configuration(facts, findings);
  judge_webhooks(facts, findings);
  judge_kinds(facts, findings);
  judge_nodes(facts, findings);
  for (const std::string& what : facts.unreadable) findings.push_back({Verdict::unknown, "cluster", what});
  report.steps = order_of(facts);
  return report;
}

}  // namespace koord::app::migrate
