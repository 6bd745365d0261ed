// Evictions where something goes wrong: an agent that dies, a runner that does not answer, a file that cannot
// be written, a strategy on trial.
#include "koord/base/file.hpp"
#include "rigs/evict_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using testing::enabled;
using testing::EvictRig;
using testing::Names;
using namespace std::chrono_literals;

/// Memory is short by 13%, and each of the pods would be enough.
void be_short(EvictRig& rig) {
  rig.slo().memory_evict_threshold_percent = 82;
  rig.node_memory = 115;
  rig.pods({{"a", Qos::be, 100, 20}, {"b", Qos::be, 100, 19}, {"c", Qos::be, 100, 18}});
}

TEST_CASE("A strategy on trial keeps no other one from anything", "[koordlet][evict]") {
  koord::testing::Tree tree;
  EvictRig rig("BEMemoryEvict=true,CPUEvict=true", tree / "journal");
  rig.dry_run = {"MemoryEvict"};
  rig.action_options.per_hour = 1;
  rig.restart();
  auto& slo = rig.slo();
  slo.memory_evict_threshold_percent = 82;
  slo.cpu_evict_threshold_percent = 80;
  slo.evict_enabled_priority_threshold = 5999;
  rig.pods({{"a", Qos::be, 100, 20, 4, {}, enabled()}});
  rig.node_memory = 115;
  rig.node_cpu = 81;
  CHECK(rig.tick_for(19).empty());
  CHECK(rig.log.contains("a pod would be evicted"));
  CHECK_FALSE(read_file(tree / "journal-evicted").has_value());
  REQUIRE(rig.tick_for(2) == Names{"a"});
  CHECK(rig.runner.told[0].action.strategy == "CPUEvict");
}

TEST_CASE("Two strategies that want the same pod in one tick evict it once, for both", "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true,CPUEvict=true");
  be_short(rig);
  auto& slo = rig.slo();
  slo.memory_evict_threshold_percent = 82;
  slo.cpu_evict_threshold_percent = 80;
  slo.evict_enabled_priority_threshold = 5999;
  rig.pods({{"a", Qos::be, 100, 20, 4, {}, enabled()}, {"b", Qos::be, 100, 19, 4, {}, enabled()}});
  rig.node_cpu = 81;
  rig.node_memory = 1;
  CHECK(rig.tick_for(18).empty());
  rig.node_memory = 115;
  CHECK(rig.tick_for(1) == Names{"a"});  // for its memory
  rig.runner.finish();
  CHECK(rig.tick_for(60).empty());
  rig.pods({{"b", Qos::be, 100, 19, 4, {}, enabled()}});
  CHECK(rig.tick_for(1) == Names{"b"});
  CHECK(rig.runner.told.size() == 1);
}

TEST_CASE("Who does not go although it was told to makes way, and is not told twice", "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true");
  be_short(rig);
  CHECK(rig.tick_for(31) == Names{"a"});
  CHECK(rig.tick_for(1) == Names{"a", "b"});
  CHECK(rig.tick_for(31) == Names{"a", "b", "c"});
  CHECK(rig.tick_for(300) == Names{"a", "b", "c"});
}

TEST_CASE("What an agent that died had begun counts as done for as long as that would take to show",
          "[koordlet][evict]") {
  koord::testing::Tree tree;
  EvictRig rig("BEMemoryEvict=true", tree / "journal");
  rig.action_options.only_by_api = GENERATE(true, false);
  rig.restart();
  be_short(rig);
  REQUIRE(rig.tick_for() == Names{"a"});
  // Whoever comes next, and dies as well, leaves nobody standing still.
  for (int i = 0; i < 2; ++i) {
    rig.restart();
    CHECK(rig.unfinished == (rig.action_options.only_by_api ? Names{} : Names{"kubepods/poda/c"}));
  }
  CHECK(rig.tick_for(9).empty());
  CHECK(rig.tick_for(1) == Names{"a"});
}

