// The scheduler's engine without an API server: what a pod costs one thread, from its arrival to what the
// watch says of it after its binding, by workload, number of nodes and how much the pods have in common.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/config/config.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/plugins.hpp"
#include "scheduler_claims.hpp"
#include "scheduler_workloads.hpp"
#include "scheduling/plugins/reservation/rules/status.hpp"

namespace {

using namespace koord;
using namespace koord::scheduling;
using bench::Which;
using bench::Workload;

constexpr int kAllDifferent = 0;

/// The clock that the engine has in production.
class SystemClock final : public Clock {
 public:
  WallTime now() const override { return std::chrono::system_clock::now(); }
  MonoTime mono() const override { return MonoTime{std::chrono::steady_clock::now().time_since_epoch()}; }
  TimerId call_at(MonoTime, std::function<void()>) override {
    throw std::logic_error("the engine has no timers");
  }
  void cancel(TimerId) override {}
};

/// The CPU time of this thread: what else runs on the machine does not show.
class Stopwatch {
 public:
  template <class F>
  void run(F&& f) {
    const double began = now();
    f();
    seconds_ += now() - began;
  }
  double seconds() const { return seconds_; }

 private:
  static double now() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }
  double seconds_ = 0;
};

struct Case {
  const Workload* workload;
  int nodes, classes;  // kAllDifferent
  int pods;            // that are measured; 0: what the workload says
};

class Run {
 public:
  Run(const Case& c, double limit)
      : case_(c), limit_(limit), classes_(c.classes == kAllDifferent ? c.pods : c.classes) {
    KubeSchedulerConfiguration config;
    if (c.workload->report_seconds > 0) {
      Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
      for (PluginSet* set : {&plugins.filter, &plugins.score, &plugins.reserve})
        set->enabled = {{"LoadAwareScheduling", {}}};
    }
    if (c.workload->memory_nodes > 0) {
      Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
      for (PluginSet* set :
           {&plugins.pre_filter, &plugins.filter, &plugins.score, &plugins.reserve, &plugins.pre_bind})
        set->enabled = {{"NodeNUMAResource", {}}};
      plugins.pre_bind.enabled.push_back({"DefaultPreBind", {}});
    }
    if (c.workload->devices) {
      Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
      for (PluginSet* set :
           {&plugins.pre_filter, &plugins.filter, &plugins.score, &plugins.reserve, &plugins.pre_bind})
        set->enabled = {{"DeviceShare", {}}};
      plugins.pre_bind.enabled.push_back({"DefaultPreBind", {}});
    }
    if (c.workload->reserved != bench::Reserved::no_plugin) {
      Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
      for (PluginSet* set :
           {&plugins.pre_filter, &plugins.filter, &plugins.pre_score, &plugins.reserve, &plugins.pre_bind})
        set->enabled = {{"Reservation", {}}};
      plugins.score.enabled = {{"Reservation", 5000}};
      plugins.pre_bind.enabled.push_back({"DefaultPreBind", {}});
      plugins.bind = {.enabled = {{"Reservation", {}}, {"DefaultBinder", {}}}, .disabled = {{"*", {}}}};
    }
    if (c.workload->quotas >= 0) {
      Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
      for (PluginSet* set : {&plugins.pre_filter, &plugins.post_filter, &plugins.reserve})
        set->enabled = {{"ElasticQuota", {}}};
    }
    if (c.workload->gangs) {
      Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
      plugins.multi_point.enabled = {{"Coscheduling", {}}, {"DefaultPreBind", {}}};
      config.profiles.back().plugin_config.push_back(
          {"Coscheduling",
           api::RawJson{fmt::format(R"({{"awareNetworkTopology":{},"enablePreemption":{}}})",
                                    c.workload->network, c.workload->jobs_preempt)},
           nullptr});
    }
    if (auto done = complete(config, plugin_table()); !done) throw std::runtime_error(done.error().message());
    auto profiles = build_profiles(config, plugin_table(), engine_.context());
    if (!profiles) throw std::runtime_error(profiles.error().message());
    missing_ = profiles->front().missing;
    engine_.set_profiles(std::move(*profiles));
  }

