// Memory eviction, with the original's rows: who goes, in which order, when, and who never does.
#include "rigs/evict_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using testing::enabled;
using testing::EvictRig;
using testing::EvictRow;
using testing::Names;
using testing::six;

TEST_CASE("Best-effort pods go for want of memory: by priority, then by use", "[koordlet][evict]") {
  struct Case {
    std::optional<std::int64_t> threshold, lower;
    double used;
    std::vector<EvictRow> pods;
    Names victims;
  };
  const Case cases[] = {
      {80, {}, 80, six(4, 8, 8), {}},
      {82, {}, 115, six(5, 20, 10), {"be_100_2"}},
      {80, {}, 115, six(5, 20, 10), {"be_100_2", "be_100_1"}},
      {50, {}, 115, six(5, 20, 10), {"be_100_2", "be_100_1", "be_120"}},
      {82, 80, 115, six(5, 20, 10), {"be_100_2"}},
      {82, 78, 115, six(5, 20, 10), {"be_100_2", "be_100_1"}},
      {82, 74, 115, six(5, 20, 10), {"be_100_2", "be_100_1", "be_120"}},
      {80, 79, 96, six(5, 20, 10), {"be_100_2"}},  // 80%, to 79%: 1.2 GB
      {80, 65, 115, six(20, 5, 10), {"be_100_1", "be_100_2", "be_120"}},
      {80, 80, 115, six(5, 20, 10), {}},  // the lower mark is not lower
      {80, 81, 115, six(5, 20, 10), {}},
      {-1, {}, 115, six(5, 20, 10), {}},
      {{}, {}, 115, six(5, 20, 10), {}},
      {80, {}, kUnknown, six(5, 20, 10), {}},
      // What is not measured would free nothing.
      {80, {}, 115, six(kUnknown, kUnknown, 10), {"be_120"}},
      {80, {}, 115, {{"a", Qos::be, 100, 2}, {"b", Qos::be, 100, 2}}, {"b", "a"}},
  };
  for (const Case& one : cases) {
    EvictRig rig("BEMemoryEvict=true");
    auto& slo = rig.slo();
    slo.memory_evict_threshold_percent = one.threshold;
    slo.memory_evict_lower_percent = one.lower;
    rig.pods(one.pods);
    rig.node_memory = one.used;
    CHECK(rig.tick_for() == one.victims);
  }
}

TEST_CASE("Nothing goes where the NodeSLO or the gates do not say so", "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true");
  auto& slo = rig.slo();
  slo.memory_evict_threshold_percent = 50;
  rig.pods(six(5, 20, 10));
  rig.node_memory = 115;
  SECTION("switched off") { slo.enable = false; }
  SECTION("not said") { slo.enable.reset(); }
  SECTION("another gate") {
    REQUIRE(rig.gates.set("BEMemoryEvict=false,MemoryAllocatableEvict=true").has_value());
    rig.restart();
  }
  SECTION("no gate") {
    REQUIRE(rig.gates.set("BEMemoryEvict=false").has_value());
    rig.restart();
  }
  SECTION("no period") { rig.seconds["memory-evict-interval-seconds"] = {}, rig.restart(); }
  SECTION("no memory") { rig.inventory.node.capacity_memory = 0; }
  SECTION("no NodeSLO") { rig.inventory.slo = nullptr; }
  SECTION("a NodeSLO that says nothing of it") { rig.inventory.slo = std::make_shared<api::NodeSloSpec>(); }
  CHECK(rig.tick_for(3).empty());
}

