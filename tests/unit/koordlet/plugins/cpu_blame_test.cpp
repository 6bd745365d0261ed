// CPU blame from the tick to the files: the extension that switches it on, what it writes beside CPU
// suppression, and that it leaves nothing behind.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "framework/tick/blamed_waits.hpp"
#include "koord/host/file.hpp"
#include "plugins/cpu_blame/settings.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/qos_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using cpu_blame::read_settings;
using host::CgroupVersion;
using koord::testing::Tree;
using testing::kBeRoot;
using testing::QosRig;

constexpr std::int64_t kCpu = 100'000;  // us of quota
const std::string kPod = std::string(kBeRoot) + "/podbe", kContainer = kPod + "/c";

TEST_CASE("The extension, as it is and as the manager writes it", "[koordlet][blame]") {
  struct Row {
    const char* name;
    const char* text;
    bool enable;
    std::int64_t target;
    std::optional<std::int64_t> min;
    bool idle;
    std::optional<bool> quota = {};
  };
  const Row row = GENERATE(values<Row>({
      {"none", "", false, 0, {}, true},
      {"others'", R"({"theirs":{"enable":true},"Object":{}})", false, 0, {}, true},
      {"null", R"({"cpuBlame":null})", false, 0, {}, true},
      {"empty: nobody said that it shall", R"({"cpuBlame":{}})", false, 250, {}, true},
      {"as it is", R"({"cpuBlame":{"enable":true}})", true, 250, {}, true},
      {"as the manager writes it", R"({"Object":{"cpuBlame":{"enable":true}}})", true, 250, {}, true},
      {"everything",
       R"({"cpuBlame":{"enable":true,"targetMicroseconds":50,"minPercent":0,"idle":false,"quota":true}})",
       true, 50, 0, false, true},
      {"both: the first",
       R"({"Object":{"cpuBlame":{"enable":false}},"cpuBlame":{"enable":true,"minPercent":100}})", true, 250,
       100, true},
  }));
  CAPTURE(row.name);
  const auto settings = read_settings(row.text);
  REQUIRE(settings.has_value());
  CHECK(settings->enable == row.enable);
  CHECK(settings->target_microseconds == row.target);
  CHECK(settings->min_percent == row.min);
  CHECK(settings->idle == row.idle);
  CHECK(settings->quota == row.quota);
}

TEST_CASE("What is wrong with the extension is named by its path", "[koordlet][blame]") {
  struct Row {
    const char* text;
    const char* error;
  };
  const Row row = GENERATE(values<Row>({
      {R"({"cpuBlame":{"enable":"yes"}})", "extensions.cpuBlame.enable: "},
      {R"({"cpuBlame":{"enabled":true}})", "extensions.cpuBlame.enabled: "},
      {R"({"Object":{"cpuBlame":{"minPercent":101}}})", "extensions.Object.cpuBlame.minPercent: "},
      {R"({"cpuBlame":{"minPercent":-1}})", "extensions.cpuBlame.minPercent: "},
      {R"({"cpuBlame":{"targetMicroseconds":49}})", "extensions.cpuBlame.targetMicroseconds: "},
      {R"({"cpuBlame":{"targetMicroseconds":1e9}})", "extensions.cpuBlame.targetMicroseconds: "},
      {R"({"cpuBlame":[true]})", "extensions.cpuBlame: expected an object"},
      {R"({"cpuBlame":true})", "extensions.cpuBlame: expected an object"},
  }));
  CAPTURE(row.text);
  const auto settings = read_settings(row.text);
  REQUIRE(!settings.has_value());
  CHECK_THAT(settings.error().message(), Catch::StartsWith(row.error));
}

