// The descheduler as a role: everything is made here, in the order in which it depends on each other.
#include "role.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "command.hpp"
#include "config/config.hpp"
#include "docs.hpp"
#include "evictions/pod_evictions.hpp"
#include "fitting/scheduler_model.hpp"
#include "fitting/scheduler_node_fit.hpp"
#include "framework/node_fit.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/log.hpp"
#include "koord/base/system.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/event_recorder.hpp"
#include "koord/kube/informer.hpp"
#include "koord/runtime/audit.hpp"
#include "koord/runtime/leading_role.hpp"
#include "koord/runtime/write_config.hpp"
#include "koord/scheduling/config/gates.hpp"
#include "koord/scheduling/config/kube_gates.hpp"
#include "options/flags.hpp"
#include "passes/cluster.hpp"
#include "passes/passes.hpp"
#include "passes/profile.hpp"
#include "rights.hpp"

namespace koord::descheduler {

namespace {

/// A try to learn what the leader before did, and the time to the next.
constexpr nanoseconds kPatience = std::chrono::seconds(30), kAgain = std::chrono::seconds(1);

std::optional<api::Selector> selector_of(const api::Box<api::LabelSelector>& selector) {
  if (!selector) return std::nullopt;
  auto made = api::Selector::from(&*selector);
  return made ? std::move(*made) : api::Selector::nothing();  // which it is not: it is validated
}

std::optional<std::uint64_t> limit_of(const std::optional<std::int64_t>& most) {
  if (!most) return std::nullopt;
  return static_cast<std::uint64_t>(*most);
}

class Descheduler final : public runtime::LeadingRole {
 public:
  /// `scheduler`: whom to ask where pods fit; null: BasicNodeFit.
  Descheduler(runtime::RoleContext& context, DeschedulerConfiguration config,
              std::unique_ptr<SchedulerModel> scheduler, kube::Client& client, kube::Client& event_client,
              std::unique_ptr<runtime::Audit> audit)
      : LeadingRole(context,
                    {.election = config.leader_election, .client = &client, .host_name = host_name()}),
        config_(std::move(config)),
        client_(client),
        scheduler_(std::move(scheduler)),
        audit_(std::move(audit)),
        cluster_(context.informers, client, context.clock, context.log),
        evictions_({.clock = context.clock,
                    .log = log(),
                    .client = client,
                    .may_write = [this] { return leading(); },
                    .metrics = &context.metrics}),
        passes_({.clock = context.clock,
                 .log = log(),
                 .metrics = context.metrics,
                 .may_write = [this] { return leading(); },
                 .node_fit = [this](const Snapshot& snapshot) { return node_fit(snapshot); },
                 .notes = scheduler_ ? scheduler_->notes() : std::vector<std::string>(),
                 .dry_run = config_.dry_run,
                 .nodes = selector_of(config_.node_selector),
                 .limits = {.per_node = limit_of(config_.max_no_of_pods_to_evict_per_node),
                            .per_namespace = limit_of(config_.max_no_of_pods_to_evict_per_namespace),
                            .total = limit_of(config_.max_no_of_pods_to_evict_total)},
                 .progress = [this](std::string_view what, std::size_t chosen) { tell(what, chosen); }}) {
    if (scheduler_) {
      scheduler_->follow(context.informers, client);
      cluster_.follow_also(scheduler_->followed());
      for (const std::string& note : scheduler_->notes()) log().info("where pods fit", kv("note", note));
    }
    client_.set_write_log(audit_.get());
    for (const ProfileConfig& profile : config_.profiles) {
      kube::EventRecorderConfig events;
      events.controller = profile.name;
      events.instance = fmt::format("{}-{}", profile.name, host_name());
      events.log = log();
      recorders_.emplace(profile.name, std::make_unique<kube::EventRecorder>(
                                           context.executor, event_client, context.clock, std::move(events)));
    }
    context.health.add(
        "informer-sync", [this] { return cluster_.synced(); },
        runtime::HealthChecks::readyz | runtime::HealthChecks::told);
    context.routes.add("/passes", [this](net::Request) { return show_passes(); }, {.debug = true});
    context.routes.add("/audit", [this](net::Request request) { return show_audit(std::move(request)); },
                       {.debug = true});
  }
  ~Descheduler() override { client_.set_write_log(nullptr); }