  /// A row of the table.
  void print() {
    const Workload& w = *case_.workload;
    for (const std::string& name : missing_)
      if (w.needs.find(name) != std::string_view::npos) return row(fmt::format("not yet: no {}", name));
    for (int cls = 0; w.owned && cls < classes_; ++cls)
      for (const bool earlier : {false, true})
        engine_.put_object<api::ReplicaSet>(
            std::make_shared<api::ReplicaSet>(bench::make_owner(cls, earlier)));
    if (w.network)
      engine_.put_object<api::ClusterNetworkTopology>(
          std::make_shared<api::ClusterNetworkTopology>(bench::make_network()));
    bench::Storage storage;
    bench::add_storage(w, storage);
    for (int i = 0; i < case_.nodes; ++i) {
      auto node = std::make_shared<const api::Node>(bench::make_node(w, i));
      bench::add_storage(w, *node, storage);
      engine_.put_node(std::move(node));
    }
    tell(storage);
    if (w.claims) engine_.put_object(bench::make_device_class());
    for (int i = 0; w.claims && i < case_.nodes; ++i) engine_.put_object(bench::make_slice(i));
    for (int i = 0; w.report_seconds > 0 && i < case_.nodes; ++i)
      engine_.put_object<api::NodeMetric>(report_of(i));
    for (int i = 0; w.memory_nodes > 0 && i < case_.nodes; ++i)
      engine_.put_object<api::NodeResourceTopology>(
          std::make_shared<api::NodeResourceTopology>(bench::make_topology(w, i)));
    for (int i = 0; w.devices && i < case_.nodes; ++i)
      engine_.put_object<api::Device>(std::make_shared<api::Device>(bench::make_device(i)));
    if (w.reserved == bench::Reserved::for_others || w.reserved == bench::Reserved::for_pods)
      for (int i = 0; i < case_.nodes; ++i) engine_.put_object<api::Reservation>(reservation(i, true));
    for (api::ElasticQuota& quota : bench::make_quotas(w))
      engine_.put_object<api::ElasticQuota>(std::make_shared<api::ElasticQuota>(std::move(quota)));
    prepare();
    if (w.reserved == bench::Reserved::measured) {
      measure_reservations();
    } else {
      measure();
    }
    report();
  }

 private:
  std::shared_ptr<const api::Pod> pod(int number, bool earlier) const {
    return std::make_shared<api::Pod>(
        bench::make_pod(*case_.workload, {number, number % classes_, case_.nodes}, earlier));
  }

  std::shared_ptr<api::Reservation> reservation(int number, bool placed) const {
    return std::make_shared<api::Reservation>(
        bench::make_reservation(*case_.workload, {number, number % classes_, case_.nodes}, placed));
  }

  void tell(bench::Storage& storage) {
    const auto all = [&](auto& objects) {
      for (auto& object : objects) engine_.put_object(std::move(object));
      objects.clear();
    };
    all(storage.classes);
    all(storage.csi_nodes);
    all(storage.volumes);
    all(storage.claims);
  }
  void tell_volumes(const std::vector<std::shared_ptr<const api::Pod>>& pods) {
    bench::Storage storage;
    for (const auto& p : pods) bench::add_storage(*case_.workload, *p, storage);
    tell(storage);
  }
  void tell_claims(const std::vector<std::shared_ptr<const api::Pod>>& waiting) {
    if (!case_.workload->claims) return;
    for (const auto& p : waiting) engine_.put_object(bench::make_claim(*p));
  }
  /// What was written of the claims of these pods, which the watch tells.
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims_of(const std::vector<Decision>& decisions) {
    if (!case_.workload->claims) return {};
    return bench::written_claims(decisions, clock_);
  }
  /// The pods have gone, and their claims with them, as Kubernetes' controllers write it.
  void remove_claims(const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims) {
    for (const auto& claim : claims) {
      auto without = std::make_shared<api::ResourceClaim>(*claim);
      without->status = {};
      engine_.put_object<api::ResourceClaim>(without);
      engine_.remove_object<api::ResourceClaim>(without);
    }
  }

