// `koord migrate check`: reads once, says it, ends.
#include "migrate_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <ostream>

#include "app.hpp"
#include "called_as.hpp"
#include "koord/api/values/time.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/runtime/command_cluster.hpp"
#include "koord/runtime/command_flags.hpp"
#include "koord/runtime/command_output.hpp"
#include "koord/runtime/flags.hpp"
#include "migrate/cluster_reader.hpp"
#include "migrate/judge.hpp"

namespace koord::app {
namespace {

using runtime::Flag;
using runtime::FlagType;
using Roles = std::span<const runtime::RoleDescriptor* const>;

constexpr std::array kOwnFlags = {
    Flag{"kubelets", FlagType::integer, "5",
         "How many kubelets are asked for their configuration, one of each sort of node; 0: none."},
    Flag{"all", FlagType::boolean, "false", "Print each line of what is the same, too."},
    Flag{"timeout", FlagType::duration, "2m", "How long it reads the cluster before it gives up."},
    Flag{"output", FlagType::text, "text", "text or json.", 'o'},
    Flag{"quiet", FlagType::boolean, "false", "No progress bar on stderr, which terminals have.", 'q'},
    Flag{"help", FlagType::boolean, "false", "Print this and exit.", 'h'},
};
constexpr auto kFlags = runtime::join_flags(kOwnFlags, runtime::kClusterFlags);

constexpr std::string_view kHelp =
    "koord migrate check [flags]: reads a cluster that runs Koordinator (its workloads' flags and gates,\n"
    "ConfigMaps, webhooks, definitions and objects, nodes and kubelets) and says line by line what koord "
    "will\n"
    "do the same, better or not at all, and in which order to swap the roles. It writes nothing.\n"
    "Exit code 0: nothing stands in the way; 1: something does; 2: the cluster could not be read.\n\n";

/// Of a program by what it is called, unless its command line names roles itself.
std::string role_of(std::string_view program, std::span<const std::string> line) {
  if (const std::vector<std::string> roles = named_roles(line); roles.size() == 1) return roles.front();
  for (const ProgramName& name : program_names())
    if (name.name == program) return std::string(name.role);
  return "";
}

class Check {
 public:
  Check(const runtime::FlagValues& flags, Roles roles, Streams streams)
      : flags_(flags),
        roles_(roles),
        streams_(streams),
        clock_(loop_.get_executor()),
        bar_(streams.err, runtime::ProgressBar::on_terminal() && !flags.get_bool("quiet")) {}

  int run() {
    auto config = runtime::command_config(flags_, "migrate");
    if (!config) return fail(config.error());
    config_ = std::move(*config);
    auto made = migrate::ClusterReader::make(
        loop_.get_executor(), clock_,
        {.config = config_,
         .kubelets = static_cast<std::size_t>(flags_.get_int("kubelets")),
         .role_of = &role_of,
         .progress = [this](std::string_view what, std::size_t done, std::size_t all) {
           doing_ = what;
           bar_.show(what, done, all);
         }});
    if (!made) return fail(made.error());
    reader_ = std::move(*made);
    TaskGroup tasks(loop_.get_executor());
    tasks.spawn("check", check());
    while (tasks.size() > 0) loop_.run_one();
    return code_;
  }

 private:
  int fail(const Error& error) {
    bar_.clear();
    streams_.err << "koord: migrate: " << runtime::cleaned(std::string(error.message())) << std::endl;
    return code_ = kUsage;
  }

  Task<> check() {
    const nanoseconds patience = flags_.get_duration("timeout");
    auto facts = co_await with_timeout(clock_, patience, reader_->read());
    if (!facts && facts.error().code() == Code::timeout && clock_.mono() - began_ >= patience)
      facts = Error(Code::timeout, fmt::format("not read within {} (--timeout): {}",
                                               api::Duration(patience).to_string(), doing_));
    if (!facts) {
      fail(runtime::at_server(config_, facts.error()));
      co_return;
    }
    bar_.clear();
    const migrate::Report report = migrate::judge(*facts, {roles_, process_flags()});
    streams_.out << (flags_.get("output") == "json" ? migrate::render_json(report)
                                                    : migrate::render(report, flags_.get_bool("all")))
                 << std::flush;
    code_ = report.in_the_way() ? kFailed : kOk;
  }

  const runtime::FlagValues& flags_;
  Roles roles_;
  Streams streams_;
  boost::asio::io_context loop_{1};
  SystemClock clock_;
  const MonoTime began_ = clock_.mono();
  std::string doing_ = "the API server says nothing";
  runtime::ProgressBar bar_;
  kube::ClientConfig config_;
  std::unique_ptr<migrate::ClusterReader> reader_;
  int code_ = kOk;
};

}  // namespace

int run_migrate(std::span<const std::string> arguments, std::span<const runtime::RoleDescriptor* const> roles,
                Streams streams) {
  const auto usage = [&](std::string_view what) {
    streams.err << "koord: migrate: " << what << "\n";
    return kUsage;
  };
  for (const std::string& argument : arguments)
    if (argument == "--help" || argument == "-h") {
      streams.out << kHelp << runtime::flags_help(kFlags);
      return kOk;
    }
  if (arguments.empty() || arguments[0] != "check")
    return usage("it has one verb: koord migrate check --kubeconfig=FILE");
  const auto line = runtime::parse_flags(arguments.subspan(1), {"", kFlags}, {});
  if (!line) return usage(line.error().message());
  const runtime::FlagValues& flags = line->process;
  if (const std::string& form = flags.get("output"); form != "text" && form != "json")
    return usage(fmt::format("--output: \"{}\" is neither text nor json", form));
  if (const auto count = flags.get_int("kubelets"); count < 0 || count > 50)
    return usage(fmt::format("--kubelets: {} is not between 0 and 50", count));
  if (flags.get_duration("timeout") < std::chrono::seconds(1)) return usage("--timeout: at least 1s");
  return Check(flags, roles, streams).run();
}

}  // namespace koord::app
