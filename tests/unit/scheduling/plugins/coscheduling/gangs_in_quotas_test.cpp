// Gangs whose quota has no room for all that they need.
#include <catch2/catch.hpp>
#include <functional>

#include "../elastic_quota/quota_world.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "preempting.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

using namespace std::chrono_literals;

KubeSchedulerConfiguration quotas_first() {
  KubeSchedulerConfiguration config = Gangs::config();
  config.profiles[0].plugins->multi_point.enabled.insert(
      config.profiles[0].plugins->multi_point.enabled.begin(), {"ElasticQuota", {}});
  return config;
}

struct Teams : World {
  Teams() : World(quotas_first()) {
    engine.put_node(make_node("n", "64", "64Gi"));
    quota("4");
  }
  void quota(std::string_view cpu) {
    auto made = std::make_shared<api::ElasticQuota>();
    made->metadata.name = "a";
    made->metadata.namespace_ = "quotas";
    made->spec.max = made->spec.min = {{"cpu", api::Quantity::must(cpu)}};
    engine.put_object<api::ElasticQuota>(made);
  }
  std::map<Kind, int> all() {
    std::map<Kind, int> kinds;
    for (const Decision& d : run(500)) ++kinds[d.kind()];
    return kinds;
  }
};

TEST_CASE(
    "a gang that its quota has no room for is refused, and not asked again for what it gave back itself") {
  Teams w;
  // Who waits for the same quota hears nothing of the gang's trial.
  w.engine.put_pod(make_pod("large", "9", "1Mi", in_quota("a")));
  for (int n = 0; n < 3; ++n) w.engine.put_pod(member("g", n, 3, {}, "2", in_quota("a")));
  CHECK(w.all() == std::map<Kind, int>{{Kind::unschedulable, 3}, {Kind::gated, 2}});
  for (int n = 0; n < 20; ++n) {
    w.clock.advance(std::chrono::seconds(11));
    CHECK(w.all().empty());
  }
  w.quota("6");
  w.clock.advance(std::chrono::seconds(11));
  CHECK(w.all()[Kind::bind] == 3);
}

/// Coscheduling preempts, and ElasticQuota after it, unless the profile says otherwise.
struct FullQuotas : Preempting {
  explicit FullQuotas(const std::vector<std::string>& post_filters = {"Coscheduling", "ElasticQuota"},
                      std::string_view quota_args = "{}", bool enabled = true)
      : Preempting(configuration(post_filters, quota_args, enabled)) {}
  static KubeSchedulerConfiguration configuration(const std::vector<std::string>& post_filters,
                                                  std::string_view quota_args, bool enabled) {
    KubeSchedulerConfiguration config = with_quotas(preempting_config(post_filters));
    ProfileConfig& profile = config.profiles.front();
    if (!enabled) profile.plugin_config.clear();
    PluginConfig& args = profile.plugin_config.emplace_back();
    args.name = "ElasticQuota";
    args.args = api::RawJson(std::string(quota_args));
    return config;
  }
  /// What quotas share, where nobody may go.
  void and_elsewhere() {
    engine.put_node(make_node("closed", "64", "64Gi", [](api::Node& n) { n.spec.unschedulable = true; }));
  }
  void run_in(const char* quota, const std::string& name, const std::string& node, std::string_view cpu,
              std::int32_t priority = 1, const PodEdit& more = {}) {
    run_on(name, node, cpu, priority, in_quota(quota, more));
  }
};

