// Resctrl: groups, their parts and their tasks, by class and by pod.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <random>

#include "rigs/kill_between_writes.hpp"
#include "rigs/resctrl_rig.hpp"

namespace koord::koordlet {

namespace {

using host::BandwidthScale;
using testing::fields;
using testing::kAmd;
using testing::kIntel;
using testing::Share;
using testing::times;
using Rig = testing::ResctrlRig;
using Tasks = std::vector<std::int32_t>;

// TestResctrlReconcile_calculateAndApplyRDTL3PolicyForGroup, ..MbPolicyForGroup, ..reconcileRDTResctrlPolicy,
// Test_calculateMbaPercentForGroup: without a percentage nothing is written.
TEST_CASE("Classes have their parts, as the original's rows have them", "[koordlet][resctrl]") {
  struct Row {
    const char* what;
    std::vector<int> ids;
    std::uint64_t mask;
    host::ResctrlBandwidth bandwidth;
    std::string group;
    Share share;
    std::string after;
  };
  const Row rows[] = {
      {"all of it", {0, 1}, 0xf, kIntel, "LS", {true, 0, 100, {}}, "L3:0=f;1=f;\nMB:0=100;1=100;\n"},
      {"a piece", {0, 1}, 0x7ff, kIntel, "LS", {true, 10, 50, {}}, "L3:0=3c;1=3c;\nMB:0=100;1=100;\n"},
      {"half", {0, 1}, 0x7ff, kIntel, "LSR", {true, 0, 50, {}}, "L3:0=3f;1=3f;\nMB:0=100;1=100;\n"},
      {"one cache", {0}, 0x7ff, kIntel, "BE", {true, 10, 50, {}}, "L3:0=3c;\nMB:0=100;\n"},
      {"bandwidth", {0, 1}, 0xff, kIntel, "LS", {true, {}, {}, 90}, "L3:0=ff;1=ff;\nMB:0=90;1=90;\n"},
      {"rounded up", {0, 1}, 0xff, kIntel, "BE", {true, {}, {}, 85}, "L3:0=ff;1=ff;\nMB:0=90;1=90;\n"},
      {"units",
       {0, 1, 2, 3},
       0xf,
       kAmd,
       "BE",
       {true, {}, {}, 30},
       "L3:0=f;1=f;2=f;3=f;\nMB:0=48;1=48;2=48;3=48;\n"},
      {"no limit", {0, 1}, 0xf, kAmd, "BE", {true, {}, {}, 100}, "L3:0=f;1=f;\nMB:0=2048;1=2048;\n"},
      {"ids with a gap", {0, 8}, 0xfff, kIntel, "BE", {true, 0, 30, 30}, "L3:0=f;8=f;\nMB:0=30;8=30;\n"},
      {"nonsense of one leaves the other",
       {0},
       0xff,
       kIntel,
       "BE",
       {true, 30, 30, 101},
       "L3:0=ff;\nMB:0=100;\n"},
      {"no percentage", {0}, 0xff, kIntel, "BE", {true, 0, 30, 0}, "L3:0=7;\nMB:0=100;\n"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Rig rig;
    rig.resctrl.build(row.ids, row.mask, row.bandwidth);
    const auto of = [&](const char* group) {
      return row.group == group ? std::optional(row.share) : std::nullopt;
    };
    rig.says(of("LSR"), of("LS"), of("BE"));
    rig.ticks(2);
    REQUIRE(rig.resctrl.groups().value() == std::vector<std::string>{row.group});
    CHECK(fields(rig, row.group) == row.after);
    const std::size_t written = rig.kernel.written.size();
    rig.ticks(30);
    CHECK(rig.kernel.written.size() == written);
  }
}

// TestResctrlReconcile_reconcileResctrlGroups, Test_getPodCgroupNewTaskIds
TEST_CASE("Tasks are in the group of their pod's class, where that is enabled", "[koordlet][resctrl]") {
  Rig rig;
  rig.says(Share{}, Share{.enable = false}, Share{.end = 30});
  rig.runs({{"a", Qos::lse},
            {"b", Qos::lsr},
            {"c", Qos::ls},
            {"d", Qos::be},
            {"e", Qos::none, kUnknown, "", host::KubeQos::besteffort},
            {"f", Qos::none, kUnknown, "", host::KubeQos::guaranteed},
            {"g", Qos::system}});
  rig.resctrl.all[7] = {"system.slice", ""};
  rig.ticks(2);
  CHECK(rig.resctrl.in("LSR") == Tasks{100, 101, 105});
  CHECK(rig.resctrl.in("BE") == Tasks{103, 104});
  CHECK(rig.resctrl.in("") == Tasks{7, 102, 106});
  CHECK(rig.resctrl.groups().value() == std::vector<std::string>{"BE", "LSR"});
  // Who comes from outside into a cgroup is found later.
  rig.resctrl.all[200] = {rig.inventory.pods[3]->group + "/c", ""};
  rig.ticks(11);
  CHECK(rig.resctrl.in("BE") == Tasks{103, 104, 200});
  const std::size_t moves = rig.resctrl.moves;
  rig.ticks(30);
  CHECK(rig.resctrl.moves == moves);
  // A class that is switched off lets its tasks go.
  rig.says(Share{.enable = false}, {}, Share{.end = 30});
  rig.ticks(2);
  CHECK(rig.resctrl.groups().value() == std::vector<std::string>{"BE"});
  CHECK(rig.resctrl.in("").size() == 6);
}

TEST_CASE("Who forks while tasks are moved leaves nobody behind", "[koordlet][resctrl]") {
  Rig rig;
  rig.says({}, {}, Share{.end = 30});
  rig.runs({{"a", Qos::be}});
  std::int32_t next = 1000;
  int forks = 0;
  // After each look a task that is still outside has a child, for twenty times.
  rig.resctrl.after_look = [&](const std::string&) {
    if (forks >= 20) return;
    for (const auto& [task, one] : rig.resctrl.all)
      if (one.group.empty()) {
        ++forks;
        const std::int32_t parent = task;
        rig.resctrl.fork(parent, next++);
        return;
      }
  };
  rig.ticks(2);  // the first makes the group
  CHECK(forks == 20);
  CHECK(rig.resctrl.in("").empty());
  CHECK(rig.resctrl.in("BE").size() == 21);
  // Children of who is in the group are, too, and cost nothing.
  rig.resctrl.fork(100, 2000);
  const std::size_t moves = rig.resctrl.moves;
  rig.ticks(20);
  CHECK(rig.resctrl.moves == moves);
  CHECK(rig.resctrl.in("BE").size() == 22);
}

TEST_CASE("Tasks that end, refuse, or are in somebody else's group stop nobody", "[koordlet][resctrl]") {
  Rig rig;
  rig.says({}, {}, Share{.end = 30});
  rig.runs({{"a", Qos::be}, {"b", Qos::be}, {"c", Qos::be}});
  rig.resctrl.make_of_others("gold");
  rig.resctrl.all[101].group = "gold";
  rig.resctrl.refuses = [](std::int32_t task) { return task == 100 ? EPERM : 0; };
  rig.resctrl.after_look = [&](const std::string& cgroup) {
    if (cgroup.find("poda") != std::string::npos) rig.resctrl.all.erase(102);
  };
  rig.ticks(30);
  CHECK(rig.resctrl.in("gold") == Tasks{101});
  CHECK(rig.resctrl.in("") == Tasks{100});
  CHECK(times(rig, "a group of resctrl is not as it shall be") == 1);
  CHECK(times(rig, "somebody else has put tasks into groups of resctrl") == 1);
}

TEST_CASE("A machine that cannot divide says so once", "[koordlet][resctrl]") {
  Rig rig;
  rig.says({}, {}, Share{.end = 30});
  rig.resctrl.machine.reset();
  rig.kernel.settings.clear();
  rig.gate("RdtResctrl=true");
  rig.runs({{"a", Qos::be}});
  rig.ticks(60);
  CHECK(times(rig, "caches and the memory's bandwidth stay undivided") == 1);
  CHECK(rig.kernel.written.empty());

  Rig half;  // bandwidth only
  half.says({}, {}, Share{.end = 30, .mba = 50});
  half.resctrl.machine->caches.clear();
  half.gate("RdtResctrl=true");
  half.ticks(60);
  CHECK(times(half, "the last-level cache cannot be divided here") == 1);
  CHECK(fields(half, "BE") == "L3:0=7ff;1=7ff;\nMB:0=50;1=50;\n");

  Rig loop;  // mba_MBps
  loop.says({}, {}, Share{.end = 30, .mba = 50});
  loop.resctrl.machine->bandwidth->scale = BandwidthScale::megabytes;
  loop.gate("RdtResctrl=true");
  loop.ticks(60);
  CHECK(times(loop, "resctrl is mounted with mba_MBps") == 1);
  CHECK(fields(loop, "BE") == "L3:0=f;1=f;\nMB:0=100;1=100;\n");
}

TEST_CASE("There may be no room for a group", "[koordlet][resctrl]") {
  Rig rig;
  rig.resctrl.rooms = 2;
  rig.says(Share{}, {}, Share{.end = 30});
  rig.runs({{"a", Qos::be}, {"b", Qos::lsr}});
  rig.ticks(30);
  CHECK(rig.resctrl.groups()->size() == 1);
  CHECK(times(rig, "no room for another group") == 1);
  rig.resctrl.rooms = 4;
  rig.ticks(11);
  CHECK(rig.resctrl.in("BE") == Tasks{100});
  CHECK(rig.resctrl.in("LSR") == Tasks{101});
}

TEST_CASE("With no class enabled, or the gates off, nothing happens", "[koordlet][resctrl]") {
  for (const char* const gates : {"RdtResctrl=true,Resctrl=true", "RdtResctrl=false,Resctrl=false"}) {
    Rig rig({}, gates);
    const bool off = std::string_view(gates).find("false") != std::string_view::npos;
    rig.says(Share{.enable = off}, Share{.enable = off}, Share{.enable = off});
    rig.runs({{"a", Qos::be}});
    if (off) rig.annotate(0, R"({"mb":{"schemata":{"percent":10}}})");
    rig.ticks(30);
    CHECK(rig.kernel.written.empty());
    CHECK(rig.resctrl.moves == 0);
  }
}

TEST_CASE("It is mounted where a class needs it, and unmounted again", "[koordlet][resctrl]") {
  const koord::testing::Tree tree;
  Rig rig(tree / "journal");
  rig.kernel.settings.clear();
  rig.resctrl.can_mount = true;
  rig.gate("RdtResctrl=true");
  rig.ticks(5);
  CHECK_FALSE(rig.resctrl.mounted);
  rig.says({}, {}, Share{.end = 30, .mba = 50});
  rig.runs({{"a", Qos::be}});
  rig.ticks(5);
  CHECK(rig.resctrl.mounted);
  CHECK(fields(rig, "BE") == "L3:0=f;1=f;\nMB:0=50;1=50;\n");
  rig.start();  // it died: the next one knows whose mount it is
  REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  CHECK_FALSE(rig.resctrl.mounted);
  CHECK(rig.resctrl.state() == "100 \n");
}

TEST_CASE("Classes that are not divided may be counted", "[koordlet][resctrl]") {
  Rig rig({}, "RdtResctrl=true,Resctrl=false,ResctrlCollector=true");
  rig.says({}, {}, Share{.end = 30});
  rig.runs({{"a", Qos::be}, {"b", Qos::ls}});
  rig.ticks(2);
  CHECK(rig.resctrl.in("BE") == Tasks{100});
  CHECK(rig.resctrl.in("") == Tasks{101});  // the flag is not set
  rig.set.insert("enable-resctrl-collector");
  rig.start();
  rig.ticks(2);
  CHECK(rig.resctrl.in("BE") == Tasks{100});
  CHECK(rig.resctrl.in("mon_groups/LS") == Tasks{101});
  rig.gate("ResctrlCollector=false");
  rig.ticks(2);
}

TEST_CASE("A pod may have a group of its own, which goes with it", "[koordlet][resctrl]") {
  const koord::testing::Tree tree;
  Rig rig(tree / "journal");
  rig.says({}, Share{}, Share{.end = 50, .mba = 50});
  rig.runs({{"a", Qos::ls}, {"b", Qos::ls}, {"c", Qos::be}});
  rig.annotate(0, R"({"llc":{"schemata":{"range":[0,50]},"schemataPerCache":[{"cacheID":1,"range":[50,100]}]},
                     "mb":{"schemata":{"percent":85},"schemataPerCache":[{"cacheID":0,"percent":20}]}})");
  // Best-effort pods have no more than their class has, whatever they say.
  rig.annotate(2, R"({"llc":{"schemata":{"range":[30,100]}},"mb":{"schemata":{"percent":100}}})");
  rig.ticks(2);
  CHECK(rig.warnings.empty());
  CHECK(rig.resctrl.in("koordlet-a") == Tasks{100});
  CHECK(rig.resctrl.in("LS") == Tasks{101});
  CHECK(rig.resctrl.in("koordlet-c") == Tasks{102});
  CHECK(fields(rig, "koordlet-a") == "L3:0=3f;1=7c0;\nMB:0=20;1=90;\n");
  CHECK(fields(rig, "koordlet-c") == "L3:0=30;1=30;\nMB:0=50;1=50;\n");
  // One that an agent of another day left, and one that is nobody's of ours.
  rig.resctrl.make_of_others("koordlet-gone");
  rig.resctrl.make_of_others("gold");
  rig.runs({{"b", Qos::ls}});
  rig.ticks(2);
  CHECK(rig.resctrl.groups().value() == std::vector<std::string>{"BE", "LS", "gold"});
  // Between its class' group and its own it is in no other one.
  std::vector<std::string> out_of;
  rig.resctrl.refuses = [&](std::int32_t task) {
    out_of.push_back(rig.resctrl.all[task].group);
    return 0;
  };
  rig.annotate(0, R"({"mb":{"schemata":{"percent":10}}})");
  rig.ticks(2);
  CHECK(rig.resctrl.in("koordlet-b") == Tasks{101});
  rig.runs({{"b", Qos::ls}});
  rig.ticks(2);
  CHECK(rig.resctrl.in("LS") == Tasks{101});
  CHECK(out_of == std::vector<std::string>{"LS", "koordlet-b"});
  // Without the hook it is in its class' group.
  rig.annotate(0, R"({"mb":{"schemata":{"percent":10}}})");
  rig.ticks(2);
  CHECK(rig.resctrl.has("koordlet-b"));
  out_of.clear();
  rig.gate("Resctrl=false");
  rig.ticks(2);
  CHECK_FALSE(rig.resctrl.has("koordlet-b"));
  CHECK(rig.resctrl.in("LS") == Tasks{101});
  CHECK(out_of == std::vector<std::string>{"koordlet-b"});
}

TEST_CASE("What a pod says and makes no sense is named, and it stays in its class' group",
          "[koordlet][resctrl]") {
  struct Row {
    std::string text;
    const char* named;
  };
  std::string many = R"({"mb":{"schemataPerCache":[{"cacheID":0})";
  for (int i = 1; i < 1100; ++i) many += fmt::format(R"(,{{"cacheID":{}}})", i);
  const Row rows[] = {
      {"garbage", "node.koordinator.sh/resctrl: "},
      {R"({"llc":[]})", "llc"},
      {R"({"llc":{"schemata":{"range":[80,10]}}})", ".llc.schemata.range: [80,10]: expected two percentages"},
      {R"({"llc":{"schemata":{"range":[0]}}})", ".llc.schemata.range: [0]"},
      {R"({"llc":{"schemata":{"range":[0,101]}}})", ".llc.schemata.range"},
      {R"({"llc":{"schemata":{"range":[-1,50]}}})", ".llc.schemata.range"},
      {R"({"llc":{"schemata":{"range":[1,2,3,4,5,6,7,8,9,10,11]}}})", "[1,2,3,4,5,6,7,8]"},
      {R"({"mb":{"schemata":{"percent":0}}})", ".mb.schemata.percent: 0: expected 1 to 100"},
      {R"({"mb":{"schemata":{"percent":101}}})", ".mb.schemata.percent"},
      {R"({"mb":{"schemata":{"percent":99999999999999999999}}})", "percent"},
      {R"({"mb":{"schemataPerCache":[{"cacheID":-1,"percent":10}]}})", ".mb.schemataPerCache[0].cacheID: -1"},
      {R"({"mb":{"schemataPerCache":[{"cacheID":1,"percent":10},{"cacheID":1}]}})",
       ".mb.schemataPerCache[1].cacheID: 1"},
      {many + "]}}", "more than 1024 caches"},
      {std::string(70'000, ' '), "node.koordinator.sh/resctrl: "},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text.substr(0, 80));
    Rig rig;
    rig.says({}, {}, Share{.end = 50});
    rig.runs({{"a", Qos::be}});
    rig.annotate(0, row.text);
    rig.ticks(2);
    REQUIRE(rig.warnings.size() == 1);
    CHECK(rig.warnings[0].find(row.named) != std::string::npos);
    CHECK(rig.warnings[0].starts_with("node.koordinator.sh/resctrl: "));
    CHECK(rig.resctrl.in("BE") == Tasks{100});
    CHECK_FALSE(rig.resctrl.has("koordlet-a"));
  }
  Rig rig;
  rig.says({}, {}, Share{.end = 50});
  rig.runs({{"a", Qos::be}});
  rig.annotate(0, "{}");  // says nothing
  rig.ticks(2);
  CHECK(rig.warnings.empty());
  CHECK(rig.resctrl.in("BE") == Tasks{100});
  rig.annotate(0, R"({"mb":{"schemata":{"percent":10},"schemataPerCache":[{"cacheID":77,"percent":10}]}})");
  rig.ticks(30);
  CHECK(times(rig, "a pod names a cache that this machine has not") == 1);
  CHECK(fields(rig, "koordlet-a") == "L3:0=3f;1=3f;\nMB:0=10;1=10;\n");
}

// Killed between any two writes: the next agent with the gates off, or --cleanup, leaves what was there.
TEST_CASE("Whoever kills the agent leaves no group behind", "[koordlet][resctrl]") {
  for (const bool cleanup : {true, false}) {
    CAPTURE(cleanup);
    std::string before;
    const auto writes = testing::kill_between_writes(
        [&](const std::string& journal) {
          auto rig = std::make_unique<Rig>(journal);
          rig->says(Share{}, {}, Share{.end = 30, .mba = 50});
          rig->runs({{"a", Qos::be}, {"b", Qos::be}, {"c", Qos::lsr}});
          rig->annotate(1, R"({"llc":{"schemata":{"range":[0,20]}}})");
          // Somebody's own group of that name, with a task of his: it is used, and stays.
          rig->resctrl.make_of_others("LSR");
          rig->resctrl.all[7] = {"system.slice", "LSR"};
          rig->resctrl.all[8] = {"system.slice", ""};
          before = rig->resctrl.state();
          return rig;
        },
        [](Rig& rig) {
          rig.ticks(2);
          rig.says(Share{.end = 70}, {}, {});
          rig.ticks(2);
          rig.says(Share{.enable = false}, {}, Share{.end = 80});
          rig.ticks(3);
        },
        [&](Rig& rig, const std::string&, std::size_t) {
          if (cleanup) {
            rig.start();
            REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
          } else {
            rig.gate("RdtResctrl=false,Resctrl=false");
            rig.ticks(15);
          }
          CHECK(rig.resctrl.state() == before);
        });
    CHECK(writes > 15);
  }
}

TEST_CASE("An agent that comes after one that died goes on, and moves nobody twice", "[koordlet][resctrl]") {
  testing::kill_between_writes(
      [](const std::string& journal) {
        auto rig = std::make_unique<Rig>(journal);
        rig->says(Share{}, {}, Share{.end = 30});
        rig->runs({{"a", Qos::be}, {"b", Qos::lsr}});
        return rig;
      },
      [](Rig& rig) { rig.ticks(3); },
      [](Rig& rig, const std::string&, std::size_t) {
        // Nobody is in a group that does not hold him yet, however long the next agent takes to come.
        if (!rig.resctrl.in("BE").empty()) CHECK(fields(rig, "BE") == "L3:0=f;1=f;\nMB:0=100;1=100;\n");
        rig.start();
        rig.ticks(15);
        CHECK(rig.resctrl.in("BE") == Tasks{100});
        CHECK(rig.resctrl.in("LSR") == Tasks{101});
        CHECK(fields(rig, "BE") == "L3:0=f;1=f;\nMB:0=100;1=100;\n");
        CHECK(std::ranges::count(rig.kernel.written, "100 to BE") == 1);
      });
}

TEST_CASE("Random machines: each enabled class has one piece of each cache, and all of its tasks",
          "[koordlet][resctrl]") {
  std::mt19937 random(29);
  const auto between = [&](int least, int most) {
    return std::uniform_int_distribution(least, most)(random);
  };
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    Rig rig;
    std::vector<int> ids;
    for (int id = between(0, 3), n = between(1, 8); n > 0; --n, id += between(1, 50)) ids.push_back(id);
    const std::uint64_t full = (std::uint64_t{1} << between(2, 20)) - 1;
    rig.resctrl.build(ids, full, between(0, 1) == 0 ? kIntel : kAmd);
    const auto share = [&]() -> std::optional<Share> {
      if (between(0, 3) == 0) return std::nullopt;
      const int start = between(0, 99);
      return Share{between(0, 3) > 0, start, between(start + 1, 100), between(1, 100)};
    };
    const std::optional<Share> said[] = {share(), share(), share()};
    rig.says(said[0], said[1], said[2]);
    std::vector<testing::Used> pods;
    for (int i = between(0, 9); i >= 0; --i)
      pods.push_back({fmt::format("p{}", i),
                      std::vector{Qos::lsr, Qos::ls, Qos::be}[static_cast<std::size_t>(between(0, 2))]});
    rig.runs(pods);
    rig.ticks(2);
    std::size_t inside = 0, expected = 0;
    const char* const names[] = {"LSR", "LS", "BE"};
    for (std::size_t i = 0; i < 3; ++i) {
      const bool on = said[i] && said[i]->enable;
      REQUIRE(rig.resctrl.has(names[i]) == on);
      inside += rig.resctrl.in(names[i]).size();
      if (!on) continue;
      for (const auto& pod : rig.inventory.pods)
        expected += pod->qos == (i == 0 ? Qos::lsr : i == 1 ? Qos::ls : Qos::be) ? 1 : 0;
      const auto lines = host::parse_schemata(rig.resctrl.said(names[i]));
      REQUIRE(lines.has_value());
      CHECK(lines->at(0).fields.size() == ids.size());
      for (const auto& field : lines->at(0).fields)
        CHECK(field.value == host::cache_mask(full, 1, *said[i]->start, *said[i]->end).value());
    }
    CHECK(inside == expected);
    REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
    CHECK(rig.resctrl.groups()->empty());
  }
}

}  // namespace
}  // namespace koord::koordlet