// The original's rows with several gates: what one of them cannot do, since it is not configured, the others
// do.
TEST_CASE("Several gates share what they free", "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true,MemoryEvict=true,MemoryAllocatableEvict=true");
  auto& slo = rig.slo();
  slo.memory_evict_threshold_percent = 82;
  slo.memory_evict_lower_percent = 74;  // 25.2 GB
  rig.node_memory = 115;
  std::vector<EvictRow> pods = six(5, 20, 10);
  Names expected{"be_100_2", "be_100_1", "be_120"};
  SECTION("MemoryEvict and MemoryAllocatableEvict are not configured") {}
  SECTION("MemoryAllocatableEvict is not") { slo.evict_enabled_priority_threshold = 3000; }
  SECTION("all are") {
    slo.evict_enabled_priority_threshold = 3000;
    slo.memory_allocatable_evict_threshold_percent = 45;
    slo.memory_allocatable_evict_lower_percent = 40;
    slo.allocatable_evict_priority_threshold = 5000;
    rig.inventory.node.extended = {{"kubernetes.io/batch-memory", 100}};
    pods.push_back({"batch-1", Qos::be, 5000, 10, kUnknown, {.batch_memory = 20}, enabled()});
    pods.push_back({"batch-2", Qos::be, 5000, 20, kUnknown, {.batch_memory = 30}, enabled()});
    expected.push_back("batch-2");
  }
  rig.pods(pods);
  CHECK(rig.tick_for() == expected);
}

TEST_CASE("Pods that enabled it go by eviction-priority, priority, the label, then use",
          "[koordlet][evict]") {
  EvictRig rig("MemoryEvict=true");
  auto& slo = rig.slo();
  slo.memory_evict_threshold_percent = 80;
  slo.memory_evict_lower_percent = 1;  // as many as there are
  slo.evict_enabled_priority_threshold = 3000;
  rig.node_memory = 115;
  SECTION("the original's first row") {
    EvictionTerms off;
    rig.pods({{"disabled", Qos::lsr, 1000, 40, kUnknown, {}, off},
              {"higher", Qos::ls, 3400, 30, kUnknown, {}, enabled(0, 1000)},
              {"120_2000", Qos::none, 120, 10, kUnknown, {}, enabled(0, 2000)},
              {"120_3000", Qos::be, 120, 5, kUnknown, {}, enabled(0, 3000)},
              {"120_4000", Qos::be, 120, 20, kUnknown, {}, enabled(0, 4000)},
              {"100", Qos::be, 100, 10, kUnknown, {}, enabled()},
              {"100_1", Qos::be, 100, 11, kUnknown, {}, enabled()}});
    CHECK(rig.tick_for() == Names{"100_1", "100", "120_2000", "120_3000", "120_4000"});
  }
  SECTION("eviction-priority goes before all else") {
    rig.pods({{"plus", Qos::be, 120, 40, kUnknown, {}, enabled(100, 3000)},
              {"minus", Qos::be, 120, 5, kUnknown, {}, enabled(-1, 4000)},
              {"unset", Qos::be, 100, 10, kUnknown, {}, enabled()},
              {"invalid", Qos::be, 120, 20, kUnknown, {}, enabled()}});
    CHECK(rig.tick_for() == Names{"minus", "unset", "invalid", "plus"});
  }
  SECTION("eviction-policy names the gates that may") {
    EvictionTerms other = enabled();
    other.policies = {"CPUEvict", "BEMemoryEvict"};
    EvictionTerms this_one = enabled();
    this_one.policies = {"MemoryEvict"};
    EvictionTerms alike = enabled();
    alike.policies = {"Memory", "MemoryEvictHigh"};
    rig.pods({{"other", Qos::be, 100, 10, kUnknown, {}, other},
              {"this", Qos::be, 100, 10, kUnknown, {}, this_one},
              {"alike", Qos::be, 100, 10, kUnknown, {}, alike}});
    CHECK(rig.tick_for() == Names{"this"});
  }
  SECTION("what each frees is counted in bytes") {
    slo.memory_evict_lower_percent = 78;  // 95% to 78% of 120 GB: 20.4 GB
    rig.pods({{"a", Qos::be, 100, 9, kUnknown, {}, enabled()},
              {"b", Qos::be, 100, 8, kUnknown, {}, enabled()},
              {"c", Qos::be, 100, 7, kUnknown, {}, enabled()},
              {"d", Qos::be, 100, 6, kUnknown, {}, enabled()}});
    CHECK(rig.tick_for() == Names{"a", "b", "c"});
  }
  SECTION("without a priority nobody goes") {
    slo.evict_enabled_priority_threshold.reset();
    rig.pods({{"a", Qos::be, 100, 10, kUnknown, {}, enabled()}});
    CHECK(rig.tick_for().empty());
  }
}

