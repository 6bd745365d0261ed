// LowNodeLoad: who leaves which node. The clusters of koord-descheduler's TestLowNodeLoad and
// TestMaxEvictionTotal with their counts (tests/golden/descheduler/low_node_load.jsonl, one a line); the
// order of its TestSortPods; its detector; and what a random cluster must never show.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "evictions/pod_order.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/json/value.hpp"
#include "plugins/low_node_load/balance.hpp"
#include "support/run_task.hpp"
#include "support/tsv.hpp"

namespace koord::descheduler::low_node_load::test {
namespace {

using std::chrono::seconds;

/// "NAME CPU MEMORY PODS [EXT=N] [cordoned] [east]"; pods "NAME NODE CPU MEMORY [EXT=N] [ns=NAMESPACE]
/// [stays|daemonset|mirror|critical] [batch] [priority=N] [west|westward]".
struct World final : Mover {
  struct Made {
    api::Pod pod;
    std::string node;
    std::map<std::string, std::int64_t> requests;
    bool stays = false, west = false;
  };
  struct Machine {
    std::map<std::string, std::int64_t> has;
    bool cordoned = false, east = false;
  };

  void add_node(const std::string& text) {
    std::istringstream words(text);
    std::string name, word;
    Machine machine;
    words >> name >> machine.has["cpu"] >> machine.has["memory"] >> machine.has["pods"];
    while (words >> word) {
      if (word == "cordoned")
        machine.cordoned = true;
      else if (word == "east")
        machine.east = true;
      else
        machine.has["ext"] = std::stoll(word.substr(4));
    }
    machines[name] = machine;
  }
  void add_pod(const std::string& text) {
    std::istringstream words(text);
    std::string name, word;
    auto made = std::make_unique<Made>();
    words >> name >> made->node >> made->requests["cpu"] >> made->requests["memory"];
    api::Pod& pod = made->pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = Symbol("default");
    const bool asks = made->requests["cpu"] + made->requests["memory"] > 0;
    pod.status.qos_class = asks ? "Burstable" : "BestEffort";
    while (words >> word) {
      if (word == "stays" || word == "daemonset" || word == "mirror" || word == "critical")
        made->stays = true;
      else if (word == "west" || word == "westward")
        made->west = true;
      else if (word == "batch")
        pod.metadata.labels[api::kPriorityClassLabel] = "koord-batch";
      else if (word.starts_with("ns="))
        pod.metadata.namespace_ = Symbol(word.substr(3));
      else if (word.starts_with("priority="))
        pod.spec.priority = std::stoi(word.substr(9));
      else
        made->requests["ext"] = std::stoll(word.substr(4));
    }
    pods.push_back(std::move(made));
  }

  std::vector<NodeLoad> loads(const Thresholds& thresholds) const {
    std::vector<NodeLoad> all;
    for (const auto& [name, machine] : machines) {
      NodeLoad& load = all.emplace_back();
      load.name = name;
      load.schedulable = !machine.cordoned;
      const std::size_t count = thresholds.resources.size();
      load.usage.resize(count);
      load.prod_usage.resize(count);
      for (const Symbol& resource : thresholds.resources)
        load.capacity.push_back(amount(machine.has, resource.view()));
      for (const auto& each : pods) {
        if (each->node != name) continue;
        PodLoad& pod = load.pods.emplace_back();
        pod.pod = PodPtr(PodPtr(), &each->pod);  // the world's
        pod.prod = api::with_default(api::koord_priority(each->pod),
                                     api::with_default(api::koord_qos(each->pod),
                                                       api::kube_qos(each->pod))) == api::KoordPriority::prod;
        Amounts& usage = pod.usage.emplace();
        for (std::size_t r = 0; r < count; ++r) {
          const std::string_view resource = thresholds.resources[r].view();
          usage.push_back(amount(each->requests, resource));
          load.usage[r] += resource == "pods" ? 1 : usage[r];
          if (pod.prod) load.prod_usage[r] += resource == "pods" ? 1 : usage[r];
        }
      }
    }
    return all;
  }

