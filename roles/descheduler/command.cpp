// `koord deschedule`: the role itself on a client that only reads, for one pass; prints the pass's report.
#include "command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <ostream>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/async/event.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/file.hpp"
#include "koord/base/version.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/informer.hpp"
#include "koord/runtime/command_cluster.hpp"
#include "koord/runtime/command_flags.hpp"
#include "koord/runtime/command_output.hpp"
#include "options/flags.hpp"
#include "rehearsal/read_only.hpp"
#include "rehearsal/report_text.hpp"
#include "role.hpp"

namespace koord::descheduler {
namespace {

using namespace runtime;
using rehearsal::ReadOnlyClients;

constexpr std::string_view kConfigNamespace = "koordinator-system", kConfigName = "koord-descheduler-config";

constexpr std::array kOwnFlags = {
    Flag{"dry-run", FlagType::boolean, "false",
         "Must be given: this command changes nothing, and says so. What evicts is the role."},
    Flag{"config", FlagType::text, "",
         "A DeschedulerConfiguration; empty: the cluster's own, in the ConfigMap "
         "koordinator-system/koord-descheduler-config."},
    Flag{"node-fit", FlagType::text, "scheduler", "As the descheduler's flag of this name."},
    Flag{"scheduler-config", FlagType::text, "", "As the descheduler's flag of this name."},
    Flag{"scheduler-feature-gates", FlagType::text, "", "As the descheduler's flag of this name."},
    Flag{"feature-gates", FlagType::text, "", "As the descheduler's flag of this name."},
    Flag{"timeout", FlagType::duration, "2m",
         "How long it reads the cluster before it gives up and says what it waits for."},
    Flag{"output", FlagType::text, "text", "text or json.", 'o'},
    Flag{"quiet", FlagType::boolean, "false", "No progress bar on stderr, which terminals have.", 'q'},
    Flag{"help", FlagType::boolean, "false", "Print this and exit.", 'h'},
};
constexpr auto kCommandFlags = join_flags(kOwnFlags, kClusterFlags);
/// Which the role takes, too.
constexpr std::array<std::string_view, 4> kPassedOn = {"config", "node-fit", "scheduler-config",
                                                       "scheduler-feature-gates"};

constexpr std::string_view kHelp =
    "koord deschedule --dry-run: what the descheduler would move now, why, and where to; what it would like "
    "to\nmove and may not; and what the cluster would look like after it. It reads the cluster, makes one "
    "pass "
    "with the\nplugins, filters and limits of a configuration, and writes nothing. What LowNodeLoad does "
    "only "
    "after several\npasses (anomalyCondition) it does at once here.\n\n"
    "  koord deschedule --dry-run\n"
    "  koord deschedule --dry-run --config=descheduler.yaml --output=json\n\n";

/// What takes no longer has no bar.
constexpr nanoseconds kShort = std::chrono::milliseconds(300);

/// What warns; what else the role tells belongs into its log.
class Warnings final : public LogSink {
 public:
  Warnings(std::ostream& err, ProgressBar& bar) : err_(err), bar_(bar) {}
  void write(LogLevel level, std::string line) override {
    if (level > LogLevel::warn) return;
    bar_.clear();
    err_ << "koord: deschedule: " << line << std::endl;
  }

 private:
  std::ostream& err_;
  ProgressBar& bar_;
};

bool has_chooser(const DeschedulerConfiguration& config) {
  return std::ranges::any_of(config.profiles, [](const ProfileConfig& profile) {
    return profile.plugins &&
           (!profile.plugins->deschedule.enabled.empty() || !profile.plugins->balance.enabled.empty());
  });
}

class Command {
 public:
  Command(const FlagValues& flags, FlagValues role_flags, Streams streams)
      : flags_(flags),
        role_flags_(std::move(role_flags)),
        streams_(streams),
        bar_(streams.err, ProgressBar::on_terminal() && !flags.get_bool("quiet")) {}

  int run() {
    if (const Result<> ready = prepare(); !ready) return fail(ready.error(), kUsage);
    own_.spawn("deschedule", answer());
    tasks_.spawn("progress", show_reading());
    while (own_.size() > 0) loop_.run_one();
    return code_;
  }