  /// What the watch says of bound pods.
  static std::vector<std::shared_ptr<const api::Pod>> bound(std::vector<Decision>& decisions) {
    std::vector<std::shared_ptr<const api::Pod>> all;
    for (Decision& d : decisions) {
      if (d.kind() != Decision::Kind::bind) continue;
      auto copy = std::make_shared<api::Pod>(*d.pod);
      if (const auto& changes = d.as<Decision::Bind>()->changes) apply(*changes, copy->metadata);
      copy->spec.node_name = d.node();
      all.push_back(std::move(copy));
    }
    return all;
  }

  std::shared_ptr<const api::NodeMetric> report_of(int number) const {
    return std::make_shared<api::NodeMetric>(
        bench::make_report(number % case_.nodes, number / case_.nodes, clock_.now()));
  }

  /// What the nodes have reported in the time that the work took so far.
  void reports() {
    if (case_.workload->report_seconds <= 0) return;
    const double worked = enqueue_.seconds() + decide_.seconds() + confirm_.seconds();
    const auto due = static_cast<int>(worked * case_.nodes / case_.workload->report_seconds);
    std::vector<std::shared_ptr<const api::NodeMetric>> told;
    for (; reported_ < due; ++reported_) told.push_back(report_of(case_.nodes + reported_));
    confirm_.run([&] {
      for (auto& metric : told) engine_.put_object<api::NodeMetric>(std::move(metric));
    });
  }

  void prepare() {
    const int earlier = static_cast<int>(case_.workload->earlier_a_node * case_.nodes);
    std::vector<std::shared_ptr<const api::Pod>> pods;
    for (int i = 0; i < earlier; ++i) pods.push_back(pod(i, true));
    tell_volumes(pods);
    tell_claims(pods);
    for (auto& p : pods) engine_.put_pod(std::move(p));
    for (;;) {
      std::vector<Decision> decisions;
      if (engine_.schedule(case_.workload->round, decisions) == 0) break;
      for (auto& claim : claims_of(decisions)) engine_.put_object(std::move(claim));
      for (const Decision& d : decisions) after(d);
      auto told = bound(decisions);
      tell_volumes(told);
      for (auto& p : told) engine_.put_pod(std::move(p));
    }
  }

  void measure() {
    std::vector<std::shared_ptr<const api::Pod>> waiting, free;
    for (int i = 0; i < case_.pods; ++i) waiting.push_back(pod(i, false));
    if (case_.workload->gated) {
      for (const auto& gated : waiting) {
        auto copy = std::make_shared<api::Pod>(*gated);
        copy->spec.scheduling_gates = {};
        free.push_back(std::move(copy));
      }
    }
    tell_volumes(waiting);
    tell_claims(waiting);
    const std::uint64_t looked_at = engine_.classes().rows_looked_at();
    enqueue_.run([&] {
      for (auto& p : waiting) engine_.put_pod(std::move(p));
      for (auto& p : free) engine_.put_pod(std::move(p));
    });
    while (decide_.seconds() < limit_) {
      std::vector<Decision> decisions;
      std::size_t tried = 0;
      decide_.run([&] { tried = engine_.schedule(case_.workload->round, decisions); });
      if (tried == 0) break;
      for (const Decision& d : decisions) {
        took_.push_back(std::chrono::duration<double, std::micro>(d.took).count());
        ++(d.kind() == Decision::Kind::bind ? bound_ : not_bound_);
      }
      auto told = bound(decisions);
      const auto claims = claims_of(decisions);
      confirm_.run([&] {
        for (const auto& claim : claims) engine_.put_object(claim);
        if (case_.workload->disk != bench::Disk::none) tell_volumes(told);
        for (const auto& p : told) engine_.put_pod(p);
        for (const Decision& d : decisions) after(d);
        for (std::size_t i = 0; case_.workload->gone && i < told.size(); ++i) engine_.remove_pod(*told[i]);
        remove_claims(claims);
      });
      reports();
    }
    looked_at_ = engine_.classes().rows_looked_at() - looked_at;
  }

