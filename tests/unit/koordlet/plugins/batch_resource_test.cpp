// What batch and mid pods asked for, with the original's rows, in the kernel's files.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "rigs/hooks_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using testing::HooksRig;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
const std::string kPod = "kubepods/besteffort/podb";

HookTerms borrowing(std::vector<std::pair<std::string, LentResources>> containers,
                    std::optional<LentResources> whole) {
  HookTerms terms;
  terms.lent = whole;
  for (auto& [name, lent] : containers) terms.lent_to.emplace(name, lent);
  return terms;
}
HookTerms one(std::int64_t request, std::optional<std::int64_t> limit, std::optional<std::int64_t> memory) {
  const LentResources lent{.cpu_request = request, .cpu_limit = limit, .memory_limit = memory};
  return borrowing({{"c", lent}}, lent);
}
void suppress_by_quota(HooksRig& rig, bool on) {
  auto slo = std::make_shared<api::NodeSloSpec>();
  auto& strategy = slo->resource_used_threshold_with_be.emplace();
  strategy.enable = on;
  strategy.cpu_suppress_policy = "cfsQuota";
  rig.inventory.slo = slo;
  ++rig.inventory.generation;
}

TEST_CASE("What a batch pod asked for, as the original's rows have it", "[koordlet][hooks]") {
  struct Row {
    std::string_view what;
    Qos qos;
    HookTerms terms;
    bool by_quota;
    double ratio;
    std::int64_t shares, quota;
    std::string memory;
  };
  const std::string none = "9223372036854771712";
  const Row rows[] = {
      {"not a batch pod", Qos::ls, one(500, 500, 2 * kGiB), false, 1, 2, -1, none},
      {"of no class, whatever the kubelet's", Qos::none, one(500, 500, 2 * kGiB), false, 1, 2, -1, none},
      {"it asks for nothing", Qos::be, {}, false, 1, 2, -1, none},
      {"the tier has the quota", Qos::be, one(500, 500, 2 * kGiB), true, 1, 512, -1, "2147483648"},
      {"requests and limits", Qos::be, one(500, 500, 2 * kGiB), false, 1, 512, 50'000, "2147483648"},
      {"a larger limit", Qos::be, one(500, 1500, 4 * kGiB), false, 1, 512, 150'000, "4294967296"},
      {"no limits", Qos::be, one(500, {}, {}), false, 1, 512, -1, none},
      {"limits alone", Qos::be, one(0, 1000, 2 * kGiB), false, 1, 2, 100'000, "2147483648"},
      {"faster CPUs", Qos::be, one(500, 500, 2 * kGiB), false, 1.2, 512, 41'667, "2147483648"},
      {"faster CPUs, a whole one", Qos::be, one(1000, 1000, 2 * kGiB), false, 1.2, 1024, 83'334,
       "2147483648"},
      {"CPUs as they were", Qos::be, one(1000, 1000, 2 * kGiB), false, 1, 1024, 100'000, "2147483648"},
      {"slower CPUs", Qos::be, one(500, 500, 2 * kGiB), false, 0.8, 512, 50'000, "2147483648"},
      {"no less than the kernel takes", Qos::be, one(2, 2, {}), false, 1, 2, 1000, none},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    HooksRig rig(CgroupVersion::v1);
    PodInfo& pod = rig.pod("b", row.qos, {{"c"}}, row.terms);
    rig.inventory.node.cpu_normalization = row.ratio;
    if (row.by_quota) suppress_by_quota(rig, true);
    rig.ticks(1);
    for (const std::string& group : {pod.group, pod.containers[0].group}) {
      CHECK(rig.group(group).shares == row.shares);
      CHECK(rig.group(group).quota == row.quota);
      CHECK(rig.group(group).memory == row.memory);
    }
  }
}

TEST_CASE("A pod's containers each have their own, the pod has all of it", "[koordlet][hooks]") {
  HooksRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  const bool v2 = rig.kernel.version() == CgroupVersion::v2;
  const LentResources a{.cpu_request = 500, .cpu_limit = 1000, .memory_limit = kGiB};
  const LentResources b{.cpu_request = 500, .cpu_limit = 2000, .memory_limit = 2 * kGiB};
  rig.pod("b", Qos::be, {{"a"}, {"b"}, {"other"}},
          borrowing({{"a", a}, {"b", b}}, LentResources{1000, 3000, 3 * kGiB}));
  rig.ticks(1);
  CHECK(rig.group(kPod).quota == 300'000);
  CHECK(rig.group(kPod + "/a").quota == 100'000);
  CHECK(rig.group(kPod + "/b").quota == 200'000);
  CHECK(rig.group(kPod + "/other").quota == -1);
  CHECK(rig.group(kPod).shares == (v2 ? host::shares_to_weight(1024) : 1024));
  CHECK(rig.group(kPod + "/b").memory == std::to_string(2 * kGiB));
  const std::size_t calls = rig.kernel.calls();
  const std::size_t written = rig.kernel.written.size();
  rig.ticks(5);
  CHECK(rig.kernel.written.size() == written);
  CHECK(rig.kernel.calls() <=
        calls + std::size_t{5} * 32);  // no more than looking whether the files are still the same
}

TEST_CASE("Quotas are of the period that a group has: the kubelet's CustomCPUCFSQuotaPeriod",
          "[koordlet][hooks]") {
  HooksRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.pod("b", Qos::be, {{"a"}, {"b"}},
          borrowing({{"a", {.cpu_request = 500, .cpu_limit = 1000, .memory_limit = kGiB}},
                     {"b", {.cpu_request = 500, .cpu_limit = 20, .memory_limit = kGiB}}},
                    LentResources{1000, 1020, 2 * kGiB}));
  for (const char* below : {"", "/a", "/b"}) rig.kernel.group(kPod + below).period = 10'000;
  rig.ticks(1);
  CHECK(rig.group(kPod).quota == 10'200);
  CHECK(rig.group(kPod + "/a").quota == 10'000);
  CHECK(rig.group(kPod + "/b").quota == 1000);  // the kernel's least
  CHECK(rig.group(kPod + "/a").period == 10'000);
  // An update gives one of them another: its quota follows, though nobody says anything new.
  rig.kernel.group(kPod + "/a").period = 100'000;
  rig.ticks(15);
  CHECK(rig.group(kPod + "/a").quota == 100'000);
  CHECK(rig.group(kPod + "/b").quota == 1000);
  CHECK(rig.group(kPod).quota == 10'200);
}

TEST_CASE("Mid pods have what they asked of mid resources", "[koordlet][hooks]") {
  HooksRig rig(CgroupVersion::v1);
  PodInfo& pod = rig.pod("m", Qos::ls, {{"c"}}, one(1000, 2000, kGiB));
  pod.priority_class = PriorityClass::mid;
  rig.ticks(1);
  CHECK(rig.group(pod.group).quota == 200'000);
  CHECK(rig.group(pod.containers[0].group).shares == 1024);
}

TEST_CASE("Batch limits need no NodeSLO, and end with their gate", "[koordlet][hooks]") {
  koord::testing::Tree tree;
  HooksRig rig(CgroupVersion::v1, tree / "journal");
  rig.inventory.slo.reset();
  rig.inventory.slo_known = GENERATE(false, true);
  rig.pod("b", Qos::be, {{"c"}}, one(500, 500, kGiB));
  const auto before = rig.held();
  rig.ticks(1);
  CHECK(rig.group(kPod).quota == 50'000);
  // An agent that does not know the pods yet goes on with what it finds, for as long as it takes.
  const auto pods = rig.inventory.all_pods;
  rig.inventory.pods_known = false;
  rig.inventory.pods.clear();
  rig.inventory.all_pods.clear();
  ++rig.inventory.generation;
  rig.start();
  rig.ticks(400);
  CHECK(rig.group(kPod).quota == 50'000);
  CHECK(rig.group(kPod + "/c").memory == std::to_string(kGiB));
  rig.inventory.pods_known = true;
  rig.inventory.pods = rig.inventory.all_pods = pods;
  ++rig.inventory.generation;
  REQUIRE(rig.gates.set("BatchResource=false").has_value());
  rig.start();
  rig.ticks(2);
  CHECK(rig.held() == before);
}

TEST_CASE("A container that starts gets its limits in the next tick, a pod without containers too",
          "[koordlet][hooks]") {
  HooksRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  const LentResources each{.cpu_request = 500, .cpu_limit = 1000, .memory_limit = kGiB};
  PodInfo& pod =
      rig.pod("b", Qos::be, {}, borrowing({{"a", each}, {"b", each}}, LentResources{1000, 2000, 2 * kGiB}));
  rig.inventory.pods.clear();  // nothing of it runs
  rig.ticks(1);
  CHECK(rig.group(kPod).quota == 200'000);
  rig.inventory.pods = rig.inventory.all_pods;
  rig.run(pod, {"a"});
  rig.ticks(1);
  CHECK(rig.group(kPod + "/a").quota == 100'000);
  rig.run(pod, {"b"});
  rig.ticks(1);
  CHECK(rig.group(kPod + "/b").quota == 100'000);
  // It starts again: another group.
  rig.kernel.remove(kPod + "/a");
  pod.containers[0].group = kPod + "/a2";
  rig.group(kPod + "/a2");
  ++rig.inventory.generation;
  rig.ticks(1);
  CHECK(rig.group(kPod + "/a2").quota == 100'000);
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Limits grow and shrink in an order that the kernel takes", "[koordlet][hooks]") {
  HooksRig rig(CgroupVersion::v1);
  PodInfo& pod = rig.pod("b", Qos::be, {{"c"}}, one(500, 500, kGiB));
  for (const std::int64_t limit : {500, 2000, 250, 4000, 0, 1000}) {
    pod.terms.put(std::make_shared<const HookTerms>(
        one(500, limit > 0 ? std::optional(limit) : std::nullopt, std::max<std::int64_t>(limit, 1) << 20)));
    ++rig.inventory.generation;
    rig.ticks(1);
    CHECK(rig.group(kPod).quota == (limit > 0 ? limit * 100 : -1));
    CHECK(rig.group(kPod + "/c").quota == rig.group(kPod).quota);
  }
  suppress_by_quota(rig, true);
  rig.ticks(1);
  CHECK(rig.group(kPod + "/c").quota == -1);
  suppress_by_quota(rig, false);
  rig.ticks(2);
  CHECK(rig.group(kPod + "/c").quota == 100'000);
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Containers in a virtual machine of their own are left alone", "[koordlet][hooks]") {
  HooksRig rig(CgroupVersion::v1);
  HookTerms terms = one(500, 500, kGiB);
  terms.virtual_machine = true;
  rig.pod("b", Qos::be, {{"c"}}, terms);
  rig.ticks(1);
  CHECK(rig.group(kPod).quota == 50'000);
  CHECK(rig.group(kPod + "/c").quota == -1);
}

TEST_CASE("How often and for how long hooks were asked is told by level and kind of resource",
          "[koordlet][hooks]") {
  HooksRig rig(CgroupVersion::v2);
  rig.only({"BatchResource"});
  rig.pod("b", Qos::be, {{"c"}, {"d"}}, one(500, 500, kGiB));
  const auto count = [&](std::string_view level, std::string_view resource, std::string_view status) {
    const std::string series = fmt::format(
        "koordlet_runtime_hook_reconciler_invoked_duration_milliseconds_count{{level=\"{}\",resource_type=\"{"
        "}\","
        "status=\"{}\"}} ",
        level, resource, status);
    const std::string text = rig.metrics->exposition();
    const auto at = text.find(series);
    return at == std::string::npos ? 0 : std::stoi(text.substr(at + series.size()));
  };
  rig.ticks(3);  // it is asked once, since nothing changes
  for (const char* resource : {"cpu.shares", "cpu.cfs_quota_us", "memory.limit_in_bytes"}) {
    CHECK(count("pod", resource, "succeeded") == 1);
    CHECK(count("container", resource, "succeeded") == 1);  // of the one that borrows
    CHECK(count("sandbox", resource, "succeeded") == 0);
  }
  rig.kernel.fault = [](std::string_view path, std::string_view) {
    return path.ends_with("podb/cpu.weight") ? EIO : 0;
  };
  rig.pod("later", Qos::be, {{"c"}}, one(500, 500, kGiB));
  rig.group("kubepods/besteffort/podb").shares = 3;
  rig.ticks(75);  // files are read again after a minute
  ++rig.inventory.generation;
  rig.ticks(1);
  CHECK(count("pod", "cpu.shares", "failed") == 1);
}

TEST_CASE("A dry run of batch limits writes nothing", "[koordlet][hooks]") {
  HooksRig rig(CgroupVersion::v1);
  rig.dry_run = {"BatchResource"};
  rig.only({"BatchResource"});
  rig.pod("b", Qos::be, {{"c"}}, one(500, 500, kGiB));
  rig.ticks(2);
  CHECK(rig.kernel.written.empty());
  CHECK(rig.manager->limits().size() == 6);
}

TEST_CASE("Batch limits: an agent that is killed between any two writes leaves what can be undone",
          "[koordlet][hooks][crash]") {
  HooksRig::kill_between_writes(GENERATE(CgroupVersion::v1, CgroupVersion::v2), [](HooksRig& rig) {
    const LentResources each{.cpu_request = 500, .cpu_limit = 1000, .memory_limit = kGiB};
    rig.pod("b", Qos::be, {{"a"}, {"b"}},
            borrowing({{"a", each}, {"b", each}}, LentResources{1000, 2000, 2 * kGiB}));
  });
}

}  // namespace
}  // namespace koord::koordlet