 private:
  Result<> prepare() {
    gates_.add(gates());
    KOORD_CHECK(gates_.set(flags_.get("feature-gates")));
    KOORD_TRY(way, command_config(flags_, "deschedule"));
    way_ = std::move(way);
    KOORD_TRY(transport, kube::make_transport(loop_.get_executor(), clock_, way_));
    clients_ = std::make_unique<ReadOnlyClients>(std::move(transport), clock_);
    context_.emplace(RoleContext{role().name, std::string(build_info().version), loop_.get_executor(), clock_,
                                 workers_, log_, metrics_, role_flags_, gates_, *clients_, informers_,
                                 health_, routes_, [this](Error error) { end_early(error); }, [] {}, [] {}});
    if (flags_.get("config").empty()) return {};
    return take(read_configuration(role_flags_, plugin_table()));
  }

  Result<> take(Result<DeschedulerConfiguration> config) {
    if (!config) return std::move(config).error();
    config_ = std::move(*config);
    if (has_chooser(config_)) return {};
    bar_.clear();
    streams_.err
        << "koord: deschedule: no plugin of the configuration chooses pods: enable one in a profile, "
           "such as LowNodeLoad under plugins.balance"
        << std::endl;
    return {};
  }

  Task<Result<>> answer() {
    const Result<> done = co_await rehearse();
    if (!done) fail(at_server(way_, done.error()), done.error().code() == Code::invalid ? kUsage : kFailed);
    co_await tasks_.stop(clock_, std::chrono::seconds(5));
    co_await informers_.stop();
    co_return Result<>();
  }

  Task<Result<>> rehearse() {
    const nanoseconds patience = flags_.get_duration("timeout");
    const auto late = [&](std::string_view awaited) {
      return Error(Code::timeout, fmt::format("no answer within {} (--timeout): {}",
                                              api::Duration(patience).to_string(), awaited));
    };
    const MonoTime begun = clock_.mono();
    Task<Result<>> first = prepare_cluster();
    if (const Result<> done = co_await with_timeout(clock_, patience, std::move(first)); !done)
      co_return clock_.mono() - begun >= patience ? late("the API server says nothing") : done.error();
    KOORD_CO_TRY(made, make_rehearsal(
                           *context_, std::move(config_),
                           [this](const PassReport& report) {
                             report_ = report;
                             told_.set();
                           },
                           [this](std::string_view what, std::size_t chosen) { show_pass(what, chosen); }));
    role_ = std::move(made);
    informers_.start();
    tasks_.spawn("role", role_->run());
    Task<Result<>> told = told_.wait();
    const Result<> in_time = co_await with_timeout(clock_, patience, std::move(told));
    if (!in_time && in_time.error().code() == Code::timeout && !failed_) co_return late(awaited());
    if (failed_) co_return *failed_;
    KOORD_CO_CHECK(in_time);
    bar_.clear();
    streams_.out << (flags_.get("output") == "json" ? fmt::format("{}\n", api::encode(report_))
                                                    : rehearsal::render(report_))
                 << std::flush;
    if (!report_.skipped.empty() || !report_.errors.empty()) code_ = kFailed;
    co_return Result<>();
  }

  /// One thing is asked before thirty are: who cannot be reached, or takes nobody, is told of once.
  Task<Result<>> prepare_cluster() {
    kube::ListOptions one;
    one.limit = 1;
    const Result<std::string> nodes = co_await clients_->client().list_raw(api::kind<api::Node>(), one);
    if (!nodes) co_return nodes.error().context("listing nodes");
    if (!flags_.get("config").empty()) co_return Result<>();
    co_return co_await read_clusters_configuration();
  }

  Task<Result<>> read_clusters_configuration() {
    const std::string place = fmt::format("ConfigMap {}/{}", kConfigNamespace, kConfigName);
    auto map = co_await clients_->client().get<api::ConfigMap>(
        {std::string(kConfigNamespace), std::string(kConfigName)});
    if (!map)
      co_return std::move(map).error().context(
          fmt::format("{}: say which configuration with --config=FILE", place));
    const std::string* text = map->data.find(kConfigName);
    if (text == nullptr)
      co_return Error(
          Code::invalid,
          fmt::format("{} has no key {}: say which configuration with --config=FILE", place, kConfigName));
    co_return take(configuration_from(*text, place, role_flags_, plugin_table()));
  }

