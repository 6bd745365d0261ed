// Pods and their quotas through the engine: who is counted where, who waits, and when it is tried again.
#include "quota_world.hpp"

#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"

namespace koord::scheduling::test {

using Kind = Decision::Kind;
using namespace std::chrono_literals;

KubeSchedulerConfiguration QuotaWorld::configuration(std::string_view args, bool preempts) {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  Plugins& plugins = profile.plugins.emplace();
  plugins.multi_point.enabled = {{"ElasticQuota", {}}};
  if (preempts) plugins.post_filter.enabled = {{"ElasticQuota", {}}, {"DefaultPreemption", {}}};
  PluginConfig& own = profile.plugin_config.emplace_back();
  own.name = "ElasticQuota";
  own.args = api::RawJson{std::string(args)};
  return config;
}

namespace {

TEST_CASE(
    "what is used below a quota that moves, or goes, is used above it no more: who waits there is asked") {
  const bool goes = GENERATE(false, true);
  QuotaWorld w;
  w.put(make_quota("a", "4", "4"));
  const auto child = w.put(make_quota("child", "4", "4", below("a")));
  w.bound(w.pod("runs", "child", "3"));
  w.pod("waits", "a", "2");
  CHECK(w.outcomes() == "waits waits");
  if (goes)
    w.engine.remove_object(child);
  else
    w.put(make_quota("child", "4", "4"));
  CHECK(w.outcomes() == "waits bind");
}

TEST_CASE("a pod waits for its quota, in Koordinator's words, and only that quota's pods are asked again") {
  QuotaWorld w;
  w.put(make_quota("a", "4", "4"));
  w.put(make_quota("b", "4", "4"));
  const auto first = w.pod("first", "a", "3");
  const auto second = w.pod("second", "a", "2");
  w.pod("third", "b", "5");
  w.pod("fourth", "b", "4");
  const auto decisions = w.run();
  REQUIRE(decisions.size() == 4);
  CHECK(decisions[0].kind() == Kind::bind);
  CHECK(decisions[1].message() ==
        "0/1 nodes are available: Insufficient quotas, quotaName: a, runtime: cpu:4,memory:2Mi, used: "
        "cpu:3,memory:1Mi, pod's request: cpu:2,memory:1Mi, exceedDimensions: [cpu].");
  CHECK(
      decisions[2].message() ==
      "0/1 nodes are available: Insufficient quotas, quotaName: b, runtime: cpu:4,memory:2Mi, used: <empty>, "
      "pod's request: cpu:5,memory:1Mi, exceedDimensions: [cpu].");
  CHECK(decisions[3].kind() == Kind::bind);
  w.clock.advance(10s);
  CHECK(w.outcomes().empty());
  w.engine.remove_pod(*w.bound(first));
  CHECK(w.outcomes() == "second bind");
}

TEST_CASE("2443: what others no longer ask for is had within a second") {
  QuotaWorld w;
  w.put(make_quota("a", "100", "50"));
  w.put(make_quota("b", "100", "50"));
  const auto other = w.pod("other", "b", "50", [](api::Pod& p) { p.spec.scheduling_gates = {{"held"}}; });
  w.pod("big", "a", "80");
  CHECK(w.outcomes() == "big waits");
  w.clock.advance(10s);
  w.engine.remove_pod(*other);
  w.clock.advance(150ms);
  CHECK(w.outcomes() == "big bind");
}

TEST_CASE("a quota that may use more has its pods tried: another node, another max") {
  QuotaWorld w;
  w.put(make_quota("a", "150", "0"));
  w.pod("big", "a", "120");
  CHECK(w.outcomes() == "big waits");
  w.clock.advance(10s);
  w.node("m", "200");
  w.clock.advance(150ms);
  CHECK(w.outcomes() == "big bind");

  const auto small = w.put(make_quota("c", "1", "0"));
  w.pod("p", "c", "2");
  CHECK(w.outcomes() == "p waits");
  w.clock.advance(10s);
  // Its status alone: nothing has changed.
  auto told = std::make_shared<api::ElasticQuota>(*small);
  told->status.used = cpu_memory("1", "1");
  w.put(told);
  CHECK(w.outcomes().empty());
  w.put(make_quota("c", "2", "0"));
  CHECK(w.outcomes() == "p bind");
}

TEST_CASE("which quota a pod belongs to") {
  QuotaWorld w;
  const auto zero = [](api::ElasticQuota& q) { q.spec.max = cpu_memory("0", "0"); };
  w.put(make_quota("a", "100", "0"));
  // Of the namespace: by its own name, or as it lists it.
  w.put(make_quota("own", "0", "0", [&](api::ElasticQuota& q) {
    zero(q);
    q.metadata.namespace_ = "own";
  }));
  w.put(make_quota("listing", "0", "0", [&](api::ElasticQuota& q) {
    zero(q);
    q.metadata.annotations[std::string(api::kQuotaNamespaces)] = R"(["listed","own"])";
  }));
  const auto in = [](const char* ns) { return [ns](api::Pod& p) { p.metadata.namespace_ = ns; }; };
  w.pod("1", "a", "1", in("own"));
  w.pod("2", "", "1", in("own"));
  w.pod("3", "", "1", in("listed"));
  w.pod("4", "", "1", in("else"));
  w.pod("5", "unknown", "1", in("own"));
  const auto decisions = w.run();
  REQUIRE(decisions.size() == 5);
  const auto quota_of = [&](std::size_t i) {
    const std::string text = decisions[i].kind() == Kind::bind ? std::string() : decisions[i].message();
    const auto at = text.find("quotaName: ");
    return at == std::string::npos ? std::string() : text.substr(at + 11, text.find(',', at) - at - 11);
  };
  CHECK(quota_of(0).empty());
  CHECK(quota_of(1) == "own");
  CHECK(quota_of(2) == "listing");
  CHECK(quota_of(3).empty());
  CHECK(quota_of(4).empty());
}

TEST_CASE("a quota that comes after its pods has them, and one that goes leaves them to the default quota") {
  QuotaWorld w;
  const auto late = w.bound(w.pod("late", "a", "3"));
  w.run();
  const auto a = w.put(make_quota("a", "4", "0"));
  w.pod("next", "a", "2");
  CHECK(w.outcomes() == "next waits");
  w.clock.advance(10s);
  w.engine.remove_object(a);
  CHECK(w.outcomes() == "next bind");
}

TEST_CASE("a pod's label moves it, with what it uses") {
  QuotaWorld w;
  w.put(make_quota("a", "4", "0"));
  w.put(make_quota("b", "4", "0"));
  const auto pod = w.pod("p", "a", "3");
  w.run();
  const auto bound = w.bound(pod);
  w.pod("in a", "a", "4");
  w.pod("in b", "b", "2");
  CHECK(w.outcomes() == "in a waits, in b bind");
  w.clock.advance(10s);
  w.engine.put_pod(
      changed(bound, [](api::Pod& p) { p.metadata.labels[std::string(api::kQuotaNameLabel)] = "b"; }));
  CHECK(w.outcomes() == "in a bind");
  w.pod("more", "b", "1");
  CHECK(w.outcomes() == "more waits");
}

TEST_CASE("a binding that fails gives back what was used") {
  QuotaWorld w;
  w.put(make_quota("a", "4", "0"));
  const auto pod = w.pod("p", "a", "3");
  CHECK(w.outcomes() == "p bind");
  w.pod("q", "a", "4");
  CHECK(w.outcomes() == "q waits");
  w.clock.advance(10s);
  w.engine.remove_pod(*pod);
  CHECK(w.outcomes() == "q bind");
}

TEST_CASE("a pod that cannot be preempted has no more than its quota's min") {
  QuotaWorld w;
  w.put(make_quota("a", "50", "2", [](api::ElasticQuota& q) { q.spec.min = cpu_memory("2", "1Gi"); }));
  const auto kept = [](api::Pod& p) {
    p.metadata.labels[std::string(api::kQuotaPreemptibleLabel)] = "false";
  };
  w.pod("p", "a", "1", kept);
  w.pod("q", "a", "2", kept);
  const auto decisions = w.run();
  REQUIRE(decisions.size() == 2);
  CHECK(decisions[1].message() ==
        "0/1 nodes are available: Insufficient non-preemptible quotas, quotaName: a, min: cpu:2,memory:1Gi, "
        "nonPreemptibleUsed: cpu:1,memory:1Mi, pod's request: cpu:2,memory:1Mi, exceedDimensions: [cpu].");
  w.pod("r", "a", "2");
  CHECK(w.outcomes() == "q waits, r bind");
}

TEST_CASE("what is above a quota is asked where the arguments say so") {
  const bool asks = GENERATE(true, false);
  QuotaWorld w(asks ? R"({"enableCheckParentQuota":true,"enableRuntimeQuota":false})"
                    : R"({"enableRuntimeQuota":false})");
  w.put(make_quota("top", "4", "0"));
  w.put(make_quota("a", "10", "0", below("top")));
  const auto own = w.pod("p", "top", "3");
  CHECK(w.outcomes() == "p bind");
  w.pod("q", "a", "2");
  const Decision d = w.one();
  if (!asks) {
    CHECK(d.kind() == Kind::bind);
    return;
  }
  CHECK(d.message() ==
        "0/1 nodes are available: Insufficient quotas, quotaNameTopo: [top a], runtime: cpu:4,memory:1Ti, "
        "used: "
        "cpu:3,memory:1Mi, pod's request: cpu:2,memory:1Mi, exceedDimensions: [cpu].");
  w.clock.advance(10s);
  w.engine.remove_pod(*w.bound(own));
  CHECK(w.outcomes() == "q bind");
}

TEST_CASE("trees of their own have what their root says, and the default tree has the rest") {
  constexpr FeatureGate kGates[] = {{.name = "MultiQuotaTree", .enabled = true, .help = ""}};
  QuotaWorld w("{}", false, FeatureGates{kGates});
  const auto in_tree = [](api::ElasticQuota& q) {
    q.metadata.labels[std::string(api::kQuotaTreeIdLabel)] = "t";
  };
  w.put(make_quota("root-t", "60", "60", [&](api::ElasticQuota& q) {
    in_tree(q);
    q.metadata.labels[std::string(api::kQuotaIsRootLabel)] = "true";
    q.metadata.annotations[std::string(api::kQuotaTotal)] = R"({"cpu":"60","memory":"1Gi"})";
  }));
  w.put(make_quota("t1", "100", "0", [&](api::ElasticQuota& q) {
    in_tree(q);
    below("root-t")(q);
  }));
  w.put(make_quota("d", "100", "0"));
  const auto t = w.pod("t", "t1", "61"), d = w.pod("d", "d", "41");
  CHECK(w.outcomes() == "t waits, d waits");
  w.engine.remove_pod(*t);
  w.engine.remove_pod(*d);
  w.pod("t2", "t1", "60");
  w.pod("d2", "d", "40");
  CHECK(w.outcomes() == "t2 bind, d2 bind");
}

TEST_CASE("of quotas of one name in two trees the first namespace's counts, then the other one's") {
  constexpr FeatureGate kGates[] = {{.name = "MultiQuotaTree", .enabled = true, .help = ""}};
  QuotaWorld w("{}", false, FeatureGates{kGates});
  for (const std::string tree : {"t1", "t2"})
    w.put(make_quota("root-" + tree, "30", "30", [&](api::ElasticQuota& q) {
      q.metadata.labels[std::string(api::kQuotaTreeIdLabel)] = tree;
      q.metadata.labels[std::string(api::kQuotaIsRootLabel)] = "true";
      q.metadata.annotations[std::string(api::kQuotaTotal)] = R"({"cpu":"30","memory":"1Gi"})";
    }));
  const auto same = [&](const char* ns, const std::string& tree, const char* most) {
    return make_quota("q", most, most, [&](api::ElasticQuota& q) {
      q.metadata.namespace_ = ns;
      q.metadata.labels[std::string(api::kQuotaTreeIdLabel)] = tree;
      below("root-" + tree)(q);
    });
  };
  w.put(same("b", "t2", "20"));
  const auto first = w.put(same("a", "t1", "10"));
  const auto large = w.pod("large", "q", "15");
  CHECK(w.outcomes() == "large waits");
  w.engine.remove_object(first);
  w.clock.advance(std::chrono::seconds(1));
  CHECK(w.outcomes() == "large bind");
  w.bound(large);
  // It takes its pods with it when it comes again.
  w.put(first);
  w.pod("small", "q", "1");
  CHECK(w.outcomes() == "small waits");
  w.engine.remove_object(first);
  w.clock.advance(std::chrono::seconds(1));
  CHECK(w.outcomes() == "small bind");
}

TEST_CASE("a quota whose min is above its max has its max, and the others what is theirs") {
  QuotaWorld w;
  w.put(make_quota("odd", "4", "8"));
  w.put(make_quota("other", "100", "90"));
  w.pod("five", "odd", "5");
  w.pod("four", "odd", "4");
  w.pod("ninety", "other", "90");
  CHECK(w.outcomes() == "five waits, four bind, ninety bind");
}

TEST_CASE("who asks about a pod that nobody has created hears of its quota as if it were there") {
  QuotaWorld w;
  w.put(make_quota("a", "4", "0"));
  const auto asked = [&](const char* cpu) {
    const auto pod = make_pod(
        "new", cpu, "1Mi", [](api::Pod& p) { p.metadata.labels[std::string(api::kQuotaNameLabel)] = "a"; });
    return w.engine.refusal(w.engine.profiles()[0], pod).has_value();
  };
  CHECK_FALSE(asked("4"));
  CHECK(asked("5"));
  w.pod("p", "a", "4");
  CHECK(w.outcomes() == "p bind");
  CHECK(asked("1"));
}

TEST_CASE("what is used of a min is named from the first pod on that cannot be preempted") {
  QuotaWorld w;
  w.put(make_quota("a", "10", "1"));
  const auto first = w.bound(w.pod("first", "a", "1"));
  const auto why = [&](const char* name) {
    w.pod(name, "a", "2", [](api::Pod& p) { p.metadata.labels[api::kQuotaPreemptibleLabel] = "false"; });
    std::string message;
    for (const Decision& d : w.run())
      if (d.pod->metadata.name == name) message = d.message();
    const auto at = message.find("nonPreemptibleUsed: ");
    return at == std::string::npos ? message : message.substr(at, message.find(", pod's") - at);
  };
  CHECK(why("p") == "nonPreemptibleUsed: <empty>");
  w.engine.remove_pod(*w.bound(w.pod(
      "kept", "a", "1", [](api::Pod& p) { p.metadata.labels[api::kQuotaPreemptibleLabel] = "false"; })));
  CHECK(why("q") == "nonPreemptibleUsed: cpu:0,memory:0");
}

TEST_CASE("a pod that is being deleted counts as the gates say: Koordinator's rows") {
  struct Row {
    const char* gate;
    int since;  // seconds after it was asked to go, in 30
    bool counts;
  };
  const Row rows[] = {
      {"", 0, true},
      {"", 40, true},
      {"ElasticQuotaIgnoreTerminatingPod", 10, true},
      {"ElasticQuotaIgnoreTerminatingPod", 40, false},
      {"ElasticQuotaImmediateIgnoreTerminatingPod", 0, false},
  };
  const bool from_the_start = GENERATE(true, false);
  for (const Row& row : rows) {
    INFO(row.gate << " " << row.since << " " << from_the_start);
    const FeatureGate gates[] = {{.name = row.gate, .enabled = true, .help = ""}};
    QuotaWorld w("{}", false, *row.gate != '\0' ? FeatureGates{gates} : FeatureGates{});
    w.put(make_quota("a", "10", "10"));
    auto leaving = make_pod("leaves", "10", "1Mi", [](api::Pod& p) {
      p.metadata.labels[api::kQuotaNameLabel] = "a";
      p.spec.node_name = "n";
    });
    if (!from_the_start) w.engine.put_pod(leaving);
    w.engine.put_pod(changed(leaving, [&](api::Pod& p) {
      p.metadata.deletion_timestamp = api::Time(w.clock.now() - std::chrono::seconds(row.since));
      p.metadata.deletion_grace_period_seconds = 30;
    }));
    w.pod("next", "a", "1");
    CHECK(w.outcomes() == (row.counts ? "next waits" : "next bind"));
  }
}

TEST_CASE("what nobody can have is cut, and the others have what is theirs") {
  constexpr std::string_view kAll = "9223372036854775807";
  QuotaWorld w;
  w.put(make_quota("top", kAll, "0"));
  for (const char* name : {"greedy", "too"})
    w.put(make_quota(name, kAll, kAll, [&](api::ElasticQuota& q) {
      below("top")(q);
      q.spec.min["memory"] = q.spec.max["memory"] = api::Quantity::must(kAll);
      q.metadata.labels[api::kQuotaLendsLabel] = "false";
    }));
  w.put(make_quota("honest", "10", "4"));
  w.put(make_quota("lends", "10", "4"));
  for (int i = 0; i < 4; ++i)
    w.pod(fmt::format("huge-{}", i), "lends", kAll, [&](api::Pod& p) {
      p.spec.containers[0].resources.requests["memory"] = api::Quantity::must(kAll);
    });
  w.pod("p", "honest", "4");
  const auto decisions = w.run();
  REQUIRE(decisions.size() == 5);
  CHECK(decisions[4].kind() == Kind::bind);
  // Of a sum that wraps round nothing would be left.
  CHECK_THAT(decisions[3].message(), Catch::Contains("quotaName: lends, runtime: cpu:4,"));
}

}  // namespace
}  // namespace koord::scheduling::test