  void measure_reservations() {
    std::unordered_map<std::string, std::shared_ptr<const api::Reservation>> waiting;
    std::vector<std::shared_ptr<const api::Reservation>> made;
    for (int i = 0; i < case_.pods; ++i) {
      made.push_back(reservation(i, false));
      waiting[made.back()->metadata.uid] = made.back();
    }
    const std::uint64_t looked_at = engine_.classes().rows_looked_at();
    enqueue_.run([&] {
      for (auto& r : made) engine_.put_object<api::Reservation>(std::move(r));
    });
    while (decide_.seconds() < limit_) {
      std::vector<Decision> decisions;
      std::size_t tried = 0;
      decide_.run([&] { tried = engine_.schedule(case_.workload->round, decisions); });
      if (tried == 0) break;
      std::vector<std::shared_ptr<const api::Reservation>> told;
      for (const Decision& d : decisions) {
        took_.push_back(std::chrono::duration<double, std::micro>(d.took).count());
        ++(d.kind() == Decision::Kind::bind ? bound_ : not_bound_);
        if (d.kind() != Decision::Kind::bind) continue;
        auto copy = std::make_shared<api::Reservation>(*waiting.at(d.pod->metadata.uid));
        reservation::set_available(*copy, d.node(), clock_.now());
        told.push_back(std::move(copy));
      }
      confirm_.run([&] {
        for (auto& r : told) engine_.put_object<api::Reservation>(std::move(r));
        for (const Decision& d : decisions) after(d);
      });
    }
    looked_at_ = engine_.classes().rows_looked_at() - looked_at;
  }

  /// What the writer and the watch tell of a decision besides.
  void after(const Decision& d) {
    if (d.tells_end() && d.kind() == Decision::Kind::bind) engine_.binding_succeeded(*d.pod);
    if (d.preemption().victims.empty()) return;
    for (const auto& victim : d.preemption().victims) engine_.remove_pod(*victim.pod);
    engine_.preempted(*d.pod, true);
  }

  void row(const std::string& cells) const {
    const std::string classes = case_.classes == kAllDifferent ? "all" : fmt::format("{}", case_.classes);
    fmt::print("| {} | {} | {} | {} |\n", case_.workload->name, case_.nodes, classes, cells);
    std::fflush(stdout);
  }

  void report() {
    if (took_.empty()) return row("nothing was decided");
    std::sort(took_.begin(), took_.end());
    const auto at = [&](double share) {
      return took_[static_cast<std::size_t>(share * static_cast<double>(took_.size() - 1))];
    };
    const bool all = decide_.seconds() < limit_;
    const double decided = static_cast<double>(took_.size());
    const double enqueue = enqueue_.seconds() * 1e6 / case_.pods,
                 decide = decide_.seconds() * 1e6 / (all ? case_.pods : decided),
                 confirm = bound_ == 0 ? 0 : confirm_.seconds() * 1e6 / static_cast<double>(bound_);
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    row(fmt::format("{}{} | {} | {:.2f} | {:.2f} | {:.2f} | {:.0f} | {:.1f} | {:.1f} | {:.0f} | {}", bound_,
                    all ? "" : " (stopped)", not_bound_, enqueue, decide, confirm,
                    1e6 / (enqueue + decide + confirm), at(0.5), at(0.99),
                    static_cast<double>(looked_at_) / decided, usage.ru_maxrss / 1024));
  }