TEST_CASE("An API server that does not answer may have evicted the pod", "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true");
  rig.action_options.only_by_api = true;
  rig.action_options.per_hour = 1;
  rig.restart();
  be_short(rig);
  REQUIRE(rig.tick_for() == Names{"a"});
  rig.tick_for(9);
  rig.runner.finish(Error(Code::timeout, "10s are over"));
  CHECK(rig.tick_for(8).empty());
  SECTION("it has not: the kubelet says nothing of it") { CHECK(rig.tick_for(2) == Names{"b"}); }
  SECTION("the kubelet does not answer either: it counts") {
    rig.fresh_pods = false;
    CHECK(rig.tick_for(30).empty());
  }
  SECTION("it has") {
    auto going = std::make_shared<PodInfo>(*rig.inventory.pods[0]);
    going->deleted_by = rig.clock.now() + 1h;
    rig.inventory.pods[0] = rig.inventory.all_pods[0] = going;
    CHECK(rig.tick_for(600).empty());
  }
  SECTION("it has, and the pod is no more") {
    rig.pods({{"b", Qos::be, 100, 19}, {"c", Qos::be, 100, 18}});
    CHECK(rig.tick_for(600).empty());
  }
}

TEST_CASE("The cap of an hour outlasts the agent, whatever became of those that it counts",
          "[koordlet][evict]") {
  koord::testing::Tree tree;
  EvictRig rig("BEMemoryEvict=true", tree / "journal");
  rig.action_options.per_hour = 2;
  rig.restart();
  be_short(rig);
  rig.slo().memory_evict_threshold_percent = 82;
  REQUIRE(rig.tick_for() == Names{"a"});
  rig.runner.finish();
  rig.pods({{"b", Qos::be, 100, 19}, {"c", Qos::be, 100, 18}});
  REQUIRE(rig.tick_for(4) == Names{"b"});
  rig.restart();  // and nobody knows whether b was stopped
  CHECK(rig.tick_for(3590).empty());
  CHECK(rig.tick_for(10) == Names{"b"});
}

TEST_CASE("Pods that are refused again and again fill no book", "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true");
  be_short(rig);
  const std::int64_t room = rig.actions->room("MemoryEvict");
  for (int i = 0; i < 500; ++i) {
    rig.tick_for();
    rig.runner.finish(Error(Code::too_many_requests, "a budget"));
  }
  CHECK(rig.actions->room("MemoryEvict") >= room - 3);
}

TEST_CASE("A cool-down of hours is one", "[koordlet][evict]") {
  koord::testing::Tree tree;
  EvictRig rig("BEMemoryEvict=true", tree / "journal");
  const auto restart = [&] {
    rig.seconds["memory-evict-cool-time-seconds"] = 3h;
    rig.start();
  };
  restart();
  be_short(rig);
  REQUIRE(rig.tick_for() == Names{"a"});
  rig.runner.finish();
  rig.pods({{"b", Qos::be, 100, 19}});
  CHECK(rig.tick_for(2 * 3600).empty());
  restart();
  CHECK(rig.tick_for(3590).empty());
  CHECK(rig.tick_for(20) == Names{"b"});
}

TEST_CASE("What could not be written down is, as soon as there is room for it", "[koordlet][evict]") {
  koord::testing::Tree tree;
  tree.write("full", "");  // no folder
  EvictRig rig("BEMemoryEvict=true", tree / "full/journal");
  be_short(rig);
  REQUIRE(rig.tick_for() == Names{"a"});  // protecting goes first
  CHECK(rig.log.contains("cannot write down who is evicted"));
  rig.runner.finish();
  tree.remove("full");
  rig.tick_for(1);
  rig.restart();
  CHECK(rig.tick_for(2).empty());
}

TEST_CASE("A pod that had gone by itself was not evicted", "[koordlet][evict]") {
  EvictRig rig("BEMemoryEvict=true");
  rig.action_options.only_by_api = true;
  rig.restart();
  be_short(rig);
  REQUIRE(rig.tick_for() == Names{"a"});
  rig.runner.finish(Error(Code::not_found, "pods \"a\" not found"));
  CHECK(rig.tick_for(30).empty());  // what it frees counts
  CHECK(rig.metrics->exposition().find("reason=\"evicted\"") == std::string::npos);
}

}  // namespace
}  // namespace koord::koordlet