  /// Once, before run().
  Result<> make_profiles(PluginTable table) {
    KOORD_TRY(made, descheduler::make_profiles(config_, table, [this](const ProfileConfig& profile) {
                return plugin_context(profile.name);
              }));
    passes_.set_profiles(std::move(made));
    return {};
  }

  /// Before run(): one pass is made, and its report handed over.
  void rehearse(std::function<void(const PassReport&)> told, PassProgress progress) {
    rehearsed_ = std::move(told);
    progress_ = std::move(progress);
  }

 private:
  PluginContext plugin_context(const std::string& profile) {
    return {.profile = profile,
            .clock = context().clock,
            .log = log(),
            .gates = context().gates,
            .client = &client_,
            .informers = &context().informers,
            .events = recorders_.find(profile)->second.get(),
            .metrics = &context().metrics,
            .evictions = &evictions_,
            .shared = &shared_,
            .scheduler = scheduler_.get(),
            .may_write = [this] { return leading(); },
            .dry_run = config_.dry_run,
            .interval = config_.descheduling_interval.value,
            .at_once = rehearsed_ != nullptr,
            .snapshot = [this] { return passes_.snapshot(); },
            .pass = [this] { return passes_.pass(); }};
  }

  std::unique_ptr<NodeFit> node_fit(const Snapshot& snapshot) {
    if (scheduler_ && scheduler_->whole()) return std::make_unique<SchedulerNodeFit>(*scheduler_, snapshot);
    return std::make_unique<BasicNodeFit>(snapshot);
  }

  void tell(std::string_view what, std::size_t chosen) const {
    if (progress_) progress_(what, chosen);
  }

  /// Says what this account may not list, where that is something else than before.
  void tell_refused();

  void start() override {}
  Task<Result<>> lead() override;
  Task<> stop() override;
  Task<Result<>> make_passes();
  Task<> make_pass();
  Task<net::Response> show_passes() { co_return net::Response::json(200, api::encode(passes_.reports())); }

  Task<net::Response> show_audit(net::Request request) { co_return audit_->answer(request); }