  Case case_;
  double limit_;
  int classes_;
  SystemClock clock_;
  Engine engine_{clock_, {.queue = {}, .seed = 1}};
  std::vector<std::string> missing_;
  Stopwatch enqueue_, decide_, confirm_;
  std::vector<double> took_;
  std::size_t bound_ = 0, not_bound_ = 0;
  int reported_ = 0;  // since the clock runs
  std::uint64_t looked_at_ = 0;
};

/// In a process of its own, whose peak memory is the case's. False: it ended badly.
bool run_apart(const Case& c, double limit) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    int status = 0;
    try {
      Run(c, limit).print();
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}\n", e.what());
      status = 1;
    }
    std::fflush(stdout);
    ::_exit(status);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

struct Options {
  bool all = false;
  std::string workload;  // part of the name
  std::optional<int> nodes, classes, pods;
  int seconds = 0;
};

constexpr const char* kUsage =
    "usage: scheduler_bench [--all] [--workload=PART] [--nodes=N] [--classes=N|all] [--pods=N] "
    "[--seconds=N]\n"
    "  --all      1,000, 5,000 and 20,000 nodes with 1, 100, 1,000 and all-different classes, then 100,000\n"
    "             nodes with 1,000,000 pods; without it 5,000 nodes with 1, 100 and all-different classes\n"
    "  --seconds  CPU time for the decisions of one row (10; with --all 60)\n";

std::optional<Options> parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const std::string_view value = arg.substr(std::min(arg.find('=') + 1, arg.size()));
    const auto is = [&](std::string_view name) { return arg.starts_with(name) && arg.size() > name.size(); };
    int number = -1;
    std::from_chars(value.data(), value.data() + value.size(), number);
    if (arg == "--all") {
      o.all = true;
    } else if (is("--workload=")) {
      o.workload = value;
    } else if (is("--classes=") && value == "all") {
      o.classes = kAllDifferent;
    } else if (is("--nodes=") && number > 0) {
      o.nodes = number;
    } else if (is("--classes=") && number > 0) {
      o.classes = number;
    } else if (is("--pods=") && number > 0) {
      o.pods = number;
    } else if (is("--seconds=") && number > 0) {
      o.seconds = number;
    } else {
      return std::nullopt;
    }
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> o = parse(argc, argv);
  if (!o) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const double limit = o->seconds != 0 ? o->seconds : o->all ? 60 : 10;
  const std::vector<int> nodes = o->nodes ? std::vector{*o->nodes}
                                 : o->all ? std::vector{1000, 5000, 20'000}
                                          : std::vector{5000};
  const std::vector<int> classes = o->classes ? std::vector{*o->classes}
                                   : o->all   ? std::vector{1, 100, 1000, kAllDifferent}
                                              : std::vector{1, 100, kAllDifferent};
  fmt::print("One thread; us of CPU time a pod, p50 and p99 of a decision by the clock.\n\n");
  fmt::print(
      "| workload | nodes | classes | bound | not | enqueue | decide | confirm | pods/s | p50 | p99 | rows a "
      "pod | peak, MiB |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  bool good = true;
  const auto run = [&](const Workload& w, int n, int c, int pods) {
    good = run_apart({&w, n, c, pods}, limit) && good;
  };
  for (const Workload& w : bench::workloads()) {
    if (w.name.find(o->workload) == std::string_view::npos) continue;
    for (const int n : w.only_nodes != 0 && !o->nodes ? std::vector{w.only_nodes} : nodes)
      for (const int c : classes) run(w, n, c, o->pods.value_or(static_cast<int>(w.measured_a_node * n)));
  }
  if (o->all && o->workload.empty() && !o->nodes && !o->pods)
    run(bench::workloads()[0], 100'000, 100, 1'000'000);
  return good ? 0 : 1;
}