/// 16 CPUs, one latency-sensitive pod and one best-effort pod that takes what it gets.
struct BlameRig : QosRig {
  explicit BlameRig(CgroupVersion version, std::string journal = {}, bool gate = true)
      : QosRig(version, std::move(journal)) {
    if (gate && !gates.set("BECPUBlame=true")) throw std::runtime_error("no gate");
    start();
    extension(R"({"cpuBlame":{"enable":true,"targetMicroseconds":1000,"minPercent":10,"quota":true}})");
    pods({{"be", Qos::be, 2}, {"ls", Qos::ls, 4}});
    auto be = std::make_shared<PodInfo>(*inventory.pods[0]);
    be->containers.push_back({.name = "c", .id = "c", .group = kContainer});
    inventory.pods[0] = be;
    be_tree("0-15", -1, {"podbe", "podbe/c"});
    kernel.group(kBeRoot).shares = version == CgroupVersion::v1 ? 2 : 1;
    shape = [this](TickView& view) {
      waited.reading = ++reading;
      if (signal) view.slots.show(&waited, view.at);
    };
    say(100);
  }
  void extension(const std::string& text) {
    auto spec = std::make_shared<api::NodeSloSpec>(inventory.slo ? *inventory.slo : api::NodeSloSpec());
    spec->extensions.text = text;
    inventory.slo = spec;
  }
  void suppress(const char* policy, std::int64_t threshold = 70) {
    const std::string kept = inventory.slo->extensions.text;
    slo(true, policy, threshold);
    extension(kept);
  }
  void say(double p99_us, double part = 0.5) {
    waited = {.period = std::chrono::seconds(1),
              .waits = 1000,
              .caused_seconds = part,
              .best_effort_p99_us = p99_us,
              .fit = true};
    waited.seconds[static_cast<std::size_t>(Runner::ls)] = 1;
  }
  double be_cpus() {
    const std::int64_t quota = kernel.quota(kBeRoot);
    return std::min(10.0, quota < 0 ? 16.0 : static_cast<double>(quota) / kCpu);
  }
  void ticks(int count) {
    for (int i = 0; i < count; ++i) tick(4 + be_cpus(), true, be_cpus());
  }
  bool idle(const std::string& group) { return kernel.group(group).idle; }
  std::string summary() const { return report("CPUBlame").status.summary; }

  std::string held() {
    std::string held;
    for (const auto& [name, group] : kernel.groups())
      held += fmt::format("{}: {} {} {} {}\n", name, group.quota, group.shares, group.cpus.to_string(),
                          group.idle);
    return held;
  }

  BlamedWaits waited;
  std::uint64_t reading = 0;
  bool signal = true;
};