  DeschedulerConfiguration config_;
  kube::Client& client_;
  std::unique_ptr<SchedulerModel> scheduler_;
  std::unique_ptr<runtime::Audit> audit_;
  Cluster cluster_;
  PodEvictions evictions_;
  std::map<std::string, std::unique_ptr<kube::EventRecorder>, std::less<>> recorders_;
  std::map<std::string, std::shared_ptr<void>, std::less<>> shared_;
  std::function<void(const PassReport&)> rehearsed_;
  PassProgress progress_;
  std::vector<std::string> refused_;
  Passes passes_;  // its plugins use all of the above
};

void Descheduler::tell_refused() {
  std::vector<std::string> refused = cluster_.refused();
  if (refused == refused_) return;
  refused_ = std::move(refused);
  std::vector<std::string> notes = scheduler_ ? scheduler_->notes() : std::vector<std::string>();
  if (refused_.empty()) {
    log().info("this account may list all now that passes look at");
  } else {
    notes.push_back(fmt::format(
        "this account may not list {}{}; \"koord manifests roles\" has its rights", fmt::join(refused_, ", "),
        scheduler_ && !scheduler_->whole() ? ": where pods fit is asked as with --node-fit=basic"
                                           : ", which is done without"));
    log().warn("done without", kv("note", notes.back()));
  }
  passes_.set_notes(std::move(notes));
}

Task<Result<>> Descheduler::lead() {
  KOORD_CO_CHECK(co_await cluster_.wait_synced());
  while (config_.leader_election.leader_elect.value_or(true)) {
    const Result<> caught_up = co_await with_timeout(context().clock, kPatience, cluster_.catch_up());
    if (caught_up) break;
    if (caught_up.error().code() == Code::cancelled) co_return caught_up;
    log().warn("nothing is evicted before it is known what the leader before did",
               kv("error", caught_up.error()));
    KOORD_CO_CHECK(co_await sleep(context().clock, kAgain));
  }
  tell_refused();
  if (scheduler_) {
    tell("telling a scheduler's engine of them", 0);
    co_await scheduler_->catch_up_in_parts();
  }
  for (const std::unique_ptr<Profile>& profile : passes_.profiles()) {
    for (Evictor* evictor : profile->evictors()) evictor->start(tasks());
    for (Plugin* plugin : profile->plugins()) plugin->start(tasks());
  }
  for (const std::unique_ptr<Profile>& profile : passes_.profiles())
    for (Evictor* evictor : profile->evictors()) KOORD_CO_CHECK(co_await evictor->ready());
  tasks().spawn("passes", make_passes());
  co_return Result<>();
}

Task<> Descheduler::stop() {
  for (const std::unique_ptr<Profile>& profile : passes_.profiles()) {
    for (Plugin* plugin : profile->plugins()) plugin->stop();
    for (Evictor* evictor : profile->evictors()) evictor->stop();
  }
  for (auto& [profile, recorder] : recorders_) co_await recorder->stop();
}

Task<Result<>> Descheduler::make_passes() {
  const nanoseconds interval = config_.descheduling_interval.value;
  for (MonoTime next = context().clock.mono();;) {
    co_await make_pass();
    if (rehearsed_) {
      rehearsed_(passes_.reports().passes.front());
      co_return Result<>();
    }
    if (interval == nanoseconds::zero()) {
      log().info("one pass was made, and no other one will be: there is no deschedulingInterval");
      co_return Result<>();
    }
    // From beginning to beginning; one that took longer is followed by the next at once.
    next = std::max(next + interval, context().clock.mono());
    KOORD_CO_CHECK(co_await sleep_until(context().clock, next));
  }
}

Task<> Descheduler::make_pass() {
  if (!leading()) co_return;
  if (std::string stale = cluster_.stale(); !stale.empty()) {
    passes_.skip(std::move(stale));
    co_return;
  }
  tell_refused();
  if (scheduler_) {
    co_await scheduler_->catch_up_in_parts();
    scheduler_->catch_up();
  }
  co_await passes_.run(cluster_.objects());
}

Result<std::unique_ptr<runtime::Role>> make(runtime::RoleContext& context) {
  return make_role(context, plugin_table());
}

/// Whom to ask where pods fit, by --node-fit; null: BasicNodeFit.
Result<std::unique_ptr<SchedulerModel>> scheduler_to_ask(const runtime::FlagValues& flags, Clock& clock) {
  const std::string& who = flags.get("node-fit");
  if (who != "scheduler" && who != "basic")
    return Error(Code::invalid, fmt::format("--node-fit: \"{}\" is neither scheduler nor basic", who));
  FeatureGates gates(scheduling::gates());
  Result<> set = gates.set(flags.get("scheduler-feature-gates"));
  if (set) set = scheduling::check_gates(gates);
  if (!set) return std::move(set).error().context("--scheduler-feature-gates");
  auto made = SchedulerModel::make(clock, flags.get("scheduler-config"), gates);
  if (!made) return std::move(made).error().context("--scheduler-config");
  if (who == "basic") return std::unique_ptr<SchedulerModel>();
  return std::move(*made);
}

constexpr std::array<runtime::RoleCommand, 1> kDeschedule = {
    {{"deschedule", "what the descheduler would move now, why and where to (--dry-run)", &run_deschedule}}};

/// Where the file says that the plain ports are, unless flags do.
void open_ports(const DeschedulerConfiguration& config, const runtime::RoleContext& context) {
  const runtime::FlagValues& flags = context.flags;
  if (flags.get("config").empty() || flags.changed("port") || flags.changed("address")) return;
  context.routes.open_at("port", *config.healthz_bind_address);
  if (*config.metrics_bind_address != *config.healthz_bind_address)
    context.routes.open_at("port", *config.metrics_bind_address);
}

/// Without its profiles.
Result<std::unique_ptr<Descheduler>> make_descheduler(runtime::RoleContext& context,
                                                      DeschedulerConfiguration config,
                                                      std::unique_ptr<SchedulerModel> scheduler) {
  runtime::ClientSettings settings = runtime::client_settings(config.client_connection, {});
  KOORD_TRY(client, context.clients.client(settings));
  // Events have a limit of their own, so that they do not hold up evictions.
  settings.user_agent = fmt::format("koord-descheduler-events/{}", context.version);
  KOORD_TRY(event_client, context.clients.client(settings));
  KOORD_TRY(audit, runtime::Audit::make(context.executor, context.clock, context.log, context.flags));
  return std::make_unique<Descheduler>(context, std::move(config), std::move(scheduler), *client,
                                       *event_client, std::move(audit));
}

constexpr std::array<runtime::PortFlag, 2> kPorts = {{
    {"secure-port", "bind-address", true},
    {"port", "address", false},
}};

}  // namespace

Result<std::unique_ptr<runtime::Role>> make_role(runtime::RoleContext& context, PluginTable table) {
  KOORD_TRY(config, read_configuration(context.flags, table));
  KOORD_TRY(scheduler, scheduler_to_ask(context.flags, context.clock));
  if (const std::string& file = context.flags.get("write-config-to"); !file.empty()) {
    // Plugins have a word, too.
    const Result<Profiles> checked = make_profiles(config, table, [&](const ProfileConfig&) {
      return PluginContext{.profile = {}, .clock = context.clock, .log = context.log, .gates = context.gates};
    });
    if (!checked) return checked.error().context("initializing profiles");
    KOORD_CHECK(runtime::write_config(api::encode(config), file));
    context.log.info("the configuration is written", kv("file", file));
    return runtime::finished(context);
  }
  context.routes.set_configz("componentconfig", api::encode(config));
  open_ports(config, context);
  KOORD_TRY(made, make_descheduler(context, std::move(config), std::move(scheduler)));
  if (auto profiles = made->make_profiles(table); !profiles)
    return std::move(profiles).error().context("initializing profiles");
  return std::unique_ptr<runtime::Role>(std::move(made));
}

Result<std::unique_ptr<runtime::Role>> make_rehearsal(runtime::RoleContext& context,
                                                      DeschedulerConfiguration config,
                                                      std::function<void(const PassReport&)> told,
                                                      PassProgress progress) {
  config.dry_run = true;
  config.leader_election.leader_elect = false;
  KOORD_TRY(scheduler, scheduler_to_ask(context.flags, context.clock));
  KOORD_TRY(made, make_descheduler(context, std::move(config), std::move(scheduler)));
  made->rehearse(std::move(told), std::move(progress));
  if (auto profiles = made->make_profiles(plugin_table()); !profiles)
    return std::move(profiles).error().context("initializing profiles");
  return std::unique_ptr<runtime::Role>(std::move(made));
}

const runtime::RoleDescriptor& role() {
  static const std::vector<metrics::Table> kMetrics = {Passes::kMetrics, PodEvictions::kMetrics};
  static const runtime::RoleDescriptor kRole{
      .name = "descheduler",
      .summary = "Moves pods that are where they should not be, within limits: koord-descheduler's job.",
      .flags = flags(),
      .gates = gates(),
      .ports = kPorts,
      .commands = kDeschedule,
      .make = &make,
      .metrics = kMetrics,
      .docs = &docs,
      .account = "koord-descheduler",
      .rights = rights(),
  };
  return kRole;
}

}  // namespace koord::descheduler