TEST_CASE("Static and critical pods and the agent's own never go", "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true");
  rig.action_options.own_pod = "agent";
  rig.restart();
  rig.slo().memory_evict_threshold_percent = 50;
  rig.node_memory = 115;
  rig.pods({{"agent", Qos::be, 1, 20},
            {"static", Qos::be, 1, 20, kUnknown, {}, {}, "a static pod"},
            {"be", Qos::be, 2, 20}});
  CHECK(rig.tick_for() == Names{"be"});
}

TEST_CASE("Who is evicted waits for it: results, cool-down, refusals", "[koordlet][evict]") {
  koord::testing::Tree tree;
  EvictRig rig("BEMemoryEvict=true", tree / "journal");
  rig.slo().memory_evict_threshold_percent = 82;
  rig.node_memory = 115;
  rig.pods({{"a", Qos::be, 100, 20}, {"b", Qos::be, 100, 19}, {"c", Qos::be, 100, 18}});
  REQUIRE(rig.tick_for() == Names{"a"});
  CHECK(rig.runner.told[0].action.message == "trigger by koordlet feature BEMemoryEvict, kill pod: a");
  CHECK(rig.runner.told[0].action.kind == ActionKind::stop_pod);

  SECTION("while it is under way nobody else goes") {
    CHECK(rig.tick_for(20) == Names{"a"});
    // It is given up after half a minute, and others are tried.
    CHECK(rig.tick_for(12).size() > 1);
  }
  SECTION("four seconds after it the next one goes, if it is still needed") {
    rig.runner.finish();
    CHECK(rig.tick_for(3).empty());
    rig.pods({{"b", Qos::be, 100, 19}, {"c", Qos::be, 100, 18}});
    CHECK(rig.tick_for(1) == Names{"b"});
  }
  SECTION("one that is still there counts as going") {
    rig.runner.finish();
    CHECK(rig.tick_for(60).empty());
    // After two minutes it does not any more.
    CHECK(rig.tick_for(61) == Names{"a"});
  }
  SECTION("a plain group, which has none, goes again when it has had time to settle") {
    rig.runner.finish();
    auto pod = std::make_shared<PodInfo>(*rig.inventory.pods[0]);
    pod->containers.clear();
    rig.inventory.pods[0] = pod;
    CHECK(rig.tick_for(9).empty());
    CHECK(rig.tick_for(1) == Names{"a"});
  }
  SECTION("containers that were started again are others") {
    rig.runner.finish();
    auto pod = std::make_shared<PodInfo>(*rig.inventory.pods[0]);
    pod->containers[0].group = "kubepods/poda/c2";
    rig.inventory.pods[0] = pod;
    CHECK(rig.tick_for(3).empty());
    CHECK(rig.tick_for(1) == Names{"a"});
  }
  SECTION("one that is refused makes way at once, and is tried again later") {
    rig.runner.finish(Error(Code::too_many_requests, "a budget"));
    CHECK(rig.tick_for() == Names{"b"});
    rig.runner.finish(Error(Code::too_many_requests, "a budget"));
    CHECK(rig.tick_for() == Names{"c"});
    rig.runner.finish(Error(Code::too_many_requests, "a budget"));
    CHECK(rig.tick_for(1).empty());
    CHECK(rig.tick_for(3) == Names{"a"});
  }
  SECTION("an agent that is killed counts on from there") {
    const bool finished = GENERATE(true, false);
    if (finished) rig.runner.finish();
    rig.restart();
    CHECK(rig.unfinished == (finished ? Names{} : Names{"kubepods/poda/c"}));
    rig.pods({{"b", Qos::be, 100, 19}, {"c", Qos::be, 100, 18}});
    CHECK(rig.tick_for(3).empty());
    CHECK(rig.tick_for(1) == Names{"b"});
  }
  SECTION("shown as metrics for five minutes") {
    rig.runner.finish();
    const auto shows = [&](std::string_view text) {
      return rig.metrics->exposition().find(text) != std::string::npos;
    };
    CHECK(shows("koordlet_pod_eviction{reason=\"evicted\"} 1"));
    CHECK(shows("koordlet_pod_eviction_detail{pod_namespace=\"ns\",pod_name=\"a\",reason=\"evicted\"} 1"));
    rig.node_memory = 1;
    rig.tick_for(301);
    CHECK(shows("koordlet_pod_eviction{reason=\"evicted\"} 1"));
    CHECK_FALSE(shows("pod_name=\"a\""));
  }
}