TEST_CASE("who goes for a gang that its quota refuses") {
  struct Row {
    const char* name;
    std::function<void(FullQuotas&)> there;
    const char *victims, *nominated;
  };
  const auto full = [](FullQuotas& w) {
    w.engine.put_object(make_quota("a", "48", "48"));
    for (const char* name : {"r1", "r2", "r3"}) w.run_in("a", name, "node-1", "16");
  };
  const Row rows[] = {
      {"all whose share it needs",
       [&](FullQuotas& w) {
         full(w);
         w.gang("g", 3, "16", 1000, 0, in_quota("a"));
       },
       "r1 r2 r3", "g-000 g-001 g-002"},
      {"who need not go stays: the most important first",
       [](FullQuotas& w) {
         w.engine.put_object(make_quota("a", "64", "64"));
         w.run_in("a", "r1", "node-1", "16", 5);
         w.run_in("a", "r2", "node-1", "16", 1);
         w.run_in("a", "r3", "node-2", "16", 9);
         w.run_in("a", "r4", "node-2", "16", 2);
         w.gang("g", 2, "16", 1000, 0, in_quota("a"));
       },
       "r2 r4", "g-000 g-001"},
      {"of what fits without it nothing is taken",
       [](FullQuotas& w) {
         w.engine.put_object(make_quota("a", "48", "48"));
         for (const char* name : {"r1", "r2"}) w.run_in("a", name, "node-1", "16");
         w.gang("g", 2, "16", 1000, 0, in_quota("a"));
       },
       "r2", "g-000 g-001"},
      {"victims of several nodes for one pod, which goes where it may",
       [](FullQuotas& w) {
         w.engine.put_object(make_quota("a", "32", "32"));
         w.run_in("a", "r1", "node-1", "16");
         w.run_in("a", "r2", "node-2", "16");
         w.gang("g", 1, "32", 1000, 0, in_quota("a", [](api::Pod& p) {
                  p.spec.node_selector["kubernetes.io/hostname"] = "node-3";
                }));
       },
       "r1 r2", "g-000"},
      {"neither has the node room",
       [](FullQuotas& w) {
         w.engine.put_object(make_quota("a", "64", "64"));
         for (const char* name : {"r1", "r2", "r3", "r4"}) w.run_in("a", name, "node-1", "16");
         w.gang("g", 2, "32", 1000, 0, in_quota("a", [](api::Pod& p) {
                  p.spec.node_selector["kubernetes.io/hostname"] = "node-1";
                }));
       },
       "r1 r2 r3 r4", "g-000 g-001"},
      {"nobody of another quota",
       [](FullQuotas& w) {
         for (const char* name : {"a", "b"}) w.engine.put_object(make_quota(name, "16", "16"));
         w.run_in("a", "r1", "node-1", "16", 2000);
         w.run_in("b", "r2", "node-1", "16");
         w.gang("g", 1, "16", 1000, 0, in_quota("a"));
       },
       "", ""},
      {"nobody of its priority, nor who may not be preempted",
       [](FullQuotas& w) {
         w.engine.put_object(make_quota("a", "32", "32"));
         w.run_in("a", "r1", "node-1", "16", 1000);
         w.run_in("a", "r2", "node-1", "16", 1,
                  [](api::Pod& p) { p.metadata.labels[std::string(api::kQuotaPreemptibleLabel)] = "false"; });
         w.gang("g", 1, "16", 1000, 0, in_quota("a"));
       },
       "", ""},
      {"nobody where all of them are not enough",
       [&](FullQuotas& w) {
         full(w);
         w.gang("g", 4, "16", 1000, 0, in_quota("a"));
       },
       "", ""},
      {"for as many as it needs where not all fit",
       [&](FullQuotas& w) {
         full(w);
         w.gang("g", 5, "16", 1000, 2, in_quota("a"));
       },
       "r2 r3", "g-000 g-001"},
      {"nobody whom a disruption budget keeps",
       [&](FullQuotas& w) {
         full(w);
         w.engine.put_object(budget(1));
         w.gang("g", 2, "16", 1000, 0, in_quota("a"));
       },
       "", ""},
      {"members of two quotas: of each whom its own members need",
       [](FullQuotas& w) {
         for (const char* name : {"a", "b"}) {
           w.engine.put_object(make_quota(name, "16", "16"));
           w.run_in(name, std::string("r") + name, "node-1", "16");
         }
         w.engine.put_pod(member("g", 0, 2, {}, "16", in_quota("a", of_priority(1000))));
         w.engine.put_pod(member("g", 1, 2, {}, "16", in_quota("b", of_priority(1000))));
       },
       "ra rb", "g-000 g-001"},
      {"it does not preempt",
       [&](FullQuotas& w) {
         full(w);
         w.gang("g", 3, "16", 1000, 0,
                in_quota("a", [](api::Pod& p) { p.spec.preemption_policy = "Never"; }));
       },
       "", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    FullQuotas w;
    w.nodes(3, "64",
            [](api::Node& n) { n.metadata.labels["kubernetes.io/hostname"] = Symbol(n.metadata.name); });
    row.there(w);
    w.all();
    INFO(w.message());
    CHECK(w.victims() == row.victims);
    std::vector<std::string_view> nominated;
    const std::string where = w.nominated();
    for (std::size_t at = where.find("g-"); at != std::string::npos; at = where.find("g-", at + 1))
      nominated.push_back(std::string_view(where).substr(at, 5));
    CHECK(fmt::format("{}", fmt::join(nominated, " ")) == row.nominated);
    CHECK(w.bound() == "");
    CHECK(w.engine.assumed() == 0);
    CHECK(w.message().find("Insufficient quotas, quotaName: ") != std::string::npos);
    const std::size_t pods = nominated.size();
    CHECK(w.engine.nominator().size() == pods);
    // What has been tried leaves nothing behind: it is asked, and no one goes, as long as nothing changes.
    if (pods == 0) {
      for (int minute = 0; minute < 20; ++minute) {
        w.later(1min);
        CHECK(w.victims() == "");
      }
      continue;
    }
    w.evict();
    w.later();
    CHECK(static_cast<std::size_t>(std::ranges::count(w.bound(), ':')) == pods);
    CHECK(w.engine.nominator().size() == 0);
  }
}

TEST_CASE("who is asked first whether somebody goes for a gang follows from the profile") {
  struct Row {
    const char* name;
    std::vector<std::string> post_filters;
    bool enabled, full;  // its quota is, too
    const char* victims;
  };
  const Row rows[] = {
      {"the chart's: of jobs", {"Coscheduling", "ElasticQuota"}, true, false, "rb"},
      {"the chart's, and its quota refuses it", {"Coscheduling", "ElasticQuota"}, true, true, "ra"},
      {"Koordinator's own: of the quota first",
       {"Coscheduling", "ElasticQuota", "DefaultPreemption"},
       false,
       false,
       "ra"},
      {"the quota's after all others",
       {"Coscheduling", "DefaultPreemption", "ElasticQuota"},
       false,
       false,
       "rb"},
      {"the quota's alone", {"ElasticQuota"}, false, false, "ra"},
      {"nobody for who is refused by its quota, if that is not asked", {"Coscheduling"}, true, true, ""},
      {"nor for who is refused by nodes, if that is not asked", {}, true, false, ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    FullQuotas w(row.post_filters, "{}", row.enabled);
    w.nodes(1, "32");
    w.and_elsewhere();
    w.engine.put_object(make_quota("a", row.full ? "16" : "32", row.full ? "16" : "32"));
    w.engine.put_object(make_quota("b", "16", "16"));
    w.run_in("a", "ra", "node-1", "16", 5);
    w.run_in("b", "rb", "node-1", "16", 1);
    w.gang("g", 1, "16", 1000, 0, in_quota("a"));
    w.all();
    CHECK(w.victims() == row.victims);
  }
}

TEST_CASE("where nobody of its quota helps a gang that nodes refuse, others go as if quotas were not asked") {
  FullQuotas w({"ElasticQuota", "Coscheduling"});
  w.nodes(1, "32");
  w.and_elsewhere();
  for (const char* name : {"a", "b"}) w.engine.put_object(make_quota(name, "32", "32"));
  for (const char* name : {"r1", "r2"}) w.run_in("b", name, "node-1", "16");
  w.gang("g", 2, "16", 1000, 0, in_quota("a"));
  w.all();
  CHECK(w.victims() == "r1 r2");
}

TEST_CASE("a quota above has to have room, too, if parents are checked") {
  for (const bool parents : {false, true}) {
    CAPTURE(parents);
    FullQuotas w({"ElasticQuota"}, parents ? R"({"enableCheckParentQuota":true})" : "{}");
    w.nodes(1, "64");
    w.engine.put_object(make_quota("up", "32", "32"));
    w.engine.put_object(make_quota("a", "32", "32", below("up")));
    w.engine.put_object(make_quota("b", "32", "0", below("up")));
    w.run_in("b", "rb", "node-1", "16", 2000);
    for (const char* name : {"r1", "r2"}) w.run_in("a", name, "node-1", "8", 1);
    w.gang("g", 2, "8", 1000, 0, in_quota("a"));
    w.all();
    // Without the check the quota may use 32.
    CHECK(w.victims() == (parents ? "r1 r2" : ""));
    CHECK(w.bound() == (parents ? "" : "g-000:node-1 g-001:node-1"));
  }
}

TEST_CASE("nobody else hears of what is tried for a gang") {
  FullQuotas w;
  w.nodes(1, "64");
  w.engine.put_object(make_quota("a", "32", "32", [](api::ElasticQuota& q) {
    q.spec.min = q.spec.max = {{"cpu", api::Quantity::must("32")}};
  }));
  w.run_in("a", "r1", "node-1", "16");
  w.run_in("a", "r2", "node-1", "16", 2000);
  w.engine.put_pod(make_pod("waits", "8", "", in_quota("a")));
  w.all();
  w.gang("g", 2, "16", 1000, 0, in_quota("a"));
  w.all();
  CHECK(w.victims() == "");
  for (const Decision& d : w.last) CHECK(d.pod->metadata.name != "waits");
  CHECK(w.run(500).empty());
  CHECK(w.bound() == "");
}

TEST_CASE("a pod that its quota refuses has one of that quota go, as a gang has") {
  for (const bool gang : {true, false}) {
    CAPTURE(gang);
    FullQuotas w;
    w.nodes(1, "64");
    w.engine.put_object(make_quota("a", "32", "32"));
    for (const char* name : {"r1", "r2"}) w.run_in("a", name, "node-1", "16");
    if (gang)
      w.gang("g", 1, "16", 1000, 0, in_quota("a"));
    else
      w.engine.put_pod(make_pod("alone", "16", "", in_quota("a", of_priority(1000))));
    w.all();
    CHECK(w.victims() == "r2");
    CHECK(w.engine.nominator().size() == 1);
  }
}

TEST_CASE("what victims leave of a quota one by one is the gang's, and not of who came in their place") {
  FullQuotas w;
  w.nodes(2, "64");
  w.engine.put_object(make_quota("a", "48", "48", [](api::ElasticQuota& q) {
    q.spec.min = q.spec.max = {{"cpu", api::Quantity::must("48")}};
  }));
  for (const char* name : {"r1", "r2", "r3"}) w.run_in("a", name, "node-1", "16");
  w.gang("g", 3, "16", 1000, 2, in_quota("a"));
  w.all();
  REQUIRE(w.victims() == "r1 r2 r3");
  w.evict(false);
  // Whoever made them makes others as soon as they are being deleted.
  for (const char* name : {"new-1", "new-2", "new-3"})
    w.engine.put_pod(make_pod(name, "16", "", in_quota("a", of_priority(1))));
  w.engine.put_pod(make_pod("more-important", "16", "", in_quota("a", of_priority(2000))));
  w.all();
  const auto bound_by_now = [&] {
    w.later();
    return w.bound();
  };
  for (const char* name : {"r1", "r2"}) {
    w.engine.remove_pod(*w.pods[name]);
    if (name == std::string_view("r1"))
      CHECK(bound_by_now().starts_with("more-important:"));
    else
      CHECK(bound_by_now() == "");
  }
  SECTION("until it is whole") {
    w.engine.remove_pod(*w.pods["r3"]);
    CHECK(std::ranges::count(bound_by_now(), ':') == 2);
    CHECK(w.last.front().pod->metadata.name.starts_with("g-"));
  }
  SECTION("or gone: then it is theirs within a second") {
    for (int n = 0; n < 3; ++n) w.engine.remove_pod(*member("g", n, 2));
    CHECK(std::ranges::count(bound_by_now(), ':') == 1);
    CHECK(w.bound().starts_with("new-"));
  }
}

TEST_CASE("a quota's pods that wait hear that something of it is kept for others") {
  FullQuotas w;
  w.nodes(2, "64");
  w.engine.put_object(make_quota("a", "33", "33"));
  w.run_in("a", "r1", "node-1", "16");
  w.run_in("a", "r2", "node-1", "16", 2000);
  w.gang("g", 1, "16", 1000, 0, in_quota("a"));
  w.all();
  REQUIRE(w.victims() == "r1");
  w.engine.put_pod(make_pod("small", "1", "", in_quota("a")));
  w.all();
  REQUIRE(w.last.size() == 1);
  CHECK(w.last[0].message().find("exceedDimensions: [cpu], kept for pods whose victims are to go: cpu:16,") !=
        std::string::npos);
}

/// Quotas full of pods of several priorities on a few nodes, and a gang of one of them.
TEST_CASE("whoever goes makes room in the quota for the whole gang, in random clusters") {
  tell_stories(400, [](const auto& below) {
    const bool chart = below(2) == 0;
    FullQuotas w(chart ? std::vector<std::string>{"Coscheduling", "ElasticQuota"}
                       : std::vector<std::string>{"Coscheduling", "ElasticQuota", "DefaultPreemption"},
                 "{}", chart);
    const int count = 1 + below(4);
    w.nodes(count, "16");
    const std::map<std::string, int> quotas{{"a", 4 + below(8 * count)}, {"b", 4 + below(8 * count)}};
    std::map<std::string, int> used;
    for (const auto& [name, most] : quotas) {
      const std::string least = std::to_string(std::min(most, 8 * count));
      w.engine.put_object(make_quota(name, std::to_string(most), least));
    }
    for (int n = 0; n < count; ++n)
      for (int left = 16 - below(4), i = 0; left > 0; ++i) {
        const char* quota = below(2) == 0 ? "a" : "b";
        const int cpu = 1 + below(std::min(left, 4));
        left -= cpu;
        if (used[quota] + cpu > quotas.at(quota)) continue;
        used[quota] += cpu;
        w.run_in(quota, fmt::format("r{}-{}", n, i), fmt::format("node-{}", n + 1), std::to_string(cpu),
                 1 + below(4) * 10);
      }
    const int size = 1 + below(5), cpu = 1 + below(4), priority = 5 + below(4) * 10;
    w.gang("g", size, std::to_string(cpu), priority, 0, in_quota("a"));
    w.all();
    if (w.victims().empty()) return false;
    CHECK(w.spares(priority));
    const auto pods = static_cast<std::ptrdiff_t>(w.engine.nominator().size());
    CHECK(pods == size);
    w.evict();
    w.later();
    CHECK(std::ranges::count(w.bound(), ':') == pods);
    CHECK(w.engine.nominator().size() == 0);
    return true;
  });
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
