// DefaultPreemption: its arguments, and what becomes of pods that fit nowhere.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "scheduling/plugins/default_preemption/args.hpp"
#include "support/sanitized.hpp"
#include "world.hpp"

namespace koord::scheduling::default_preemption {
namespace {

TEST_CASE("arguments of preemption are refused in kube-scheduler's words") {
  struct Row {
    std::int32_t percentage, absolute;
    const char* why;
  };
  const Row rows[] = {
      {10, 100, ""},
      {100, 0, ""},
      {-1, 100, "args.minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]"},
      {101, 100, "args.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]"},
      {10, -1, "args.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)"},
      {0, 0,
       "[args.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
       "minCandidateNodesAbsolute, args.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the "
       "same time as minCandidateNodesPercentage]"},
  };
  for (const Row& row : rows) {
    FieldErrors errors;
    DefaultPreemptionArgs{row.percentage, row.absolute}.validate("args", errors);
    CAPTURE(row.percentage, row.absolute);
    CHECK((errors.empty() ? "" : errors.text()) == row.why);
  }
}

using namespace koord::scheduling::test;

KubeSchedulerConfiguration with_preemption(int percentage = 10, int absolute = 100) {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  PluginSet& asked = profile.plugins.ensure().post_filter;
  asked.disabled.push_back({"*", {}});
  asked.enabled.push_back({"DefaultPreemption", {}});
  PluginConfig& args = profile.plugin_config.emplace_back();
  args.name = "DefaultPreemption";
  args.args = api::RawJson(fmt::format(
      R"({{"minCandidateNodesPercentage":{},"minCandidateNodesAbsolute":{}}})", percentage, absolute));
  return config;
}

std::shared_ptr<const api::Node> small_node(const std::string& name, const NodeEdit& edit = {}) {
  return make_node(name, "500m", "8Gi", edit);
}

/// Of that many milli-CPUs; on a node unless its name is empty.
std::shared_ptr<const api::Pod> pod(const std::string& name, int cpu, int priority,
                                    const std::string& node = "", const PodEdit& edit = {}) {
  return make_pod(name, fmt::format("{}m", cpu), "", [&](api::Pod& p) {
    p.spec.priority = priority;
    p.spec.node_name = Symbol(node);
    p.metadata.labels["app"] = Symbol(name.substr(0, name.find('-')));
    if (edit) edit(p);
  });
}

std::shared_ptr<const api::PodDisruptionBudget> budget(const std::string& app, int allowed) {
  auto made = std::make_shared<api::PodDisruptionBudget>();
  made->metadata.name = app;
  made->metadata.namespace_ = "default";
  made->spec.selector.ensure().match_labels["app"] = Symbol(app);
  made->status.disruptions_allowed = allowed;
  return made;
}

std::string victims(const Decision& d) {
  std::string all;
  for (const auto& victim : d.preemption().victims)
    all.append(all.empty() ? "" : " ").append(victim.pod->metadata.name);
  return all;
}

/// "node: victims"
std::string outcome(const Decision& d) {
  return d.nominate() && !d.nominate()->empty() ? fmt::format("{}: {}", d.nominate()->view(), victims(d))
                                                : d.message();
}

TEST_CASE("a pod takes the place of one of a lower priority") {
  World world{with_preemption()};
  const auto victim = pod("victim", 300, 0, "n"), preemptor = pod("p", 300, 1000);
  world.engine.put_node(small_node("n"));
  world.engine.put_pod(victim);
  world.engine.put_pod(preemptor);
  const Decision d = world.one();
  CHECK(d.kind() == Decision::Kind::unschedulable);
  CHECK(d.message() == "0/1 nodes are available: 1 Insufficient cpu.");
  CHECK(outcome(d) == "n: victim");
  CHECK(d.preemption().tried);
  CHECK(d.preemption().chosen == 1);
  CHECK(world.engine.nominator().size() == 1);

  // Its victim ends before it is known that it was asked to: the pod is tried only then, and not too late.
  world.engine.remove_pod(*victim);
  world.clock.advance(std::chrono::seconds(20));
  CHECK(world.run().empty());
  world.engine.preempted(*preemptor, true);
  const Decision bound = world.one();
  CHECK(bound.kind() == Decision::Kind::bind);
  CHECK(bound.node() == "n");
}

TEST_CASE(
    "when its victims could not be asked the pod is tried again after its backoff; else it waits for them") {
  World world{with_preemption()};
  const auto victim = pod("victim", 300, 0, "n"), preemptor = pod("p", 300, 1000);
  world.engine.put_node(small_node("n"));
  world.engine.put_pod(victim);
  world.engine.put_pod(preemptor);
  CHECK(outcome(world.one()) == "n: victim");
  // However often that is, and although nothing else is to do: 1 s, 2, 4, 8, 10, and windows of a second.
  int asked = 0;
  for (int second = 0; second < 60; ++second) {
    world.engine.preempted(*preemptor, false);
    for (const Decision& d : world.run()) asked += outcome(d) == "n: victim";
    world.clock.advance(std::chrono::seconds(1));
  }
  CHECK(asked > 5);
  CHECK(asked < 10);
  world.clock.advance(std::chrono::seconds(20));
  world.run();
  world.engine.preempted(*preemptor, true);
  world.clock.advance(std::chrono::seconds(20));
  CHECK(world.run().empty());
  world.engine.remove_pod(*victim);
  CHECK(world.one().kind() == Decision::Kind::bind);
}

TEST_CASE("why preemption does not help, in kube-scheduler's words") {
  struct Row {
    const char* name;
    std::vector<std::shared_ptr<const api::Pod>> there;
    std::shared_ptr<const api::Pod> pod;
    const char* message;
    bool keeps_nomination = false;
  };
  const Row rows[] = {
      {"the same priority",
       {pod("a", 300, 0, "n")},
       pod("p", 300, 0),
       "1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming "
       "pod."},
      {"it is larger than the node",
       {},
       pod("p", 600, 1000),
       "1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for "
       "scheduling."},
      {"it does not follow from pods",
       {pod("a", 300, 0, "n")},
       pod("p", 300, 1000, "", [](api::Pod& p) { p.spec.node_selector["disk"] = "ssd"; }),
       "1 node(s) didn't match Pod's node affinity/selector. preemption: 0/1 nodes are available: 1 "
       "Preemption is "
       "not helpful for scheduling."},
      {"it takes more than what would go",
       {pod("a", 100, 0, "n"), pod("b", 300, 1000, "n")},
       pod("p", 300, 1000),
       "1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu."},
      {"it does not want to",
       {pod("a", 300, 0, "n")},
       pod("p", 300, 1000, "", [](api::Pod& p) { p.spec.preemption_policy = "Never"; }),
       "1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
       true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    World world{with_preemption()};
    world.engine.put_node(small_node("n"));
    for (const auto& each : row.there) world.engine.put_pod(each);
    world.engine.put_pod(row.pod);
    const Decision d = world.one();
    CHECK(d.message() == fmt::format("0/1 nodes are available: {}", row.message));
    CHECK(d.preemption().victims.empty());
    CHECK(d.preemption().tried);
    CHECK(d.nominate().has_value() != row.keeps_nomination);
  }
}

TEST_CASE("a pod whose victims still end does not ask for others") {
  struct Row {
    const char* name;
    const char* reason;  // of DisruptionTarget; nullptr: no such condition
    bool cordoned, tries;
  };
  const Row rows[] = {
      {"it preempted them", "PreemptionByScheduler", false, false},
      {"they end for another reason", "EvictionByEvictionAPI", false, true},
      {"or for none", nullptr, false, true},
      {"its node will not do in any case", "PreemptionByScheduler", true, true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    World world{with_preemption()};
    world.engine.put_node(small_node("n", [&](api::Node& n) { n.spec.unschedulable = row.cordoned; }));
    world.engine.put_node(small_node("other"));
    world.engine.put_pod(pod("victim", 300, 0, "n", [&](api::Pod& p) {
      p.metadata.deletion_timestamp = api::Time(WallTime(std::chrono::seconds(1)));
      if (row.reason != nullptr)
        p.status.conditions.push_back({.type = "DisruptionTarget", .status = "True", .reason = row.reason});
    }));
    world.engine.put_pod(pod("spare", 300, 0, "other"));
    world.engine.put_pod(pod("p", 300, 1000, "", [](api::Pod& p) { p.status.nominated_node_name = "n"; }));
    const Decision d = world.one();
    const bool not_eligible =
        d.message().ends_with("preemption: not eligible due to a terminating pod on the nominated node.");
    CHECK(not_eligible != row.tries);
    CHECK(d.nominate().has_value() == row.tries);
  }
}

TEST_CASE("victims on a node that is gone keep no pod from asking for others") {
  World world{with_preemption()};
  world.engine.put_node(small_node("n"));
  world.engine.put_node(small_node("other"));
  world.engine.put_pod(pod("victim", 300, 0, "n", [](api::Pod& p) {
    p.metadata.deletion_timestamp = api::Time(WallTime(std::chrono::seconds(1)));
    p.status.conditions.push_back(
        {.type = "DisruptionTarget", .status = "True", .reason = "PreemptionByScheduler"});
  }));
  world.engine.put_pod(pod("spare", 300, 0, "other"));
  world.engine.remove_node("n");
  world.engine.put_pod(pod("p", 300, 1000, "", [](api::Pod& p) { p.status.nominated_node_name = "n"; }));
  CHECK(outcome(world.one()) == "other: spare");
}

TEST_CASE("of victims those that end already are not asked again") {
  World world{with_preemption()};
  world.engine.put_node(small_node("n"));
  world.engine.put_pod(pod("a-ends", 200, 0, "n", [](api::Pod& p) {
    p.metadata.deletion_timestamp = api::Time(WallTime(std::chrono::seconds(1)));
  }));
  world.engine.put_pod(pod("b-runs", 200, 0, "n"));
  world.engine.put_pod(pod("p", 500, 1000));
  const Decision d = world.one();
  CHECK(outcome(d) == "n: b-runs");
  CHECK(d.preemption().chosen == 2);
}

TEST_CASE("preemption leaves room to those who were nominated before, and takes it from lower ones") {
  World world{with_preemption()};
  world.engine.put_node(small_node("n"));
  world.engine.put_node(small_node("spare"));
  world.engine.put_pod(pod("a", 500, 0, "n"));
  world.engine.put_pod(pod("b", 500, 100, "spare"));
  // The victim of the lowest priority is on n; n is then the first one's.
  world.engine.put_pod(pod("first", 300, 1000));
  CHECK(outcome(world.one()) == "n: a");
  world.engine.put_pod(pod("second", 300, 1000));
  CHECK(outcome(world.one()) == "spare: b");
  world.engine.put_pod(pod("third", 300, 1000));
  CHECK(outcome(world.one()) ==
        "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 Insufficient "
        "cpu.");
  world.engine.put_pod(pod("highest", 300, 2000));
  const Decision d = world.one();
  CHECK(outcome(d) == "n: a");
  REQUIRE(d.preemption().nominations.size() == 1);
  CHECK(d.preemption().nominations[0].pod->metadata.name == "first");
  CHECK(d.preemption().nominations[0].node.empty());
}

TEST_CASE("budgets are respected as far as there is a choice") {
  World world{with_preemption()};
  for (const char* name : {"n1", "n2", "n3"}) world.engine.put_node(small_node(name));
  world.engine.put_pod(pod("kept-1", 500, 0, "n1"));
  world.engine.put_pod(pod("kept-2", 500, 0, "n2"));
  world.engine.put_pod(pod("spare", 500, 100, "n3"));
  world.engine.put_object(budget("kept", 0));
  world.engine.put_pod(pod("p", 500, 1000));
  CHECK(outcome(world.one()) == "n3: spare");
  world.engine.put_object(budget("kept", 1));
  world.engine.put_pod(pod("q", 500, 1000));
  CHECK(outcome(world.one()).find("kept") != std::string::npos);
  world.engine.put_object(budget("kept", 0));
  world.engine.put_pod(pod("r", 500, 1000));
  CHECK(outcome(world.one()).find("kept") != std::string::npos);
}

TEST_CASE("candidates are sampled from a random place on; one that breaks no budget is looked for further") {
  std::set<std::string> chosen;
  World world{with_preemption(40, 1)};
  for (int n = 1; n <= 5; ++n) {
    world.engine.put_node(small_node(fmt::format("n{}", n)));
    // The lower the number, the less it is a loss.
    world.engine.put_pod(pod(fmt::format("x-{}", n), 500, n, fmt::format("n{}", n)));
  }
  const auto ask = [&](const std::string& name) {
    const auto preemptor = pod(name, 500, 1000);
    world.engine.put_pod(preemptor);
    std::string said = outcome(world.one());
    world.engine.remove_pod(*preemptor);
    world.engine.preempted(*preemptor, true);
    return said;
  };
  for (int i = 0; i < 100; ++i) chosen.insert(ask(fmt::format("p{}", i)));
  CHECK(chosen == std::set<std::string>{"n1: x-1", "n2: x-2", "n3: x-3", "n4: x-4"});
  world.engine.put_object(budget("x", 0));
  world.engine.put_pod(pod("free", 500, 900, "n5"));
  world.engine.remove_pod(*pod("x-5", 500, 5, "n5"));
  for (int i = 0; i < 20; ++i) CHECK(ask(fmt::format("q{}", i)) == "n5: free");
}

TEST_CASE("what is kept of dry runs is what new ones say") {
  Random random(7);
  World kept{with_preemption(100, 0)};
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
  std::map<std::string, std::shared_ptr<const api::Pod>> pods;
  std::map<std::string, std::shared_ptr<const api::PodDisruptionBudget>> budgets;
  const auto put_all = [&](World& world) {
    for (const auto& [name, node] : nodes) world.engine.put_node(node);
    for (const auto& [name, each] : pods) world.engine.put_pod(each);
    for (const auto& [name, each] : budgets) world.engine.put_object(each);
  };
  for (int n = 0; n < 6; ++n) nodes[fmt::format("n{}", n)] = small_node(fmt::format("n{}", n));
  put_all(kept);
  int made = 0;
  std::size_t preempted = 0;
  // A time of its own for each, so that no two nodes' victims are the same loss.
  const auto started = [&](api::Pod& p) {
    p.status.start_time = api::Time(WallTime(std::chrono::seconds(random.below(1'000'000'000))));
  };
  const int kSteps = koord::test::is_short() ? 200 : 400;
  for (int step = 0; step < kSteps; ++step) {
    CAPTURE(step);
    const std::string node = fmt::format("n{}", random.below(6)), app = fmt::format("app{}", random.below(3));
    switch (random.below(6)) {
      case 0:
      case 1: {
        const auto each = pod(fmt::format("{}-{}", app, made++), 50 + 50 * static_cast<int>(random.below(4)),
                              100 * static_cast<int>(random.below(4)), node, started);
        pods[each->metadata.name] = each;
        kept.engine.put_pod(each);
        break;
      }
      case 2:
      case 3: {
        if (pods.empty()) break;
        const auto it = std::next(pods.begin(), random.below(static_cast<std::uint32_t>(pods.size())));
        if (random.below(2) == 0) {
          it->second = changed(it->second, started);
          kept.engine.put_pod(it->second);
        } else {
          kept.engine.remove_pod(*it->second);
          pods.erase(it);
        }
        break;
      }
      case 4:
        budgets[app] = budget(app, static_cast<int>(random.below(3)));
        kept.engine.put_object(budgets[app]);
        break;
      default:
        nodes[node] = small_node(node, [&](api::Node& n) { n.spec.unschedulable = random.below(3) == 0; });
        kept.engine.put_node(nodes[node]);
    }
    World fresh{with_preemption(100, 0)};
    put_all(fresh);
    const auto probe = pod("probe", 300 + 100 * static_cast<int>(random.below(3)),
                           100 + 100 * static_cast<int>(random.below(2)) * 9);
    std::vector<std::string> said;
    for (World* world : {&kept, &fresh}) {
      world->engine.put_pod(probe);
      const auto out = world->run();
      REQUIRE(out.size() == 1);
      // Where it fits anywhere the choice is random.
      said.push_back(out[0].kind() == Decision::Kind::bind ? "bound" : outcome(out[0]));
      preempted += !out[0].preemption().victims.empty();
      world->engine.remove_pod(*probe);
      world->engine.preempted(*probe, true);
    }
    CHECK(said[0] == said[1]);
  }
  CHECK(preempted > static_cast<std::size_t>(kSteps) / 4);
}

}  // namespace
}  // namespace koord::scheduling::default_preemption