TEST_CASE("At most so many go in an hour, where that is said", "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true");
  rig.action_options.per_hour = 2;
  rig.restart();
  rig.slo().memory_evict_threshold_percent = 1;
  rig.node_memory = 115;
  std::vector<EvictRow> many;
  many.reserve(5);
  for (int i = 0; i < 5; ++i) many.push_back({fmt::format("p{}", i), Qos::be, i, 1});
  rig.pods(many);
  CHECK(rig.tick_for() == Names{"p0", "p1"});
  rig.runner.finish();
  rig.pods({{"p2", Qos::be, 2, 1}, {"p3", Qos::be, 3, 1}});
  CHECK(rig.tick_for(3590).empty());
  CHECK(rig.tick_for(20) == Names{"p2", "p3"});
}

TEST_CASE("A dry run tells and does nothing", "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true");
  rig.dry_run = {"MemoryEvict"};
  rig.restart();
  rig.slo().memory_evict_threshold_percent = 82;
  rig.node_memory = 115;
  rig.pods({{"a", Qos::be, 100, 20}});
  CHECK(rig.tick_for(100).empty());
  CHECK_THAT(rig.summary("MemoryEvict"), Catch::StartsWith("dry run: "));
  CHECK(rig.log.contains("a pod would be evicted"));
  rig.dry_run = {"MemoryEvicted"};
  CHECK_THROWS_WITH(rig.restart(), Catch::Contains("no strategy has the name \"MemoryEvicted\""));
}

TEST_CASE("Through the API a pod that was asked to go counts until its time is over", "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true");
  rig.action_options.only_by_api = GENERATE(true, false);
  rig.restart();
  rig.slo().memory_evict_threshold_percent = 82;
  rig.node_memory = 115;
  rig.pods({{"a", Qos::be, 100, 20}});
  auto going = std::make_shared<PodInfo>(*rig.inventory.pods[0]);
  going->deleted_by = rig.clock.now() + std::chrono::seconds(30);
  rig.inventory.pods[0] = going;
  if (rig.action_options.only_by_api) {
    CHECK(rig.tick_for().empty());
    CHECK(rig.tick_for(31) == Names{"a"});
    CHECK(rig.runner.told[0].action.kind == ActionKind::evict_pod);
  } else {
    CHECK(rig.tick_for() == Names{"a"});
    CHECK(rig.runner.told[0].action.kind == ActionKind::stop_pod);
  }
}

TEST_CASE("Memory goes by what is measured, also beside a kubelet that does not answer",
          "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true");
  rig.slo().memory_evict_threshold_percent = 82;
  rig.node_memory = 115;
  rig.fresh_pods = false;
  rig.pods({{"a", Qos::be, 100, 20}});
  CHECK(rig.tick_for() == Names{"a"});
}

}  // namespace
}  // namespace koord::koordlet
