// `koord sandbox`: flags, and the order in which API server, roles and load come to life and end.
#include "sandbox_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "koord/async/timer.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/informer.hpp"
#include "koord/runtime/command_output.hpp"
#include "koord/runtime/event_loop.hpp"
#include "koord/runtime/kube_clients.hpp"
#include "koord/runtime/role_host.hpp"
#include "koord/sandbox/sandbox.hpp"
#include "koord/view/page/page.hpp"
#include "process_metrics.hpp"

namespace koord::app {
namespace {

using runtime::Flag;
using runtime::FlagType;

constexpr std::array kOwnFlags = {
    Flag{"nodes", FlagType::integer, "3", "Simulated nodes made at the start."},
    Flag{"node-capacity", FlagType::text, "",
         "Their capacity: cpu=32,memory=128Gi,pods=110,nvidia.com/gpu=8."},
    Flag{"node-file", FlagType::text, "", "A manifest of Nodes that the simulated ones copy in turn."},
    Flag{"load", FlagType::list, "", "Manifests (YAML or JSON) to create, in this order: --load FILE..."},
    Flag{"kubeconfig", FlagType::text, "", "Where to write a kubeconfig for this cluster (0600)."},
    Flag{"address", FlagType::text, "127.0.0.1", "The address to serve on."},
    Flag{"port", FlagType::integer, "0", "The port to serve on; 0 is any free one."},
    Flag{"roles", FlagType::list, "scheduler", "The roles to run on it, in this process; empty runs none."},
    Flag{"until-idle", FlagType::boolean, "false",
         "End when nothing but leases, events and NodeMetrics has changed for --idle-after, with a summary."},
    Flag{"idle-after", FlagType::duration, "3s", "See --until-idle."},
    Flag{"summary", FlagType::text, "text", "The summary at the end: text, json or none."},
    Flag{"progress", FlagType::boolean, "false",
         "Say once a second how far it is, on stderr. On a terminal a bar shows it while pods wait in any "
         "case."},
    Flag{"pod-start-delay", FlagType::duration, "100ms", "From binding a pod to its running."},
    Flag{"pod-stop-delay", FlagType::duration, "100ms", "From deleting a pod to its end."},
    Flag{"trace", FlagType::text, "",
         "Machines' usage over time (machine,seconds,CPU %,memory %,...): each node gets a simulated agent "
         "that "
         "plays one of them, writes its NodeMetric and holds best-effort pods back."},
    Flag{"trace-speed", FlagType::real, "1",
         "Seconds of the trace in one. Averages and cool times are the trace's, timestamps are real."},
    Flag{"agent-report-interval", FlagType::duration, "0s",
         "How often the simulated agents report; 0s: as the NodeMetrics say, 30s at least."},
    Flag{"seed", FlagType::integer, "0", "Of names and uids; 0 is by chance."},
    Flag{"feature-gates", FlagType::pairs, "", "Feature gates of the roles."},
    Flag{"v", FlagType::integer, "0", "How much to log.", 'v'},
    Flag{"help", FlagType::boolean, "false", "Print this and exit.", 'h'},
};
constexpr auto kFlags = runtime::join_flags(kOwnFlags, view::kPageFlags);

std::chrono::milliseconds milliseconds(nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

Result<sandbox::SandboxOptions> options(const runtime::FlagValues& flags) {
  sandbox::SandboxOptions out;
  const std::int64_t port = flags.get_int("port"), nodes = flags.get_int("nodes");
  if (port < 0 || port > 65535) return Error(Code::invalid, "--port: not between 0 and 65535");
  if (nodes < 0 || nodes > 100'000) return Error(Code::invalid, "--nodes: not between 0 and 100000");
  const std::string& summary = flags.get("summary");
  if (summary != "text" && summary != "json" && summary != "none")
    return Error(Code::invalid, fmt::format("--summary: \"{}\" is not text, json or none", summary));
  out.address = flags.get("address");
  out.port = static_cast<std::uint16_t>(port);
  out.nodes = static_cast<int>(nodes);
  out.node_capacity = flags.get("node-capacity");
  out.node_file = flags.get("node-file");
  out.load = flags.get_list("load");
  out.idle_after = milliseconds(flags.get_duration("idle-after"));
  out.pod_start_delay = milliseconds(flags.get_duration("pod-start-delay"));
  out.pod_stop_delay = milliseconds(flags.get_duration("pod-stop-delay"));
  out.trace = flags.get("trace");
  out.trace_speed = flags.get_real("trace-speed");
  if (!(out.trace_speed > 0 && out.trace_speed <= 100'000))
    return Error(Code::invalid, "--trace-speed: not above 0 and at most 100000");
  out.report_interval = milliseconds(flags.get_duration("agent-report-interval"));
  if (out.report_interval.count() != 0 && out.report_interval < std::chrono::milliseconds(100))
    return Error(Code::invalid, "--agent-report-interval: not 0s or at least 100ms");
  out.seed = static_cast<std::uint64_t>(flags.get_int("seed"));
  return out;
}

// The roles' ports are off, nobody else is there to elect or to serve pods without a schedulerName: several
// sandboxes may run side by side. What the user writes comes later and wins.
std::vector<std::string> with_defaults(std::span<const std::string> arguments,
                                       const std::vector<const runtime::RoleDescriptor*>& roles) {
  std::vector<std::string> all;
  for (const runtime::RoleDescriptor* role : roles) {
    const std::string prefix = fmt::format("--{}.", role->name);
    for (const runtime::PortFlag& port : role->ports) all.push_back(fmt::format("{}{}=0", prefix, port.port));
    for (const Flag& flag : role->flags) {
      if (flag.name == "webhook-port") all.push_back(fmt::format("{}webhook-port=0", prefix));
      if (flag.name == "leader-elect") all.push_back(fmt::format("{}leader-elect=false", prefix));
      if (flag.name == "scheduler-names")
        all.push_back(fmt::format("{}scheduler-names=default-scheduler,koord-scheduler", prefix));
    }
  }
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

std::vector<std::string> wanted_roles(std::span<const std::string> arguments) {
  std::string list = "scheduler";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with("--roles=")) list = arguments[i].substr(8);
    if (arguments[i] == "--roles" && i + 1 < arguments.size()) list = arguments[i + 1];
  }
  std::vector<std::string> names;
  for (std::size_t at = 0; !list.empty() && at <= list.size();) {
    const auto comma = std::min(list.find(',', at), list.size());
    names.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return names;
}

// `--load A B C`: shells expand *.yaml to that.
std::vector<std::string> with_every_load(std::vector<std::string> arguments) {
  bool loading = false;
  for (std::string& argument : arguments) {
    const bool is_flag = argument.starts_with('-');
    if (loading && !is_flag) argument.insert(0, "--load=");
    if (is_flag) loading = argument == "--load";
  }
  std::erase(arguments, "--load");
  return arguments;
}

class SandboxProcess {
 public:
  SandboxProcess(const runtime::CommandLine& line, sandbox::SandboxOptions options,
                 std::vector<const runtime::RoleDescriptor*> roles, Streams streams)
      : line_(line),
        roles_(std::move(roles)),
        streams_(streams),
        nodes_(options.nodes),
        loop_(static_cast<int>(line.process.get_int("v"))),
        sandbox_(loop_.executor(), loop_.clock(), std::move(options)),
        informers_(loop_.executor(), loop_.clock(), loop_.log()),
        host_({loop_.executor(), loop_.clock(), loop_.workers(), loop_.log(), informers_, version(),
               [this](std::string user_agent, metrics::Registry& metrics) {
                 return clients(std::move(user_agent), metrics);
               },
               [this](metrics::Registry& metrics) { process_metrics_.add_to(metrics); }}) {}

  int run() {
    return loop_.run([this] { return live(); }, [this] { return stop(); });
  }

 private:
  std::unique_ptr<runtime::ClientFactory> clients(std::string user_agent, metrics::Registry& metrics) {
    auto config = [this](const std::string& kubeconfig) -> Result<kube::ClientConfig> {
      if (!kubeconfig.empty()) return kube::load_kubeconfig(kubeconfig);
      kube::ClientConfig own;
      own.server = sandbox_.url();
      own.token = sandbox_.token();
      own.ca_pem = sandbox_.ca_pem();
      return own;
    };
    return std::make_unique<runtime::KubeClients>(loop_.executor(), loop_.clock(), std::move(config),
                                                  std::move(user_agent), metrics);
  }

  Task<> live() {
    const Result<> begun = co_await begin();
    begun_ = begun.has_value();
    if (begun) co_return;
    fail(begun.error());
    loop_.end(kFailed);
  }

  Task<> stop() {
    co_await page_tasks_.stop(loop_.clock(), std::chrono::seconds{1});
    if (page_) co_await page_->stop();
    co_await host_.stop(std::chrono::seconds{10});
    if (host_.left_behind()) loop_.leave_behind();
    co_await writers_.stop(loop_.clock(), std::chrono::seconds{1});
    bar_.clear();
    if (begun_) print_summary();
    co_await sandbox_.stop();
  }

  Task<Result<>> begin() {
    KOORD_CO_CHECK(co_await sandbox_.start());
    const std::string& kubeconfig = line_.process.get("kubeconfig");
    if (!kubeconfig.empty()) KOORD_CO_CHECK(sandbox_.write_kubeconfig(kubeconfig));
    KOORD_CO_CHECK(host_.add(roles_, line_));
    KOORD_CO_CHECK(open_page());
    loop_.allow_longer(std::chrono::ceil<std::chrono::milliseconds>(host_.shutdown_delay()));
    loop_.tasks().spawn("roles", roles());
    streams_.out << "sandbox ready url=" << sandbox_.url() << " nodes=" << nodes_;
    if (!kubeconfig.empty()) streams_.out << " kubeconfig=" << kubeconfig;
    if (page_) streams_.out << " ui=" << page_->url();
    streams_.out << " (in memory, for trying and testing, not for production)" << std::endl;
    writers_.spawn("load", load());
    if (terminal_ || line_.process.get_bool("progress")) writers_.spawn("progress", show_progress());
    co_return Result<>();
  }

  Result<> open_page() {
    page_clients_ = clients(fmt::format("koord-ui/{}", version()), page_metrics_);
    KOORD_TRY(client, page_clients_->client({}));
    KOORD_TRY(page, view::Page::make(line_.process,
                                     {loop_.executor(), loop_.clock(), loop_.log(), *client, informers_}));
    page_ = std::move(page);
    return page_ ? page_->open(page_tasks_) : Result<>();
  }

  Task<> show_progress() {
    for (;;) {
      const sandbox::Progress before = shown_;
      const Result<> slept = co_await sleep(loop_.clock(), std::chrono::seconds{1});
      if (!slept) co_return;
      shown_ = sandbox_.progress();
      if (shown_ != before) print_progress(shown_.bound - before.bound);
    }
  }

  // A bar on a terminal, as long as there is something to wait for; a line each elsewhere.
  void print_progress(std::uint64_t rate) {
    const std::string nodes = fmt::format("nodes {}/{} ready, pods", shown_.ready_nodes, shown_.nodes);
    if (!terminal_) {
      streams_.err << nodes
                   << fmt::format(" {}: {} bound, {} pending, {} bound/s\n", shown_.pods, shown_.bound,
                                  shown_.pending, rate)
                   << std::flush;
      return;
    }
    if (shown_.pending == 0 && shown_.ready_nodes == shown_.nodes) return bar_.clear();
    bar_.show(fmt::format("{} bound ({}/s)", nodes, rate),
              shown_.pods - std::min(shown_.pending, shown_.pods), shown_.pods);
  }

  Task<> load() {
    const Result<> loaded = co_await sandbox_.load();
    if (!loaded) co_return fail(loaded.error());
    if (!line_.process.get_bool("until-idle")) co_return;
    const Result<> idle = co_await sandbox_.until_idle();
    if (!idle) co_return fail(idle.error());
    loop_.end(kOk);
  }

  Task<> roles() {
    const Result<> result = co_await host_.run();
    if (!result) co_return fail(result.error());
    loop_.end(kOk);
  }

  void fail(const Error& error) {
    if (error.code() == Code::cancelled) return;
    streams_.err << "koord: sandbox: " << error.message() << std::endl;
    loop_.end(kFailed);
  }

  void print_summary() {
    const std::string& form = line_.process.get("summary");
    if (form == "text") streams_.out << sandbox_.summary_text();
    if (form == "json") streams_.out << sandbox_.summary_json() << "\n";
    streams_.out << std::flush;
  }

  const runtime::CommandLine& line_;
  std::vector<const runtime::RoleDescriptor*> roles_;
  Streams streams_;
  int nodes_;
  runtime::EventLoop loop_;
  ProcessMetrics process_metrics_{loop_.sink(), loop_.clock()};
  sandbox::Sandbox sandbox_;
  metrics::Registry page_metrics_;
  std::unique_ptr<runtime::ClientFactory> page_clients_;
  kube::InformerSet informers_;
  std::unique_ptr<view::Page> page_;  // null: --ui is off
  runtime::RoleHost host_;
  TaskGroup page_tasks_{loop_.executor(), log_failures(loop_.log())};
  TaskGroup writers_{loop_.executor(), log_failures(loop_.log())};  // of this process's two streams
  sandbox::Progress shown_;
  const bool terminal_ = runtime::ProgressBar::on_terminal();
  runtime::ProgressBar bar_{streams_.err, terminal_};
  bool begun_ = false;
};

}  // namespace

int run_sandbox(std::span<const std::string> arguments, std::span<const runtime::RoleDescriptor* const> all,
                Streams streams) {
  for (const std::string& argument : arguments) {
    if (argument != "--help" && argument != "-h") continue;
    streams.out
        << "koord sandbox: a Kubernetes API in memory on loopback, with simulated nodes.\n"
           "For trying koord, for tests and simulation; not for production. Nothing runs on the nodes:\n"
           "what --trace reports was never measured there.\n\n"
        << runtime::flags_help(kFlags)
        << "\nA role's flags are written --ROLE.NAME; its ports are off unless given.\n";
    return kOk;
  }
  auto usage_error = [&](const Error& error) {
    streams.err << "koord: sandbox: " << error.message() << "\n";
    return kUsage;
  };
  const auto roles = choose_roles(wanted_roles(arguments), all);
  if (!roles) return usage_error(roles.error());
  std::vector<runtime::FlagOwner> owners;
  for (const runtime::RoleDescriptor* role : *roles)
    owners.push_back({role->name, role->flags, role->single_dash});
  const auto line =
      runtime::parse_flags(with_every_load(with_defaults(arguments, *roles)), {"", kFlags}, owners);
  if (!line) return usage_error(line.error());
  auto chosen = options(line->process);
  if (!chosen) return usage_error(chosen.error());
  return SandboxProcess(*line, std::move(*chosen), *roles, streams).run();
}

}  // namespace koord::app
