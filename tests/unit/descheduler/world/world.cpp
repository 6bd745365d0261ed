// World: see world.hpp.
#include "world/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "descheduler/role.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "sandbox/nodes/make_nodes.hpp"
#include "support/tree.hpp"

namespace koord::descheduler::world {

namespace {

using namespace std::chrono_literals;

constexpr nanoseconds kPlacing = 10min;  // until the descheduler begins
constexpr nanoseconds kHomeless = 5min;
constexpr double kSystemMillis = 300;

std::vector<std::string> arguments_of(const Setting& setting) {
  static std::vector<std::unique_ptr<koord::testing::Tree>> trees;
  const Limits limits;
  trees.push_back(
      std::make_unique<koord::testing::Tree>(std::initializer_list<std::pair<std::string, std::string>>{
          {"config", fmt::format("apiVersion: descheduler/v1alpha2\n"
                                 "kind: DeschedulerConfiguration\n"
                                 "leaderElection: {{leaderElect: false}}\n"
                                 "deschedulingInterval: {}s\n"
                                 "maxNoOfPodsToEvictPerNode: {}\n"
                                 "maxNoOfPodsToEvictPerNamespace: {}\n"
                                 "maxNoOfPodsToEvictTotal: {}\n"
                                 "profiles:\n"
                                 "- name: koord-descheduler\n"
                                 "  plugins: {{balance: {{enabled: [{{name: LowNodeLoad}}]}}}}\n"
                                 "  pluginConfig:\n"
                                 "  - name: MigrationController\n"
                                 "    args: {{defaultJobMode: ReservationFirst, maxMigratingPerNode: {}, "
                                 "maxMigratingPerNamespace: {}}}\n"
                                 "  - name: LowNodeLoad\n"
                                 "    args:\n"
                                 "      lowThresholds: {{cpu: {}, memory: 80}}\n"
                                 "      highThresholds: {{cpu: {}, memory: 90}}\n",
                                 setting.interval / 1s, limits.per_pass_and_node,
                                 limits.per_pass_and_namespace, limits.per_pass, limits.migrating_per_node,
                                 limits.migrating_per_namespace, World::kLow, World::kHigh)}}));
  return {"--config=" + (*trees.back() / "config")};
}

api::ResourceMap resources(double millis, double mebibytes) {
  api::ResourceMap out;
  out.resources["cpu"] = api::Quantity::from_milli(std::llround(millis));
  out.resources["memory"] =
      api::Quantity::from_int(std::llround(mebibytes) << 20, api::Quantity::Format::binary_si);
  return out;
}

}  // namespace

World::World(const Setting& setting)
    : RoleRig(descheduler::role(), arguments_of(setting)),
      setting_(setting),
      server_(loop.clock, setting.seed),
      transport_(server_.connect()),
      api_(transport_, loop.clock, {.max_retries = 0}),
      load_(setting.seed, setting.workloads, setting.nodes * setting.cores) {
  Limits limits;
  limits.stays_away = 10 * setting.interval;
  witness_ = std::make_unique<Witness>(server_, loop.clock, limits);
  witness_->follow(transport_, setting.fails_each);
  DirectTransport& schedulers = server_.connect();
  schedulers.before = [](const net::Request& request) -> std::optional<net::Response> {
    if (request.path.find("/events") == std::string::npos) return std::nullopt;
    return net::Response::json(201, "{}");
  };
  scheduler_ = std::make_unique<SchedulerProcess>(loop, schedulers, setting.seed);
  for (int i = 0; i < 3; ++i)
    server_.create(
        fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"team-{}"}}}})", i));
  const Result<> nodes = sandbox::make_nodes(server_.verbs(), setting.nodes,
                                             fmt::format("cpu={},memory=64Gi", setting.cores), {});
  if (!nodes) FAIL(nodes.error().message());
  for (const auto& [key, node] : server_.objects("nodes"))
    server_.create(fmt::format(
        R"({{"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric","metadata":{{"name":"{}"}}}})",
        node->name));
  scheduler_->start();
  run(1s);
  began_ = loop.clock.mono();
  each_minute();
  for (const Workload& workload : load_.workloads()) {
    server_.create(workload.manifest());
    if (!workload.budget.empty()) server_.create(workload.budget_manifest());
  }
  run(kPlacing);
  if (setting.deschedules) RoleRig::start(descheduler::role().make(context));
}

World::~World() {
  loop.clock.cancel(timer_);
  koord::test::run_task(loop, tasks.stop(loop.clock, 20s));
  koord::test::run_task(loop, informers.stop());
  role.reset();
  scheduler_.reset();
}

void World::run(nanoseconds time) {
  bool over = false;
  loop.clock.call_at(loop.clock.mono() + time, [&] { over = true; });
  loop.settle();
  while (!over && loop.clock.advance_to_next()) loop.settle();
}

void World::each_minute() {
  report();
  look_for_homeless();
  if (++minutes_ % 7 == 0) disturb();
  timer_ = loop.clock.call_at(loop.clock.mono() + 1min, [this] { each_minute(); });
}