  /// Until the pass begins, which says itself how far it is.
  Task<> show_reading() {
    for (;;) {
      const Result<> slept = co_await sleep(clock_, kShort);
      if (!slept || passing_) co_return;
      std::size_t objects = 0, complete = 0;
      const std::vector<kube::InformerStatus> kinds = informers_.status();
      for (const kube::InformerStatus& kind : kinds) {
        objects += kind.objects;
        complete += kind.synced ? 1 : 0;
      }
      if (kinds.empty())
        bar_.show("asking the API server");
      else
        bar_.show(fmt::format("reading {} objects: of kinds", objects), complete, kinds.size());
    }
  }

  void show_pass(std::string_view what, std::size_t chosen) {
    passing_ = true;
    if (clock_.mono() - began_ < kShort) return;
    if (chosen > 0)
      bar_.show(fmt::format("{}: pods that would go", what), chosen);
    else
      bar_.show(what);
  }

  /// What the role says that it waits for.
  std::string awaited() const {
    constexpr std::string_view kSaid = "[-]informer-sync failed: ";
    const std::string all = health_.answer(HealthChecks::readyz, {}, {}).body;
    const std::size_t at = all.find(kSaid);
    if (at == std::string::npos) return "the pass is not over";
    return all.substr(at + kSaid.size(), all.find('\n', at) - at - kSaid.size());
  }

  /// The role has failed.
  void end_early(const Error& error) {
    if (!failed_) failed_ = error;
    told_.set();
  }

  int fail(const Error& error, int code) {
    bar_.clear();
    streams_.err << "koord: deschedule: " << runtime::cleaned(std::string(error.message())) << std::endl;
    return code_ = code;
  }

  const FlagValues& flags_;
  const FlagValues role_flags_;
  Streams streams_;
  asio::io_context loop_{1};
  SystemClock clock_{loop_.get_executor()};
  const MonoTime began_ = clock_.mono();
  ProgressBar bar_;
  bool passing_ = false;
  Warnings warnings_{streams_.err, bar_};
  Logger log_{warnings_, clock_};
  WorkerPool workers_{1};
  FeatureGates gates_;
  metrics::Registry metrics_;
  kube::InformerSet informers_{loop_.get_executor(), clock_, log_};
  HealthChecks health_;
  Routes routes_;
  kube::ClientConfig way_;
  std::unique_ptr<ReadOnlyClients> clients_;
  DeschedulerConfiguration config_;
  Event told_;
  PassReport report_;
  std::optional<Error> failed_;
  int code_ = kOk;
  std::optional<RoleContext> context_;
  std::unique_ptr<Role> role_;
  TaskGroup own_{loop_.get_executor(), [](std::string_view, const Error&) {}};
  TaskGroup tasks_{loop_.get_executor(), [this](std::string_view, const Error& error) { end_early(error); }};
};

}  // namespace

std::span<const Flag> command_flags() { return kCommandFlags; }

int run_deschedule(std::span<const std::string> arguments, Streams streams) {
  const auto usage = [&](std::string_view what) {
    streams.err << "koord: deschedule: " << what << "\n";
    return kUsage;
  };
  if (std::ranges::any_of(arguments,
                          [](const std::string& each) { return each == "--help" || each == "-h"; })) {
    streams.out << kHelp << runtime::flags_help(kCommandFlags);
    return kOk;
  }
  const auto line = runtime::parse_flags(arguments, {"", kCommandFlags}, {});
  if (!line) return usage(line.error().message());
  const FlagValues& values = line->process;
  if (!values.get_bool("dry-run"))
    return usage(
        "it changes nothing: say --dry-run. What evicts is the role: koord --role=descheduler --config=FILE");
  if (const std::string& form = values.get("output"); form != "text" && form != "json")
    return usage(fmt::format("--output: \"{}\" is neither text nor json", form));
  std::vector<std::string> passed_on;
  for (const std::string_view name : kPassedOn)
    if (values.changed(name)) passed_on.push_back(fmt::format("--{}={}", name, values.get(name)));
  const std::vector<FlagOwner> owners = {{role().name, role().flags}};
  const auto roles = runtime::parse_flags(passed_on, {"", {}}, owners);
  if (!roles) return usage(roles.error().message());
  return Command(values, roles->roles.find(role().name)->second, streams).run();
}

}  // namespace koord::descheduler
