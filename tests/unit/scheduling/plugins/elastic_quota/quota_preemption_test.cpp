// Who goes for a pod of a higher priority: pods of its own quota, where that makes room in the quota and on a
// node.
#include "quota_world.hpp"

namespace koord::scheduling::test {
namespace {

using namespace std::chrono_literals;

PodEdit priority(std::int32_t value, bool kept = false) {
  return [=](api::Pod& p) {
    p.spec.priority = value;
    if (kept) p.metadata.labels[std::string(api::kQuotaPreemptibleLabel)] = "false";
  };
}

std::string victims(const Decision& d) {
  std::vector<std::string> names;
  for (const auto& victim : d.preemption().victims) names.push_back(victim.pod->metadata.name);
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, " "));
}

struct Full : QuotaWorld {
  explicit Full(std::string_view args = "{}") : QuotaWorld(args, true) {
    put(make_quota("a", "4", "4"));
    put(make_quota("b", "90", "50"));
    on_node("a-low", "a", "3", priority(1));
    on_node("a-kept", "a", "1", priority(1, true));
    on_node("b-low", "b", "5", priority(1));
  }
  void on_node(const char* name, const char* quota, const char* cpu, const PodEdit& edit) {
    auto made = make_pod(name, cpu, "1Mi", [&](api::Pod& p) {
      if (*quota != 0) p.metadata.labels[std::string(api::kQuotaNameLabel)] = quota;
      p.spec.node_name = "n";
      edit(p);
    });
    engine.put_pod(made);
  }
  Decision high(const char* quota, const char* cpu, std::int32_t value = 10) {
    pod("high", quota, cpu, priority(value));
    return one();
  }
};

TEST_CASE("a pod that its quota refuses has one of its own quota go") {
  Full w;
  const Decision d = w.high("a", "2");
  CHECK(d.kind() == Decision::Kind::unschedulable);
  CHECK(victims(d) == "a-low");
}

TEST_CASE("nobody goes in vain, and nobody of another quota for what the quota refuses") {
  Full w;
  // With a-kept, which stays, it is too much.
  const Decision d = w.high("a", "4");
  CHECK(victims(d).empty());
  CHECK(d.message().find("Insufficient quotas, quotaName: a") != std::string::npos);
}

TEST_CASE("nobody of an equal priority goes") {
  Full w;
  CHECK(victims(w.high("a", "2", 1)).empty());
}

TEST_CASE("what fills the node goes by quota first") {
  Full w;
  w.on_node("b-more", "b", "85", priority(2));
  w.on_node("other", "", "6", priority(1));
  const Decision d = w.high("b", "3");
  CHECK(victims(d) == "b-low");
}

TEST_CASE("pods of the default quota are spared unless the arguments say otherwise") {
  const bool spared = GENERATE(true, false);
  QuotaWorld w(spared ? "{}" : R"({"disableDefaultQuotaPreemption":false})", true);
  auto full = make_quota(std::string(api::kDefaultQuota), "4", "0");
  w.put(full);
  auto low = make_pod("low", "3", "1Mi", [](api::Pod& p) {
    p.spec.node_name = "n";
    p.spec.priority = 1;
  });
  w.engine.put_pod(low);
  w.pod("high", "", "2", priority(10));
  CHECK(victims(w.one()) == (spared ? "" : "low"));
}

}  // namespace
}  // namespace koord::scheduling::test