  bool may_go(const api::Pod& pod) override {
    const auto named = [&](const std::vector<std::string>& in) {
      return std::ranges::find(in, pod.metadata.namespace_.view()) != in.end();
    };
    return !of(pod).stays && !named(excluded) && (included.empty() || named(included));
  }
  bool fits(const api::Pod& pod, const NodeLoad& node) override {
    const Made& made = of(pod);
    const Machine& machine = machines.at(node.name);
    if (machine.cordoned || (made.west && machine.east)) return false;
    for (const auto& [resource, asked] : made.requests) {
      std::int64_t taken = 0;
      for (const auto& other : pods)
        if (other->node == node.name) taken += amount(other->requests, resource);
      if (asked > amount(machine.has, resource) - taken) return false;
    }
    return true;
  }
  Task<bool> evict(PodPtr pod, std::string why) override {
    if (limit == evicted.size()) co_return false;
    evicted.push_back(pod->metadata.name);
    reasons.push_back(std::move(why));
    co_return true;
  }

  Made& of(const api::Pod& pod) {
    return **std::ranges::find_if(pods, [&](const auto& each) { return &each->pod == &pod; });
  }
  static std::int64_t amount(const std::map<std::string, std::int64_t>& of, std::string_view resource) {
    const auto it = of.find(std::string(resource));
    return it != of.end() ? it->second : 0;
  }