void World::report() {
  std::map<std::string, std::vector<sandbox::ObjectPtr>, std::less<>> running;
  for (const auto& [key, pod] : server_.objects("pods"))
    if (pod->field("status.phase") == "Running")
      running[std::string(pod->field("spec.nodeName"))].push_back(pod);
  const auto kind = server_.verbs().registry().find("slo.koordinator.sh", "v1alpha1", "nodemetrics");
  std::vector<double> shares;
  for (const auto& [key, metric] : sandbox::Collection::Map(kind->objects->objects())) {
    const double capacity = setting_.cores * 1000.0;
    std::vector<double> used;
    double sum = 0;
    for (const auto& pod : running[metric->name])
      sum += used.emplace_back(
          load_.millis(*load_.find(*pod->label("app")), part_of(*pod), loop.clock.mono() - began_));
    const double squeezed = std::min(1.0, (capacity - kSystemMillis) / std::max(sum, 1.0));
    api::NodeMetricStatus status;
    status.update_time = api::Time(loop.clock.now());
    std::size_t i = 0;
    double memory = 1024;
    for (const auto& pod : running[metric->name]) {
      api::PodMetricInfo& info = status.pods_metric.emplace_back();
      info.name = pod->name;
      info.namespace_ = Symbol(pod->ns);
      info.pod_usage = resources(used[i++] * squeezed, 300);
      memory += 300;
    }
    api::NodeMetricInfo& whole = status.node_metric.ensure();
    whole.node_usage = resources(kSystemMillis + sum * squeezed, memory);
    whole.system_usage = resources(kSystemMillis, 1024);
    shares.push_back((kSystemMillis + sum * squeezed) / capacity * 100);
    json::Document said;
    if (!said.read(api::encode(status))) FAIL("a report that cannot be read");
    server_.verbs().write_trusted(*kind, *metric, [&](json::Document& doc) {
      json::set(doc, "status", json::clone(said, doc.arena()), doc.arena());
    });
  }
  if (loop.clock.mono() - began_ < kPlacing) return;
  double mean = 0, square = 0;
  for (const double share : shares) mean += share / static_cast<double>(shares.size());
  for (const double share : shares) square += (share - mean) * (share - mean);
  spread_ += std::sqrt(square / static_cast<double>(shares.size()));
  highest_ += *std::ranges::max_element(shares);
  hot_ += static_cast<double>(std::ranges::count_if(shares, [](double share) { return share > kHigh; }));
}

/// Whoever was evicted has had a place.
void World::look_for_homeless() {
  std::map<std::string, MonoTime> waiting;
  for (const auto& [key, pod] : server_.objects("pods")) {
    if (pod->field("status.phase") == "Running") continue;
    const auto since = waiting_.find(pod->uid);
    const MonoTime now = loop.clock.mono();
    const MonoTime began =
        waiting.emplace(pod->uid, since == waiting_.end() ? now : since->second).first->second;
    if (now - began == kHomeless) homeless_.push_back(fmt::format("{} has no place for 5 minutes", key));
  }
  waiting_ = std::move(waiting);
}

/// The first that nobody has.
int World::part_of(const sandbox::Object& pod) {
  std::map<int, std::string>& parts = parts_[*pod.label("app")];
  for (const auto& [part, uid] : parts)
    if (uid == pod.uid) return part;
  std::set<std::string> there;
  for (const auto& [key, other] : server_.objects("pods"))
    if (other->field("status.phase") == "Running") there.insert(other->uid);
  for (int part = 0;; ++part)
    if (!there.contains(parts[part])) {
      parts[part] = pod.uid;
      return part;
    }
}

/// People: a workload gets another pod or loses one, a node is closed for a while.
void World::disturb() {
  const std::uint64_t turn = minutes_ / 7;
  const Workload& w = load_.workloads()[(turn * 5 + setting_.seed) % load_.workloads().size()];
  const std::string kind = w.stateful ? "statefulsets" : "deployments";
  server_.edit(kind, w.ns, w.name, [&](json::Document& object) {
    json::set_int(*json::find(object, "spec"), "replicas", w.replicas + (turn % 2 == 0 ? 1 : 0),
                  object.arena());
  });
  const std::string node =
      fmt::format("node-{:04}", (turn / 4 * 3 + setting_.seed) % static_cast<std::uint64_t>(setting_.nodes));
  server_.edit("nodes", "", node, [&](json::Document& object) {
    json::set(*json::find(object, "spec"), "unschedulable", json::Value(turn % 4 < 2), object.arena());
  });
}

Figures World::figures() const {
  const double minutes = static_cast<double>(minutes_) - kPlacing / 1min;
  Figures f;
  f.jobs = witness_->jobs;
  f.evictions = witness_->evictions;
  f.refused = witness_->refused;
  f.hot_minutes = hot_;
  f.spread = spread_ / minutes;
  f.highest = highest_ / minutes;
  f.pods = const_cast<ApiServer&>(server_).objects("pods").size();
  return f;
}

std::vector<std::string> World::wrong() const {
  std::vector<std::string> all = witness_->wrong;
  all.insert(all.end(), homeless_.begin(), homeless_.end());
  if (failure) all.push_back("the descheduler: " + failure->message());
  if (!scheduler_->failure().empty()) all.push_back("the scheduler: " + scheduler_->failure());
  return all;
}

}  // namespace koord::descheduler::world
