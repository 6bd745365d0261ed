// What the plugin serves of quotas: the rows of Koordinator's plugin_service_test.go, and what is not there.
#include "koord/json/value.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "koord/scheduling/what_if/explain.hpp"
#include "quota_world.hpp"

namespace koord::scheduling::test {
namespace {

struct ServedWorld : QuotaWorld {
  using QuotaWorld::QuotaWorld;
  ServiceAnswer ask(std::string path, std::vector<std::pair<std::string, std::string>> query = {}) {
    for (const Profile::Named& named : engine.profiles()[0].plugins)
      if (const auto* serves = dynamic_cast<const ServicePlugin*>(named.plugin.get()))
        if (named.name == "ElasticQuota") {
          auto said = serves->serve({std::move(path), std::move(query)});
          return said ? *std::move(said) : ServiceAnswer{0, ""};
        }
    throw std::runtime_error("nobody serves");
  }
};

TEST_CASE("one quota, with its pods where they are asked for") {
  ServedWorld w;
  w.put(make_quota("test1", "100", "10", [](api::ElasticQuota& quota) {
    quota.metadata.annotations[api::kQuotaSharedWeight] = R"({"cpu":"20","memory":"20"})";
  }));
  w.bound(w.pod("pod1", "test1", "33"));
  w.pod("waits", "test1", "1");
  const std::string all =
      R"({"name":"test1","parentName":"koordinator-root-quota","isParent":false,"runtimeVersion":)";
  const ServiceAnswer alone = w.ask("/quotas/test1");
  CHECK(alone.status == 200);
  CHECK_THAT(alone.json, Catch::StartsWith(all));
  CHECK_THAT(
      alone.json,
      Catch::EndsWith(
          R"("allowLentResource":true,"tree":"","max":{"cpu":"100","memory":"1Ti"},)"
          R"("min":{"cpu":"10","memory":"0"},"autoScaleMin":{"cpu":"10","memory":"0"},)"
          R"("used":{"cpu":"33","memory":"1Mi"},"nonPreemptibleUsed":{},"request":{"cpu":"34","memory":"2Mi"},)"
          R"("nonPreemptibleRequest":{},"sharedWeight":{"cpu":"20","memory":"20"},)"
          R"("runtime":{"cpu":"34","memory":"2Mi"},"childRequest":{"cpu":"34","memory":"2Mi"},"allocated":{},)"
          R"("guaranteed":{},"selfUsed":{"cpu":"33","memory":"1Mi"},"selfNonPreemptibleUsed":{},)"
          R"("selfRequest":{"cpu":"34","memory":"2Mi"},"selfNonPreemptibleRequest":{}})"));
  CHECK_THAT(w.ask("/quotas/test1", {{"includePods", "true"}}).json,
             Catch::EndsWith(
                 R"("podCache":{"default/pod1":{"isAssigned":true,"resource":{"cpu":"33","memory":"1Mi"}},)"
                 R"("default/waits":{"isAssigned":false,"resource":{"cpu":"1","memory":"1Mi"}}}})"));
  const ServiceAnswer none = w.ask("/quotas/test2");
  CHECK(none.status == 404);
  CHECK_THAT(none.json, Catch::Contains("cannot find quota test2"));
  CHECK(w.ask("/quotas/koordinator-root-quota").status == 200);
  CHECK(w.ask("/quota").status == 0);
}

TEST_CASE("all quotas but the root, or those of one tree") {
  constexpr FeatureGate kGates[] = {{.name = "MultiQuotaTree", .enabled = true, .help = ""}};
  ServedWorld w("{}", false, FeatureGates{kGates});
  w.put(make_quota("test1", "100", "10"));
  w.put(make_quota("tree1-root", "20", "10", [](api::ElasticQuota& quota) {
    quota.metadata.labels[api::kQuotaTreeIdLabel] = "tree1";
    quota.metadata.labels[api::kQuotaIsRootLabel] = "true";
    quota.metadata.annotations[api::kQuotaTotal] = R"({"cpu":"30","memory":"30"})";
  }));
  const auto names = [&](std::vector<std::pair<std::string, std::string>> query) {
    const json::Document all = std::move(json::parse(w.ask("/quotas", std::move(query)).json)).value();
    std::string text;
    for (const auto& member : all.members())
      text += fmt::format("{}{}", text.empty() ? "" : " ", member.key());
    return text;
  };
  CHECK(names({}) == "koordinator-default-quota koordinator-system-quota test1 tree1-root");
  CHECK(names({{"tree", "tree1"}}) == "tree1-root");
  CHECK(names({{"tree", "tree2"}}).empty());
}

std::string explained(QuotaWorld& w, const std::shared_ptr<const api::Pod>& pod) {
  explain::Question question;
  question.pod = pod;
  question.now = w.clock.now();
  for (const std::string& sentence : explain::explain(w.engine, question).summary)
    if (sentence.find(" the quota ") != std::string::npos) return sentence;
  return {};
}

TEST_CASE("koord explain says which quota a pod waits for, what is used of what, and who has borrowed") {
  struct Row {
    const char* quota;
    const char* cpu;
    PodEdit edit;
    const char* sentence;
  };
  const PodEdit kept = [](api::Pod& p) { p.metadata.labels[api::kQuotaPreemptibleLabel] = "false"; };
  const Row rows[] = {
      {"c",
       "30",
       {},
       "It waits for the quota a/b/c: cpu 20 of 25 used; borrowers: a/b/d (cpu 15 beyond its min)."},
      {"c", "1", kept,
       "It waits for the quota a/b/c, of whose min pods that cannot be preempted share alone: cpu 20 of 20 "
       "used, memory 1Mi of 0 used."},
      {"d", "1", {}, "It is counted in the quota a/b/d: cpu 20 of 21 used, memory 1Mi of 2Mi used."},
      {"", "1", {}, ""},
  };
  for (const Row& row : rows) {
    INFO(row.quota << " " << row.cpu);
    QuotaWorld w;
    w.put(make_quota("a", "100", "40"));
    w.put(make_quota("b", "100", "40", below("a")));
    w.put(make_quota("c", "25", "20", below("b")));
    w.put(make_quota("d", "60", "5", below("b")));
    w.bound(w.pod("has", "c", "20", kept));
    w.bound(w.pod("borrows", "d", "20"));
    CHECK(explained(w, w.pod("asks", row.quota, row.cpu, row.edit)) == row.sentence);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