TEST_CASE("The gate alone does not switch it on, nor all alpha gates", "[koordlet][blame]") {
  const std::string gate = GENERATE("BECPUBlame=true", "AllAlpha=true", "");
  BlameRig rig(CgroupVersion::v2, {}, false);
  const bool asked = GENERATE(false, true);
  if (!asked) rig.extension(GENERATE("", R"({"cpuBlame":{}})", R"({"cpuBlame":{"enable":false}})"));
  if (!gate.empty()) REQUIRE(rig.gates.set(gate).has_value());
  rig.start();
  rig.say(50'000);
  rig.ticks(6);
  const bool on = asked && !gate.empty();
  CHECK((rig.kernel.quota(kBeRoot) != -1) == on);
  CHECK(rig.idle(kContainer) == on);
  CHECK(rig.report("CPUBlame").enabled == !gate.empty());
  CHECK(rig.report("CPUBlame").status.active == on);
}

TEST_CASE("A bad extension is told once, and CPU suppression is alone", "[koordlet][blame]") {
  BlameRig rig(CgroupVersion::v1);
  rig.say(50'000);
  rig.ticks(3);
  CHECK(rig.kernel.quota(kBeRoot) != -1);
  for (int i = 0; i < 3; ++i) {
    rig.extension(R"({"cpuBlame":{"enable":true,"minPercent":"ten"}})");
    rig.ticks(2);
  }
  CHECK(rig.kernel.quota(kBeRoot) == -1);
  CHECK_FALSE(rig.idle(kContainer));
  CHECK_THAT(rig.summary(), Catch::StartsWith("off: extensions.cpuBlame.minPercent: "));
  std::size_t told = 0;
  for (const std::string& line : rig.log.lines())
    if (line.find("extensions.cpuBlame.minPercent") != std::string::npos) ++told;
  CHECK(told == 1);
}

TEST_CASE("Weights first, then the quota, down to the minimum and back", "[koordlet][blame]") {
  BlameRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.ticks(3);
  CHECK(rig.idle(kContainer));
  CHECK_FALSE(rig.idle(kBeRoot));  // the kubelet's
  CHECK_FALSE(rig.idle(kPod));     // which keeps its weight beside other pods
  CHECK(rig.kernel.quota(kBeRoot) == -1);
  CHECK_THAT(rig.summary(),
             Catch::StartsWith("calm: no limit beside the others'; it causes a p99 of 100 us"));

  rig.say(50'000);
  rig.ticks(2);
  CHECK(rig.kernel.quota(kBeRoot) == 5 * kCpu);  // of the 10 that it used
  CHECK_THAT(rig.summary(),
             Catch::StartsWith("tightened: 5.00 of 16.00 CPUs for best-effort work; it causes a "
                               "p99 of 50000 us, 1000 are allowed"));
  const auto limits = rig.manager->limits();
  const auto quota = std::find_if(limits.begin(), limits.end(), [](const auto& limit) {
    return limit.knob == host::Knob::cpu_quota && limit.strategy == "CPUBlame";
  });
  REQUIRE(quota != limits.end());
  CHECK(quota->in_force);
  CHECK_THAT(quota->reason, Catch::StartsWith("tightened: 5.00 of 16.00 CPUs"));
  const std::string metrics = rig.metrics->exposition();
  CHECK_THAT(metrics, Catch::Contains("koordlet_be_blame_target_seconds 0.001\n"));
  CHECK_THAT(metrics, Catch::Contains("koordlet_be_blame_caused_p99_seconds 0.05\n"));
  CHECK_THAT(metrics, Catch::Contains("koordlet_be_blame_cpu_cores 5\n"));
  CHECK_THAT(metrics, Catch::Contains("koordlet_be_blame_state{state=\"tightened\"} 1\n"));
  CHECK_THAT(metrics, Catch::Contains("koordlet_be_blame_state{state=\"calm\"} 0\n"));
  CHECK_THAT(metrics, Catch::Contains("koordlet_be_blame_tightened_total 1\n"));

  rig.say(20'000);  // it helps
  rig.ticks(10);
  CHECK(rig.kernel.quota(kBeRoot) == 160'000);  // a tenth of the node
  CHECK_THAT(rig.summary(), Catch::Contains(", the minimum;"));
  rig.say(100);
  rig.ticks(10);
  CHECK(rig.kernel.quota(kBeRoot) > 160'000);
  rig.ticks(120);
  CHECK(rig.kernel.quota(kBeRoot) == -1);
  CHECK(rig.idle(kContainer));
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("CPU suppression's budget stays the upper bound", "[koordlet][blame]") {
  const std::string policy = GENERATE("cfsQuota", "cpuset");
  BlameRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.suppress(policy.c_str(), 65);
  rig.ticks(4);
  CHECK(rig.kernel.quota(kBeRoot) == (policy == "cpuset" ? -1 : 640'000));  // 10.4 - 4
  const std::size_t cpus = policy == "cpuset" ? 7 : 16;
  CHECK(rig.kernel.group(kBeRoot).cpus.size() == static_cast<int>(cpus));
  rig.say(50'000);
  rig.ticks(2);
  CHECK(rig.kernel.quota(kBeRoot) <= 320'000);
  CHECK(rig.kernel.group(kBeRoot).cpus.size() == static_cast<int>(cpus));
  rig.say(700);
  rig.ticks(5);
  CHECK(rig.kernel.quota(kBeRoot) <= 320'000);
  // The others need more: suppression's is smaller now.
  rig.pod_usage[1].cpu = 9;
  for (int i = 0; i < 3; ++i) rig.tick(10.4, true, 1.4);
  if (policy == "cfsQuota") CHECK(rig.kernel.quota(kBeRoot) == 140'000);
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("With minPercent 100 there are the weights alone, whatever it causes", "[koordlet][blame]") {
  const std::string policy = GENERATE("cfsQuota", "cpuset", "off");
  Tree tree;
  BlameRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  if (policy != "off") rig.suppress(policy.c_str(), 65);
  const auto none = [&] {
    const auto limits = rig.manager->limits();
    return std::none_of(limits.begin(), limits.end(), [](const auto& limit) {
      return limit.knob == host::Knob::cpu_quota && limit.strategy == "CPUBlame";
    });
  };
  const std::int64_t quota = policy == "cfsQuota" ? 640'000 : -1;  // suppression's: 65% less 4 CPUs
  // An agent before this one, or another NodeSLO, may have taken a quota.
  const bool found = GENERATE(false, true);
  rig.say(50'000);
  if (found) {
    rig.ticks(6);
    REQUIRE_FALSE(none());
    if (GENERATE(false, true)) rig.start();
  }
  rig.extension(R"({"cpuBlame":{"enable":true,"targetMicroseconds":1000,"minPercent":100,"quota":true}})");
  rig.ticks(5);
  for (int i = 0; i < 60; ++i) {
    rig.ticks(1);
    CAPTURE(policy, found, i, rig.summary());
    REQUIRE(none());
    REQUIRE(rig.kernel.quota(kBeRoot) == quota);
    REQUIRE(rig.idle(kContainer));
  }
  CHECK_THAT(rig.summary(), Catch::Contains(": no limit beside the others'"));
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Without a fit signal it hands over to CPU suppression without a jump", "[koordlet][blame]") {
  const std::string policy = GENERATE("cfsQuota", "cpuset", "off");
  BlameRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  if (policy != "off") rig.suppress(policy.c_str(), 65);
  rig.ticks(3);
  rig.say(20'000);
  rig.ticks(2);
  rig.say(700);
  rig.ticks(3);
  std::int64_t before = rig.kernel.quota(kBeRoot);
  REQUIRE(before > 0);
  REQUIRE(before <= 5 * kCpu);
  SECTION("there is none") { rig.signal = false; }
  SECTION("it is not fit") { rig.waited.fit = false; }
  for (int i = 0; i < 15; ++i) {
    rig.ticks(1);
    const std::int64_t now = rig.kernel.quota(kBeRoot);
    CAPTURE(i, now);
    if (now == -1)
      CHECK((before == -1 || before >= (policy == "off" ? 14 : 4) * kCpu));
    else
      CHECK(now <= before + 16 * kCpu / 10 + kCpu / 100);
    before = now;
  }
  CHECK(before == (policy == "cfsQuota" ? 640'000 : -1));
  CHECK_FALSE(rig.idle(kContainer));
  CHECK_FALSE(rig.report("CPUBlame").status.active);
  CHECK_THAT(rig.summary(), Catch::Contains("CPU suppression alone: "));
  rig.signal = true;
  rig.say(700);
  rig.ticks(3);
  CHECK(rig.idle(kContainer));
}

TEST_CASE("A service that overloads itself costs best-effort work nothing", "[koordlet][blame]") {
  BlameRig rig(CgroupVersion::v2);
  rig.ticks(3);
  rig.say(40'000, 0.05);
  rig.ticks(120);
  CHECK(rig.kernel.quota(kBeRoot) == -1);
  CHECK_THAT(rig.summary(), Catch::Contains("40000 us, 1000 are allowed, but only 5% of what is waited"));
}

TEST_CASE("What does not help is given back", "[koordlet][blame]") {
  BlameRig rig(CgroupVersion::v2);
  rig.say(20'000);
  rig.ticks(60);
  CHECK(rig.kernel.quota(kBeRoot) == -1);
  CHECK_THAT(rig.summary(), Catch::StartsWith("resting: ") && Catch::Contains("less did not help enough"));
  CHECK_THAT(rig.metrics->exposition(), Catch::Contains("koordlet_be_blame_given_back_total 1\n"));
}

TEST_CASE("An agent that starts goes on from what it finds", "[koordlet][blame]") {
  Tree tree;
  BlameRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  rig.say(50'000);
  rig.ticks(3);
  const std::int64_t found = rig.kernel.quota(kBeRoot);
  REQUIRE(found > 0);
  rig.start();
  rig.signal = false;  // for a while
  rig.kernel.written.clear();
  rig.ticks(3);
  CHECK(rig.kernel.written.empty());
  rig.signal = true;
  rig.say(700);
  rig.ticks(5);
  CHECK(rig.kernel.quota(kBeRoot) == found);
  CHECK(rig.idle(kContainer));
}

TEST_CASE("Whoever ends it, nothing is left", "[koordlet][blame][crash]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const bool plain = GENERATE(false, true);
  const std::string end = GENERATE("cleanup", "gate", "extension", "slo");
  CAPTURE(plain, end);
  std::string before;
  const std::size_t writes = testing::kill_between_writes(
      [&](const std::string& journal) {
        auto rig = std::make_unique<BlameRig>(version, journal);
        if (plain) {
          rig->inventory.be_roots = {"batch.slice", "night.slice"};
          for (const char* name : {"batch.slice", "night.slice", "batch.slice/job"}) {
            rig->kernel.group(name).cpus = rig->topology->online;
            rig->kernel.group(name).shares = 300;
          }
          rig->kernel.group("night.slice").quota = 150'000;  // an operator's
        }
        before = rig->held();
        return rig;
      },
      [](BlameRig& rig) {
        rig.ticks(3);
        rig.say(50'000);
        rig.ticks(4);
        rig.say(100);
        rig.ticks(12);
      },
      [&](BlameRig& rig, const std::string& journal, std::size_t) {
        if (end == "gate") REQUIRE(rig.gates.set("BECPUBlame=false").has_value());
        if (end == "extension") rig.extension("");
        if (end == "slo") rig.inventory.slo.reset();
        rig.start();
        if (end == "cleanup")
          CHECK(rig.manager->cleanup(rig.inventory).has_value());
        else
          for (int i = 0; i < 4; ++i) rig.tick(5);
        CHECK(rig.held() == before);
        CHECK(rig.kernel.refused.empty());
        CHECK_FALSE(host::exists(journal));
      });
  CHECK(writes >= 6);
}

TEST_CASE("Several groups share its quota, and go idle themselves", "[koordlet][blame]") {
  BlameRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.inventory.be_roots = {"batch.slice", "night.slice"};
  for (const char* name : {"batch.slice", "night.slice"}) rig.kernel.group(name).cpus = rig.topology->online;
  rig.kernel.group("night.slice").quota = 150'000;
  for (int i = 0; i < 3; ++i) rig.tick(14, true, 10);
  CHECK(rig.idle("batch.slice"));
  CHECK(rig.idle("night.slice"));
  rig.say(50'000);
  for (int i = 0; i < 2; ++i) rig.tick(14, true, 10);
  CHECK(rig.kernel.quota("night.slice") <= 150'000);
  CHECK(rig.kernel.quota("batch.slice") + rig.kernel.quota("night.slice") == 5 * kCpu);
  rig.extension("");
  rig.tick(14, true, 10);
  CHECK(rig.kernel.quota("batch.slice") == -1);
  CHECK(rig.kernel.quota("night.slice") == 150'000);
  CHECK_FALSE(rig.idle("batch.slice"));
}

TEST_CASE("Beside cpu.idle there is a quota only where it is asked for", "[koordlet][blame]") {
  struct Row {
    const char* name;
    const char* more;  // in the extension
    bool has_idle, idle, quota;
  };
  const Row row = GENERATE(values<Row>({
      {"by itself", "", true, true, false},
      {"asked for", R"(,"quota":true)", true, true, true},
      {"refused", R"(,"quota":false)", true, true, false},
      {"a kernel without idle groups", "", false, false, true},
      {"refused there, too", R"(,"quota":false)", false, false, false},
      {"shares shall stay", R"(,"idle":false)", true, false, true},
      {"its flag", "", true, false, true},
  }));
  CAPTURE(row.name);
  BlameRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  if (row.name == std::string_view("its flag")) rig.set.insert("disable-cpu-idle");
  rig.kernel.has_idle = row.has_idle;
  rig.extension(fmt::format(R"({{"cpuBlame":{{"enable":true{}}}}})", row.more));
  rig.say(50'000);
  rig.ticks(6);
  CHECK(rig.idle(kContainer) == row.idle);
  CHECK((rig.kernel.quota(kBeRoot) != -1) == row.quota);
  CHECK(rig.kernel.refused.empty());
  if (!row.quota)
    CHECK_THAT(rig.summary(), Catch::Contains(": no limit beside the others', no quota") &&
                                  Catch::Contains("causes a p99 of 50000 us, 250 are allowed"));
  SECTION("a quota that is there is given up") {
    rig.extension(R"({"cpuBlame":{"enable":true,"quota":false}})");
    rig.ticks(3);
    CHECK(rig.kernel.quota(kBeRoot) == -1);
  }
}

TEST_CASE("A kernel without idle groups: the weight alone", "[koordlet][blame]") {
  BlameRig rig(CgroupVersion::v1);
  rig.kernel.has_idle = GENERATE(false, true);
  if (rig.kernel.has_idle)
    rig.extension(R"({"cpuBlame":{"enable":true,"targetMicroseconds":1000,"idle":false}})");
  rig.inventory.be_roots = {"batch.slice"};
  rig.kernel.group("batch.slice").cpus = rig.topology->online;
  rig.ticks(5);
  CHECK(rig.kernel.group("batch.slice").shares == 2);
  CHECK_FALSE(rig.idle("batch.slice"));
  CHECK(rig.manager->failures().empty());
}

}  // namespace
}  // namespace koord::koordlet