  std::map<std::string, Machine> machines;
  koord::test::Loop loop;
  std::vector<std::unique_ptr<Made>> pods;
  std::size_t limit = 1000;
  std::vector<std::string> included, excluded;  // namespaces
  std::vector<std::string> evicted, reasons;
};

Percentages percentages(const json::Value& row, std::string_view name) {
  Percentages all;
  if (const json::Value* said = json::find(row, name))
    for (const json::Member& each : said->members())
      all[Symbol(each.key())] = each.value.to_double().value_or(0);
  return all;
}

std::vector<std::string> texts(const json::Value& row, std::string_view name) {
  std::vector<std::string> all;
  if (const json::Value* said = json::find(row, name))
    for (const json::Value& each : said->elements()) all.emplace_back(each.text());
  return all;
}

void check_row(const json::Value& row) {
  World world;
  const auto number = [&](std::string_view name) -> std::optional<std::uint64_t> {
    const json::Value* const said = json::find(row, name);
    return said != nullptr ? said->to_uint() : std::nullopt;
  };
  world.limit = number("limit").value_or(1000);
  world.included = texts(row, "include");
  world.excluded = texts(row, "exclude");
  for (const std::string& node : texts(row, "nodes")) world.add_node(node);
  for (const std::string& pod : texts(row, "pods")) world.add_pod(pod);
  const Percentages low = percentages(row, "low");
  const json::Value* const deviation = json::find(row, "deviation");
  PoolRules rules;
  rules.thresholds =
      complete_thresholds(low, percentages(row, "high"), percentages(row, "prodLow"),
                          percentages(row, "prodHigh"), deviation != nullptr && deviation->is_true());
  for (const Symbol& resource : rules.thresholds.resources)
    rules.weights.push_back(resource.view() == "cpu" || resource.view() == "memory" ||
                            low.contains(resource.view()));
  rules.anomaly = {.timeout = {}, .abnormal = 1, .normal = 1};
  Detectors detectors(std::chrono::minutes(5)), prod(std::chrono::minutes(5));
  std::vector<NodeLoad> nodes = world.loads(rules.thresholds);
  const Balanced done = koord::test::run_task(
      world.loop, balance(rules, nodes, detectors, prod, MonoTime(seconds(100)), world));
  CHECK(world.evicted.size() == number("evicted"));
  CHECK(done.evicted == number("evicted"));
  if (std::vector<std::string> names = texts(row, "names"); !names.empty()) {
    std::ranges::sort(world.evicted);
    CHECK(world.evicted == names);
  }
}

TEST_CASE("as many pods leave as with koord-descheduler") {
  std::ifstream in(koord::test::golden("descheduler/low_node_load.jsonl"));
  REQUIRE(in.good());
  int rows = 0;
  for (std::string line; std::getline(in, line); ++rows) {
    const auto row = json::parse(line);
    REQUIRE(row.has_value());
    INFO(std::string(json::text_at(*row, "name")));
    check_row(*row);
  }
  CHECK(rows == 20);
}

TEST_CASE("where not all find room, those do that are to go first") {
  World world;
  for (const char* node : {"n1 4000 3000 9", "n2 4000 3000 10"}) world.add_node(node);
  for (int i = 1; i <= 7; ++i)
    world.add_pod("p" + std::to_string(i) + " n1 500 0 priority=" + std::to_string(i < 6 ? 10'000 : i));
  PoolRules rules;
  rules.thresholds = complete_thresholds({{"cpu", 30}}, {{"cpu", 40}}, {}, {}, false);
  rules.weights = {1, 1};
  rules.anomaly.abnormal = 1;
  Detectors detectors(std::chrono::minutes(5)), prod(std::chrono::minutes(5));
  std::vector<NodeLoad> nodes = world.loads(rules.thresholds);
  koord::test::run_task(world.loop, balance(rules, nodes, detectors, prod, MonoTime(seconds(100)), world));
  CHECK(world.evicted == std::vector<std::string>{"p6", "p7", "p1"});  // 1600 of n2's
}

TEST_CASE("why a pod leaves is said in Koordinator's words") {
  struct Case {
    bool prod;
    Amounts usage, prod_usage;
    std::string says;
  };
  constexpr std::int64_t kGi = std::int64_t{1} << 30;
  const Thresholds thresholds =
      complete_thresholds({{"cpu", 50}, {"memory", 50}}, {{"cpu", 50}, {"memory", 50}},
                          {{"cpu", 40}, {"memory", 40}}, {{"cpu", 40}, {"memory", 40}}, false);
  const Case cases[] = {
      {false, {64'000, 32 * kGi}, {0, 0}, "node is overutilized, node cpu usage(66.67%)>threshold(50.00%)"},
      {false,
       {64'000, 400 * kGi},
       {0, 0},
       "node is overutilized, node cpu usage(66.67%)>threshold(50.00%), node memory "
       "usage(78.12%)>threshold(50.00%)"},
      {true,
       {46'000, 250 * kGi},
       {45'000, 200 * kGi},
       "node is overutilized, prod cpu usage(46.88%)>threshold(40.00%)"},
      {true,
       {46'000, 250 * kGi},
       {45'000, 250 * kGi},
       "node is overutilized, prod cpu usage(46.88%)>threshold(40.00%), prod memory "
       "usage(48.83%)>threshold(40.00%)"},
  };
  for (const Case& each : cases) {
    NodeLoad node;
    node.capacity = {96'000, 512 * kGi};
    node.usage = each.usage;
    node.prod_usage = each.prod_usage;
    CHECK(why_evicted(thresholds, node, limits_of(thresholds, {&node, 1})[0], each.prod) == each.says);
  }
}

TEST_CASE("of several pods the less important go first, of these who uses more, and the younger") {
  struct Made {
    const char* name;
    int priority;
    const char *qos, *kube;
    int minutes = 0;
    const char* deletion = nullptr;
    const char* eviction = nullptr;
    double score = -1;  // of usage; none is known
  };
  const Made pods[] = {{"test-1", 0, "", "BestEffort"},
                       {"test-10", 0, "", "Guaranteed"},
                       {"test-11", 0, "", "Burstable"},
                       {"test-12", 8, "", "BestEffort"},
                       {"test-13", 9, "", "Guaranteed"},
                       {"test-14", 10, "", "Burstable"},
                       {"test-5", 9999, "LSE", "Guaranteed"},
                       {"test-6", 9998, "LSE", "Guaranteed"},
                       {"test-3", 9899, "LS", "Burstable"},
                       {"test-9", 5000, "BE", "Burstable"},
                       {"test-2", 9000, "LS", "Burstable"},
                       {"test-8", 5999, "BE", "Burstable"},
                       {"test-15", 5000, "BE", "BestEffort"},
                       {"test-16", 5000, "BE", "BestEffort", 1, nullptr, nullptr, 0},
                       {"test-17", 5000, "BE", "BestEffort", 0, nullptr, nullptr, 0},
                       {"test-18", 5000, "BE", "BestEffort", 1, nullptr, nullptr, 0},
                       {"test-19", 5000, "BE", "BestEffort", 0, nullptr, nullptr, 0},
                       {"test-20", 5000, "BE", "BestEffort", 0, "200"},
                       {"test-21", 5000, "BE", "BestEffort", 0, "100"},
                       {"test-22", 5000, "BE", "BestEffort", 0, "200", "200"},
                       {"test-23", 5000, "BE", "BestEffort", 0, "200", "100"},
                       {"test-4", 9919, "LSR", "Guaranteed"},
                       {"test-7", 9899, "LS", "Guaranteed"}};
  std::vector<std::pair<PodRank, std::string>> ranked;
  for (const Made& made : pods) {
    api::Pod pod;
    pod.spec.priority = made.priority;
    if (*made.qos != 0) pod.metadata.labels[api::kQosLabel] = Symbol(made.qos);
    pod.status.qos_class = Symbol(made.kube);
    pod.metadata.creation_timestamp = api::Time(std::chrono::sys_seconds(std::chrono::minutes(made.minutes)));
    if (made.deletion != nullptr)
      pod.metadata.annotations[api::kDeletionCostAnnotation] = Symbol(made.deletion);
    if (made.eviction != nullptr)
      pod.metadata.annotations[api::kEvictionCostAnnotation] = Symbol(made.eviction);
    ranked.emplace_back(rank_of(pod, made.score < 0 ? 1 : -made.score), made.name);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<PodRank, std::string>::first);
  std::vector<std::string> order;
  order.reserve(ranked.size());
  for (const auto& [rank, name] : ranked) order.push_back(name);
  // Of test-18 and test-16, and of test-19 and test-17, which are alike, either may be first.
  if (order[2] == "test-16") std::swap(order[2], order[3]);
  if (order[4] == "test-17") std::swap(order[4], order[5]);
  CHECK(order == std::vector<std::string>{"test-1",  "test-12", "test-18", "test-16", "test-19", "test-17",
                                          "test-15", "test-21", "test-20", "test-23", "test-22", "test-9",
                                          "test-8",  "test-11", "test-10", "test-13", "test-14", "test-2",
                                          "test-3",  "test-7",  "test-4",  "test-6",  "test-5"});
}

TEST_CASE("who is closest to what is too much goes first") {
  constexpr std::int64_t kGi = std::int64_t{1} << 30;
  const Amounts excess = {4000, 4 * kGi};
  const std::int64_t weights[] = {1, 2};
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, usage] : std::vector<std::pair<std::string, Amounts>>{{"test-1", {2000, 5 * kGi}},
                                                                                {"test-2", {3000, 4 * kGi}},
                                                                                {"test-3", {4000, 3 * kGi}},
                                                                                {"test-4", {5000, 2 * kGi}}})
    order.emplace_back(-pod_score(usage, excess, weights), name);
  std::ranges::sort(order);
  std::vector<std::string> names;
  names.reserve(order.size());
  for (const auto& [score, name] : order) names.push_back(name);
  CHECK(names == std::vector<std::string>{"test-2", "test-1", "test-3", "test-4"});
}

TEST_CASE("a node is overloaded after more than so many passes, for a while") {
  Detector detector({.timeout = seconds(60), .abnormal = 5, .normal = 3});
  MonoTime now{seconds(1000)};
  for (int pass = 1; pass <= 5; ++pass) CHECK_FALSE(detector.mark(false, now += seconds(10)));
  CHECK(detector.mark(false, now += seconds(10)));
  CHECK(detector.is_anomaly(now + seconds(60)));
  CHECK_FALSE(detector.is_anomaly(now + seconds(61)));
  // Counting has started anew.
  for (int pass = 1; pass <= 5; ++pass) CHECK_FALSE(detector.mark(false, now + seconds(61)));
  CHECK(detector.mark(false, now + seconds(61)));
  for (int pass = 1; pass <= 3; ++pass) CHECK(detector.mark(true, now + seconds(61)));
  CHECK_FALSE(detector.mark(true, now + seconds(61)));
  // One good pass in between, and it is not in a row.
  for (int pass = 1; pass <= 5; ++pass) CHECK_FALSE(detector.mark(false, now + seconds(62)));
  detector.mark(true, now + seconds(62));
  CHECK_FALSE(detector.mark(false, now + seconds(62)));
}

TEST_CASE("what is known of a node is forgotten when nobody asks") {
  Detectors detectors(std::chrono::minutes(5));
  const AnomalyCondition twice{.timeout = seconds(60), .abnormal = 2, .normal = 1};
  MonoTime now{seconds(1000)};
  CHECK_FALSE(detectors.is_overloaded("n", twice, now));
  CHECK_FALSE(detectors.is_overloaded("n", twice, now));
  CHECK(detectors.is_overloaded("n", twice, now));
  CHECK_FALSE(detectors.is_overloaded("n", twice, now + std::chrono::minutes(6)));
  detectors.reset("n", now + std::chrono::minutes(6));
  CHECK_FALSE(detectors.is_overloaded("n", twice, now + std::chrono::minutes(6)));
  CHECK(detectors.is_overloaded("m", {.timeout = {}, .abnormal = 1, .normal = 1}, now));
  CHECK(detectors.size() == 1);
}

TEST_CASE(
    "whatever a cluster is like, nobody leaves a node that does not need it, and targets stay below their "
    "limits") {
  std::mt19937 random(27);  // NOLINT(cert-msc32-c,cert-msc51-cpp): each run the same
  const auto below = [&](unsigned n) { return static_cast<std::int64_t>(random() % n); };
  std::size_t evicted = 0, idle = 0;
  for (int round = 0; round < 400; ++round) {
    World world;
    const auto nodes = 2 + below(6);
    for (std::int64_t i = 0; i < nodes; ++i)
      world.add_node("n" + std::to_string(i) + " " + std::to_string(1000 * (1 + below(8))) + " " +
                     std::to_string(1000 * (1 + below(8))) + " 50" + (below(8) == 0 ? " cordoned" : ""));
    for (std::int64_t i = 0; i < 30; ++i)
      world.add_pod("p" + std::to_string(i) + " n" +
                    std::to_string(below(2) == 0 ? 0 : below(static_cast<unsigned>(nodes))) + " " +
                    std::to_string(below(400)) + " " + std::to_string(below(400)) +
                    (below(6) == 0 ? " stays" : "") + (below(3) == 0 ? " batch" : ""));
    PoolRules rules;
    const double low = static_cast<double>(below(50)), high = low + static_cast<double>(below(40));
    rules.thresholds = complete_thresholds({{"cpu", low}, {"memory", low}}, {{"cpu", high}, {"memory", high}},
                                           {}, {}, below(4) == 0);
    rules.weights = {1, 1};
    rules.anomaly.abnormal = 1;
    Detectors detectors(std::chrono::minutes(5)), prod(std::chrono::minutes(5));
    const std::vector<NodeLoad> before = world.loads(rules.thresholds);
    std::vector<NodeLoad> after = before;
    const Balanced done = koord::test::run_task(
        world.loop, balance(rules, after, detectors, prod, MonoTime(seconds(1)), world));
    const std::vector<Limits> limits = limits_of(rules.thresholds, before);
    evicted += done.evicted;
    idle += done.evicted == 0;
    REQUIRE(done.evicted == world.evicted.size());
    REQUIRE(std::set<std::string>(world.evicted.begin(), world.evicted.end()).size() == done.evicted);
    for (std::size_t i = 0; i < before.size(); ++i) {
      std::size_t left = 0;
      for (const PodLoad& pod : before[i].pods)
        left += static_cast<std::size_t>(std::ranges::count(world.evicted, pod.pod->metadata.name));
      if (left > 0) REQUIRE(kind_of(before[i], limits[i]) == Kind::high);
      // A target takes in no more than it may, whoever comes.
      if (kind_of(before[i], limits[i]) != Kind::high) REQUIRE_FALSE(exceeds(after[i].usage, limits[i].high));
    }
  }
  CHECK(evicted > 200);
  CHECK(idle > 50);
}

}  // namespace
}  // namespace koord::descheduler::low_node_load::test
