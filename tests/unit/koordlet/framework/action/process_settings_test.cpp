// Another thing than oom_score_adj that is set of processes: a kind is a row, which a strategy's row names.
#include <catch2/catch.hpp>

#include "framework/action/process_kind.hpp"
#include "framework/action/processes.hpp"
#include "rigs/hooks_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using koord::testing::Tree;
using testing::HooksRig;

Result<std::int64_t> read_slack(const ProcessFolder& process) {
  KOORD_TRY(text, process.read("timerslack_ns"));
  return static_cast<std::int64_t>(std::stoll(text));
}
Result<> write_slack(const ProcessFolder& process, std::int64_t value) {
  return process.write("timerslack_ns", std::to_string(value));
}
constexpr ProcessKind kSlack{.name = "timerslack",
                             .a_name = "a timerslack",
                             .key = "nanoseconds",
                             .least = 1,
                             .most = 1'000'000'000,
                             .audit_reason = "TimerSlack",
                             .file = "slack",
                             .book = {.header = "koord-slack 1 ",
                                      .what = "a file of slacks",
                                      .row = "process",
                                      .max_size = 4096,
                                      .max_rows = 100},
                             .read = &read_slack,
                             .write = &write_slack};

/// Both kinds for one container, by two strategies.
template <const ProcessKind& kKind>
class Sets final : public Strategy {
 public:
  explicit Sets(const PluginContext&) {}
  void plan(const TickView& view, Plan& plan) override {
    for (const auto& pod : view.inventory->all_pods)
      if (value)
        plan.set({.kind = &kKind,
                  .pod = pod,
                  .container = "c",
                  .group = pod->containers[0].group,
                  .value = *value});
  }
  void release(const Inventory&, Plan&) override {}
  static inline std::optional<std::int64_t> value;
};
using Slacks = Sets<kSlack>;
using Scores = Sets<kOomScoreAdjKind>;
constexpr StrategyEntry kSlackRow{.name = "Slack", .sets = &kSlack, .make = &make<Slacks>};
constexpr StrategyEntry kScoreRow{.name = "Score", .sets = &kOomScoreAdjKind, .make = &make<Scores>};
constexpr const StrategyEntry* kTable[] = {&kScoreRow, &kSlackRow};

class Rig : public HooksRig {
 public:
  explicit Rig(std::string journal = {}) : HooksRig(CgroupVersion::v2, std::move(journal)) {
    Slacks::value.reset();
    Scores::value.reset();
    strategies = kTable;
    start();
    const PodInfo& made = pod("p", Qos::ls, {{"c"}});
    for (const pid_t pid : {12, 13}) processes.born(pid, made.containers[0].group, 0).of(kSlack) = 50'000;
    processes.all.at(12).least = -1'000;
  }
  std::string held() {
    std::string text;
    for (auto& [pid, one] : processes.all) text += fmt::format("{}: {} {}\n", pid, one.score, one.of(kSlack));
    return text;
  }
};

TEST_CASE("Two kinds are set of the same processes, each by its own strategy", "[koordlet][processes]") {
  Tree tree;
  Rig rig(tree / "journal");
  const std::string before = rig.held();
  Slacks::value = 1'000;
  Scores::value = 300;
  rig.ticks(1);
  CHECK(rig.held() == "12: 300 1000\n13: 300 1000\n");
  CHECK(read_file(tree / "journal-slack").value().starts_with("koord-slack 1 boot\n12\t"));
  CHECK(read_file(tree / "journal-scores").value().starts_with("koord-scores 1 boot\n12\t"));
  Slacks::value.reset();
  rig.ticks(1);
  CHECK(rig.held() == "12: 300 50000\n13: 300 50000\n");
  Scores::value.reset();
  rig.ticks(1);
  CHECK(rig.held() == before);
}

TEST_CASE("Both kinds go back over a kill between any two writes", "[koordlet][processes][crash]") {
  const bool cleanup = GENERATE(false, true);
  std::string before;
  const std::size_t writes = testing::kill_between_writes(
      [&](const std::string& journal) {
        auto rig = std::make_unique<Rig>(journal);
        before = rig->held();
        return rig;
      },
      [&](Rig& rig) {
        for (const std::int64_t step : {1, 2}) {
          Slacks::value = step * 1'000;
          Scores::value = step * 100;
          rig.ticks(1);
        }
      },
      [&](Rig& rig, const std::string&, std::size_t) {
        Slacks::value.reset();
        Scores::value.reset();
        rig.start();
        if (cleanup)
          REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
        else
          rig.ticks(1);
        REQUIRE(rig.held() == before);
      });
  CHECK(writes == 8);
}

TEST_CASE("What the kernel refuses of one kind is said in its words", "[koordlet][processes]") {
  Rig rig;
  rig.processes.all.at(12).least = 5'000;
  Slacks::value = 1'000;
  rig.ticks(1);
  CHECK(rig.processes.all.at(13).of(kSlack) == 1'000);
  CHECK(rig.processes.all.at(12).of(kSlack) == 50'000);
  bool said = false;
  for (const std::string& line : rig.log.lines())
    said = said || line.find("a container's timerslack cannot be set\"") != std::string::npos;
  CHECK(said);
}

TEST_CASE("A kind says itself how the kernel is asked and told", "[koordlet][processes]") {
  Tree tree;
  tree.write("cg/pod/cgroup.procs", "12\n");
  tree.write("proc/12/stat", "12 (c) S 7 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 4711 0\n");
  tree.write("proc/12/timerslack_ns", "50000\n");
  const auto fs = host::CgroupFs::open({.cgroup = tree / "cg/"}, CgroupVersion::v2);
  REQUIRE(fs.has_value());
  KernelProcesses processes(*fs, tree / "proc/");
  const auto found = processes.processes(kSlack, "pod");
  REQUIRE(found.has_value());
  REQUIRE(found->size() == 1);
  CHECK(found->at(0).value == 50'000);
  REQUIRE(processes.set(kSlack, found->at(0), 70'000).has_value());
  CHECK(processes.find(kSlack, 12)->value == 70'000);
}

}  // namespace
}  // namespace koord::koordlet
