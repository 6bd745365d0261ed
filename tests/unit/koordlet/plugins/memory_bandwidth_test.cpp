// Memory bandwidth: the loop on a model of a machine whose work follows recorded days of CPU use, its rules,
// and what it writes.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <random>

#include "framework/tick/resctrl_use.hpp"
#include "koord/api/koordinator/pod_resctrl.hpp"
#include "plugins/memory_bandwidth/settings.hpp"
#include "plugins/memory_bandwidth/steering.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/qos_rig.hpp"
#include "support/tsv.hpp"

namespace koord::koordlet {

extern const StrategyEntry kMemoryBandwidth;
extern const StrategyEntry kRdtResctrl;
extern const StrategyEntry kResctrlPods;

namespace {

using host::CgroupVersion;
using memory_bandwidth::read_settings;
using memory_bandwidth::Steering;
using memory_bandwidth::Terms;
using testing::QosRig;

constexpr double kGb = 1e9;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// What a percentage of MBA lets through is no percentage of the bandwidth: delays do little at first.
double let_through(std::int64_t percent) {
  constexpr double kCurve[] = {0.04, 0.12, 0.26, 0.41, 0.55, 0.66, 0.72, 0.84, 0.93, 1.0, 1.0};
  const auto place = static_cast<std::size_t>(percent / 10);
  const double part = static_cast<double>(percent % 10) / 10;
  return kCurve[place] + (place < 10 ? (kCurve[place + 1] - kCurve[place]) * part : 0);
}

/// One path to memory: who asks for more than it moves gets a share of it by what he asks.
struct Model {
  double capacity = 100 * kGb, best_effort = 90 * kGb;
  struct Served {
    double sensitive = 0, best_effort = 0;
  };
  Served serve(double sensitive, std::int64_t percent) const {
    const double other = best_effort * let_through(percent);
    const double part = std::min(1.0, capacity / (sensitive + other));
    return {sensitive * part, other * part};
  }
};

/// What machines used of their CPUs in a day, by machine: a row in ten minutes.
std::map<std::string, std::vector<double>> recorded() {
  std::map<std::string, std::vector<double>> days;
  std::ifstream file(test::golden("alibaba2018/machine_usage.csv"));
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(',');
    const auto second = line.find(',', first + 1);
    days[line.substr(0, first)].push_back(std::stod(line.substr(second + 1)) / 100);
  }
  return days;
}
/// A reading each ten seconds, with bursts on top: latency-sensitive work whose bandwidth goes as its CPUs
/// do.
std::vector<double> demand_of(const std::vector<double>& day, double capacity) {
  std::mt19937 random(29);
  std::vector<double> demand;
  int burst = 0;
  for (std::size_t i = 0; i + 1 < day.size(); ++i)
    for (int k = 0; k < 60; ++k) {
      const double part = day[i] + (day[i + 1] - day[i]) * k / 60;
      if (burst == 0 && random() % 90 == 0) burst = 3 + static_cast<int>(random() % 12);
      demand.push_back(std::min(0.78, part * (burst > 0 ? 1.5 : 1)) * capacity);
      burst = std::max(burst - 1, 0);
    }
  return demand;
}

struct Day {
  double short_of = 0, wanted = 0, best_effort = 0, left = 0;
  int readings = 0, hurt = 0, changes = 0;
  std::int64_t least = 100, most = 0;
};
Day live(const std::vector<double>& demand, bool steered) {
  const Model model;
  const Terms terms{.capacity = model.capacity};
  Steering steering;
  Day day;
  std::int64_t percent = 100;
  for (const double wanted : demand) {
    const Model::Served served = model.serve(wanted, percent);
    day.wanted += wanted;
    day.short_of += wanted - served.sensitive;
    day.best_effort += served.best_effort;
    day.left +=
        std::min(model.best_effort, std::max(model.capacity * terms.target - wanted, model.capacity * 0.1));
    day.hurt += served.sensitive < wanted * 0.95 ? 1 : 0;
    ++day.readings;
    if (!steered) continue;
    const std::int64_t next = steering.step(terms, {served.sensitive, served.best_effort});
    day.changes += next != percent ? 1 : 0;
    day.least = std::min(day.least, next);
    day.most = std::max(day.most, next);
    percent = next;
  }
  return day;
}

TEST_CASE(
    "On a model of a machine, sensitive work whose need follows recorded days of CPU use gets it, and "
    "best-effort work most of the rest",
    "[koordlet][bandwidth]") {
  const auto days = recorded();
  REQUIRE(days.size() == 4);
  for (const auto& [machine, curve] : days) {
    CAPTURE(machine);
    const std::vector<double> demand = demand_of(curve, Model{}.capacity);
    const Day before = live(demand, false), after = live(demand, true);
    CAPTURE(before.short_of / before.wanted, after.short_of / after.wanted, before.hurt, after.hurt,
            after.best_effort / after.left, after.changes, after.readings);
    CHECK(after.short_of * 5 < before.short_of);
    CHECK(after.short_of < after.wanted * 0.01);
    CHECK(after.hurt < after.readings / 20);
    CHECK(after.best_effort > after.left * 0.6);
    CHECK(after.changes < after.readings / 4);
    CHECK(after.least >= 10);
    CHECK(after.most <= 100);
  }
}

TEST_CASE("A need that stays the same comes to rest", "[koordlet][bandwidth]") {
  const Model model;
  for (int wanted = 0; wanted <= 75; wanted += 3) {
    CAPTURE(wanted);
    Steering steering;
    std::int64_t percent = 100;
    int changes = 0;
    for (int i = 0; i < 400; ++i) {
      const auto served = model.serve(wanted * kGb, percent);
      const std::int64_t next =
          steering.step({.capacity = model.capacity}, {served.sensitive, served.best_effort});
      if (i >= 100) changes += next != percent ? 1 : 0;
      percent = next;
    }
    CHECK(changes == 0);
    CHECK(model.serve(wanted * kGb, percent).sensitive >= wanted * kGb * 0.99);
  }
}

TEST_CASE("Down at once, by half at most; up after three readings with room; blind it lets go",
          "[koordlet][bandwidth]") {
  const Terms terms{.capacity = 100, .target = 0.8, .least = 10, .most = 90, .step = 10};
  Steering steering;
  CHECK(steering.step(terms, {0, 90}) == 80);   // 80 of 100 are for all together
  CHECK(steering.step(terms, {50, 50}) == 40);  // 25 are left
  CHECK(steering.step(terms, {70, 90}) == 20);
  CHECK(steering.step(terms, {70, 40}) == 10);
  CHECK(steering.step(terms, {70, 40}) == 10);  // never less
  for (int i = 0; i < 30; ++i) steering.step(terms, {10, 90});
  CHECK(*steering.percent() == 10);
  CHECK(steering.step(terms, {10, 9}) == 10);
  CHECK(steering.step(terms, {10, 9}) == 10);
  CHECK(steering.step(terms, {10, 9}) == 20);
  CHECK(steering.step(terms, {10, 9}) == 30);
  CHECK(steering.step(terms, {10, 68}) == 30);  // more of it would pass the target: it stays
  CHECK(steering.step(terms, {10, 9}) == 30);
  CHECK(steering.step(terms, {kNan, 9}) == 30);
  CHECK(steering.step(terms, {10, kNan}) == 30);
  CHECK(steering.step(terms, {kNan, kNan}) == 40);
  for (int i = 0; i < 30; ++i) steering.step(terms, {kNan, kNan});
  CHECK(*steering.percent() == 90);
  // Another NodeSLO counts at once.
  CHECK(steering.step({.capacity = 100, .least = 10, .most = 50}, {0, 1}) == 50);
  CHECK(steering.step({.capacity = 100, .least = 60, .most = 50}, {0, 1}) == 50);
}

TEST_CASE("Whatever is read, the percentage stays within its bounds", "[koordlet][bandwidth]") {
  std::mt19937 random(29);
  const double strange[] = {0, 1, 1e12, 1e300, -1, kNan, INFINITY, -INFINITY};
  Steering steering;
  for (int i = 0; i < 20'000; ++i) {
    const auto any = [&] { return strange[random() % std::size(strange)]; };
    const Terms terms{.capacity = random() % 2 == 0 ? 1e11 : 0,
                      .least = 20,
                      .most = 80,
                      .step = random() % 2 == 0 ? 10 : 5};
    const auto percent = steering.step(terms, {any(), any()});
    if (percent < 20 || percent > 80) FAIL(percent);
  }
}

TEST_CASE("What the NodeSLO says of it", "[koordlet][bandwidth]") {
  CHECK_FALSE(read_settings("")->enable);
  CHECK_FALSE(read_settings(R"({"cpuBlame":{"enable":true}})")->enable);
  const auto whole =
      read_settings(R"({"Object":{"memoryBandwidth":{"enable":true,"capacityMegabytes":80000}}})");
  REQUIRE(whole.has_value());
  CHECK(whole->capacity_megabytes == 80'000);
  CHECK(whole->target_percent == 80);
  CHECK(whole->min_percent == 10);
  for (const char* bad :
       {R"({"memoryBandwidth":{"targetPercent":101}})", R"({"memoryBandwidth":{"minPercent":0}})",
        R"({"memoryBandwidth":{"capacityMegabytes":-1}})", R"({"memoryBandwidth":[]})",
        R"({"memoryBandwidth":{"capacity":1}})"}) {
    CAPTURE(bad);
    const auto read = read_settings(bad);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().message().starts_with("extensions.memoryBandwidth"));
  }
}

class Rig : public QosRig {
 public:
  explicit Rig(std::string journal = {}) : QosRig(CgroupVersion::v2, std::move(journal)) {
    static constexpr const StrategyEntry* kTable[] = {&kMemoryBandwidth, &kRdtResctrl};
    strategies = kTable;
    resctrl.build({0, 8}, 0xff, {.least = 10, .step = 10, .most = 100, .ids = {}});
    shape = [this](TickView& view) {
      if (counted) view.slots.show(&use, view.at);
    };
    start();
  }
  void says(std::string_view extension, std::optional<std::int64_t> mba = 90) {
    auto spec = std::make_shared<api::NodeSloSpec>();
    spec->extensions.text = extension;
    auto& said = spec->resource_qos_strategy.emplace().be_class.emplace().resctrl_qos.emplace();
    said.enable = mba.has_value();
    said.mba_percent = mba;
    inventory.slo = spec;
    ++inventory.generation;
  }
  void reads(double sensitive, double best_effort, int count = 1) {
    use.classes[0] = {{.id = 0, .total = sensitive * kGb / 2}};
    use.classes[1] = {{.id = 0, .total = sensitive * kGb / 2}, {.id = 8, .total = 0}};
    use.classes[2] = {{.id = 0, .total = best_effort * kGb}, {.id = 8, .total = kGb}};
    while (count-- > 0) {
      ++use.reading;
      tick(1);
    }
  }
  std::string bandwidth() const {
    const auto lines = host::parse_schemata(resctrl.said("BE"));
    return host::print_schemata(lines.value().at(1));
  }
  ResctrlUse use;
  bool counted = true;
};
constexpr std::string_view kOn = R"({"memoryBandwidth":{"enable":true,"capacityMegabytes":100000}})";

TEST_CASE("Best-effort work's part follows what the others need, behind each cache by itself",
          "[koordlet][bandwidth]") {
  Rig rig;
  rig.says(kOn);
  rig.reads(10, 20, 3);
  CHECK(rig.bandwidth() == "MB:0=90;8=90;\n");
  rig.reads(60, 40);
  CHECK(rig.bandwidth() == "MB:0=40;8=90;\n");
  // Between two readings nothing is decided, and nothing is written.
  const std::size_t written = rig.kernel.written.size();
  for (int i = 0; i < 9; ++i) rig.tick(1);
  CHECK(rig.kernel.written.size() == written);
  rig.reads(60, 40);
  CHECK(rig.bandwidth() == "MB:0=20;8=90;\n");
  // Nobody counts any more, or the NodeSLO does not want it: its class' part again.
  rig.counted = false;
  rig.tick(1);
  CHECK(rig.bandwidth() == "MB:0=90;8=90;\n");
  rig.counted = true;
  rig.reads(60, 40);
  CHECK(rig.bandwidth() != "MB:0=90;8=90;\n");
  rig.says("");
  rig.tick(1);
  CHECK(rig.bandwidth() == "MB:0=90;8=90;\n");
}

TEST_CASE("What pods' own groups move counts with their class", "[koordlet][bandwidth]") {
  Rig rig;
  rig.says(kOn);
  rig.use.own[1][0] = 60 * kGb;  // an LS pod's
  rig.use.own[2][0] = 30 * kGb;
  rig.reads(0, 10);
  CHECK(rig.bandwidth() == "MB:0=40;8=90;\n");  // as of 60 and 40 of the classes' groups
  rig.use.own_groups = 3;
  rig.use.own_unread = 2;
  rig.reads(0, 10);
  CHECK(rig.report("MemoryBandwidth").status.summary.find("of 3 groups of pods' own 2 could not be read") !=
        std::string::npos);
}

TEST_CASE("Off by default, and where something is missing it says what", "[koordlet][bandwidth]") {
  struct Row {
    std::string_view extension;
    std::optional<std::int64_t> mba;
    bool counted;
    const char* said;
  };
  const Row rows[] = {
      {"", 90, true, "not enabled"},
      {R"({"memoryBandwidth":{"enable":true}})", 90, true, "capacityMegabytes"},
      {R"({"memoryBandwidth":{"enable":true,"minPercent":0}})", 90, true,
       "extensions.memoryBandwidth.minPercent"},
      {kOn, {}, true, "resctrlQOS"},
      {kOn, 90, false, "ResctrlCollector"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.said);
    Rig rig;
    rig.counted = row.counted;
    rig.says(row.extension, row.mba);
    rig.reads(60, 40, 5);
    CHECK(rig.report("MemoryBandwidth").status.summary.find(row.said) != std::string::npos);
    if (row.mba) CHECK(rig.bandwidth() == "MB:0=90;8=90;\n");
  }
  Rig none;
  none.resctrl.machine->bandwidth.reset();
  none.start();
  none.says(kOn);
  none.reads(60, 40, 5);
  CHECK(none.report("MemoryBandwidth").status.summary.find("cannot be divided") != std::string::npos);
}

TEST_CASE("An agent that starts again goes on with what is in force", "[koordlet][bandwidth]") {
  constexpr host::ResctrlBandwidth kPercent{.least = 10, .step = 10, .most = 100, .ids = {}};
  constexpr host::ResctrlBandwidth kUnits{.scale = host::BandwidthScale::units, .most = 2048, .ids = {}};
  struct Row {
    host::ResctrlBandwidth bandwidth;
    bool comes;  // the first reading
    const char *narrow, *then;
  };
  const Row rows[] = {
      {kPercent, true, "MB:0=40;8=90;\n", "MB:0=20;8=90;\n"},
      {kPercent, false, "MB:0=40;8=90;\n", "MB:0=90;8=90;\n"},
      {kUnits, true, "MB:0=72;8=144;\n", "MB:0=32;8=144;\n"},
      {kUnits, false, "MB:0=72;8=144;\n", "MB:0=144;8=144;\n"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.narrow, row.comes);
    const koord::testing::Tree tree;
    Rig rig(tree / "journal");
    rig.resctrl.build({0, 8}, 0xff, row.bandwidth);
    rig.start();
    rig.says(kOn);
    rig.reads(10, 20, 3);
    rig.reads(60, 40);
    REQUIRE(rig.bandwidth() == row.narrow);
    const std::size_t written = rig.kernel.written.size();
    rig.counted = false;  // the first reading is yet to come
    rig.use.reading = 0;
    rig.start();
    for (int i = 0; i < 100; ++i) rig.tick(1);
    CHECK(rig.bandwidth() == row.narrow);
    CHECK(rig.kernel.written.size() == written);
    CHECK(rig.report("MemoryBandwidth").status.summary.find("first reading") != std::string::npos);
    rig.counted = row.comes;
    rig.reads(60, 40, row.comes ? 1 : 30);
    CHECK(rig.bandwidth() == row.then);
  }
}

TEST_CASE("Percentages of values are those of which the values are", "[koordlet][bandwidth]") {
  for (const auto scale : {host::BandwidthScale::percent, host::BandwidthScale::units})
    for (const std::int64_t most : {100, 2048, 4096, 20'000}) {
      if (scale == host::BandwidthScale::percent && most != 100) continue;
      const host::ResctrlBandwidth bandwidth{.scale = scale, .most = most, .ids = {}};
      for (std::int64_t percent = 1; percent <= 100; ++percent) {
        const auto value = host::bandwidth_value(bandwidth, percent);
        REQUIRE(value.has_value());
        const auto back = host::bandwidth_percent(bandwidth, *value);
        CAPTURE(most, percent, *value);
        REQUIRE(back.has_value());
        CHECK(host::bandwidth_value(bandwidth, *back).value() == *value);
      }
      CHECK_FALSE(host::bandwidth_percent(bandwidth, 0).has_value());
    }
  CHECK_FALSE(host::bandwidth_percent({.scale = host::BandwidthScale::megabytes, .ids = {}}, 5).has_value());
}

TEST_CASE("Best-effort pods with groups of their own have no more than the loop leaves",
          "[koordlet][bandwidth]") {
  Rig rig;
  static constexpr const StrategyEntry* kTable[] = {&kMemoryBandwidth, &kResctrlPods, &kRdtResctrl};
  rig.strategies = kTable;
  REQUIRE(rig.gates.set("Resctrl=true").has_value());
  rig.start();
  rig.says(kOn);
  rig.pods({{"a", Qos::be}, {"b", Qos::be}, {"c", Qos::ls}, {"../d", Qos::be}});
  for (std::size_t i = 0; i < rig.inventory.pods.size(); ++i) {
    auto pod = std::make_shared<PodInfo>(*rig.inventory.pods[i]);
    auto said = std::make_shared<api::PodResctrl>();
    said->mb.schemata.percent = i == 1 ? 10 : 80;
    pod->terms.put(std::shared_ptr<const api::PodResctrl>(said));
    rig.inventory.pods[i] = pod;
  }
  rig.inventory.all_pods = rig.inventory.pods;
  const auto bandwidth = [&](const char* uid) {
    const auto lines = host::parse_schemata(rig.resctrl.said(fmt::format("koordlet-{}", uid)));
    return host::print_schemata(lines.value().at(1));
  };
  rig.reads(10, 20, 3);
  CHECK(bandwidth("a") == "MB:0=80;8=80;\n");
  rig.reads(60, 40, 2);
  CHECK(rig.bandwidth() == "MB:0=20;8=90;\n");
  CHECK(bandwidth("a") == "MB:0=20;8=80;\n");
  CHECK(bandwidth("b") == "MB:0=10;8=10;\n");
  CHECK(bandwidth("c") == "MB:0=80;8=80;\n");
  CHECK(rig.report("MemoryBandwidth").status.summary.find("; 2 of its pods") != std::string::npos);
  rig.says("");
  rig.tick(1);
  CHECK(bandwidth("a") == "MB:0=80;8=80;\n");
}

TEST_CASE("Killed between any two writes, the loop leaves nothing behind", "[koordlet][bandwidth]") {
  std::string before;
  testing::kill_between_writes(
      [&](const std::string& journal) {
        auto rig = std::make_unique<Rig>(journal);
        rig->resctrl.make_of_others("BE");  // somebody's own: its values come back
        rig->says(kOn);
        before = rig->resctrl.state();
        return rig;
      },
      [](Rig& rig) {
        rig.reads(60, 40, 4);
        rig.reads(5, 5, 10);
      },
      [&](Rig& rig, const std::string&, std::size_t) {
        rig.start();
        REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
        CHECK(rig.resctrl.state() == before);
      });
}

}  // namespace
}  // namespace koord::koordlet
