// Pods and nodes as the agent reads them, malformed ones among them.
#include "framework/objects/pod_info.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <limits>

#include "framework/states/cpu_manager.hpp"
#include "framework/states/warnings.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "plugins.hpp"
#include "plugins/cpu_burst/terms.hpp"
#include "plugins/evict/terms.hpp"
#include "plugins/memory_qos/terms.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupDriver;

constexpr std::string_view kRunning =
    R"({"phase":"Running","qosClass":"Burstable","containerStatuses":[{"name":"c","containerID":"containerd://abc","state":{"running":{}}}]})";

std::string pod(std::string_view uid, std::string_view status = kRunning, std::string_view meta = "",
                std::string_view node = "n1") {
  return R"({"metadata":{"name":"p","namespace":"d","uid":")" + std::string(uid) + "\"" + std::string(meta) +
         R"(},"spec":{"nodeName":")" + std::string(node) +
         R"(","containers":[{"name":"c","resources":{"limits":{"cpu":"1500m","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}}]},"status":)" +
         std::string(status) + "}";
}
std::string list(std::initializer_list<std::string> pods) {
  std::string items;
  for (const std::string& one : pods) items += (items.empty() ? "" : ",") + one;
  return R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":[)" + items + "]}";
}

TEST_CASE("A running pod: its groups for both drivers, limits, requests, classes") {
  const std::string text = list(
      {pod("u-1", kRunning,
           R"(,"labels":{"koordinator.sh/qosClass":"LS","koordinator.sh/priority-class":"koord-prod"})")});
  const auto plain = read_pod_list(text, "n1", CgroupDriver::cgroupfs);
  REQUIRE(plain.has_value());
  REQUIRE(plain->pods.size() == 1);
  const PodInfo& info = *plain->pods[0];
  CHECK(info.group == "kubepods/burstable/podu-1");
  CHECK(info.qos == Qos::ls);
  CHECK(info.priority_class == PriorityClass::prod);
  CHECK(info.requests.cpu == 1000);
  REQUIRE(info.containers.size() == 1);
  CHECK(info.containers[0].group == "kubepods/burstable/podu-1/abc");
  CHECK(info.containers[0].cpu_limit_milli == 1500);
  CHECK(info.containers[0].memory_limit == 1 << 30);
  const auto systemd = read_pod_list(text, "n1", CgroupDriver::systemd);
  REQUIRE(systemd.has_value());
  CHECK(systemd->pods[0]->group == "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu_1.slice");
  CHECK(systemd->pods[0]->containers[0].group.ends_with(".slice/cri-containerd-abc.scope"));
}

TEST_CASE("While a resize is pending the limits that the kubelet has in force count") {
  const auto read = [](std::string_view in_force, std::string_view of_init = "",
                       std::string_view condition = "PodResizeInProgress", int seen = 2) {
    const std::string text = fmt::format(
        R"({{"items":[{{"metadata":{{"name":"p","namespace":"default","uid":"u-1","generation":2}},
          "spec":{{"nodeName":"n1","containers":[{{"name":"c","resources":{{"requests":{{"cpu":"1","memory":"1Gi"}},"limits":{{"cpu":"2","memory":"1Gi"}}}}}}],
            "initContainers":[{{"name":"i","restartPolicy":"Always","resources":{{"limits":{{"cpu":"1"}}}}}}]}},
          "status":{{"phase":"Running","observedGeneration":{},"conditions":[{{"type":"{}","status":"True"}}],"containerStatuses":[{{"name":"c","containerID":"containerd://abc","state":{{"running":{{}}}}{}}}],
            "initContainerStatuses":[{{"name":"i","containerID":"containerd://def","state":{{"running":{{}}}}{}}}]}}}}]}})",
        seen, condition, in_force, of_init);
    const auto list = read_pod_list(text, "n1", CgroupDriver::cgroupfs);
    REQUIRE(list.has_value());
    REQUIRE(list->pods.size() == 1);
    return list->pods[0];
  };
  const auto plain = read("");
  CHECK(plain->containers[0].cpu_limit_milli == 2000);
  CHECK(plain->cpu_limit_milli == 3000);
  // It asks for more than before, or for less: what it has it has until the kubelet has written it.
  const std::string_view less =
      R"(,"resources":{"requests":{"cpu":"500m","memory":"512Mi"},"limits":{"cpu":"500m","memory":"512Mi"}})";
  for (const auto& grows : {read(less), read(less, "", "Ready", 1)}) {  // or the kubelet has not seen it yet
    CHECK(grows->containers[0].cpu_limit_milli == 500);
    CHECK(grows->containers[0].memory_limit == 512 << 20);
    CHECK(grows->cpu_limit_milli == 1500);
    CHECK(grows->requests.cpu == 500);
  }
  // Where nothing is resized a runtime tells what the kernel has, which is what koord wrote there.
  for (const auto& still : {read(less, "", "Ready"), read(less, "", "Ready", 0)}) {
    CHECK(still->containers[0].cpu_limit_milli == 2000);
    CHECK(still->cpu_limit_milli == 3000);
  }
  // Less CPU counts at once: what is measured against it would be in the kubelet's way.
  const std::string_view more = R"(,"resources":{"limits":{"cpu":"4","memory":"2Gi"}})";
  const std::string_view more_first = R"(,"resources":{"limits":{"cpu":"3"}})";
  const auto shrinks = read(more, more_first);
  CHECK(shrinks->containers[0].cpu_limit_milli == 2000);
  CHECK(shrinks->containers[0].memory_limit == std::int64_t{2} << 30);
  CHECK(shrinks->containers[1].cpu_limit_milli == 1000);
  CHECK(shrinks->cpu_limit_milli == 3000);
  // Where the kubelet has refused it, or has no room yet, nothing of it does.
  const auto refused = read(more, more_first, "PodResizePending");
  CHECK(refused->containers[0].cpu_limit_milli == 4000);
  CHECK(refused->containers[1].cpu_limit_milli == 3000);
  CHECK(refused->cpu_limit_milli == 7000);
  // What has no limit gets none by a status.
  CHECK_FALSE(read("", R"(,"resources":{"limits":{"memory":"1Gi"}})")->containers[1].memory_limit);
}

TEST_CASE("Batch resources are a best-effort pod's CPU") {
  const auto read = read_pod_list(
      list(
          {R"({"metadata":{"name":"b","uid":"u","labels":{"koordinator.sh/qosClass":"BE"}},"spec":{"containers":[
        {"name":"x","resources":{"limits":{"kubernetes.io/batch-cpu":"2500"},"requests":{"kubernetes.io/batch-cpu":"2000"}}},
        {"name":"y","resources":{"requests":{"kubernetes.io/batch-cpu":500}}}]},
        "status":{"phase":"Running","qosClass":"BestEffort","containerStatuses":[{"name":"x","containerID":"docker://1","state":{"running":{}}}]}})"}),
      "n1", CgroupDriver::cgroupfs);
  REQUIRE(read.has_value());
  REQUIRE(read->pods.size() == 1);
  CHECK(read->pods[0]->requests.batch_cpu == 2500);
  CHECK(read->pods[0]->containers[0].cpu_limit_milli == 2500);
  CHECK(read->pods[0]->is_be());
}

/// A pod with this metadata, beside its name and uid, and this spec.
PodInfo info_of(std::string_view meta, std::string_view spec = R"({"containers":[{"name":"c"}]})",
                std::size_t warnings = 0) {
  const auto read =
      read_pod_list(list({fmt::format(R"({{"metadata":{{"name":"p","uid":"u"{}}},"spec":{},"status":{}}})",
                                      meta, spec, kRunning)}),
                    "n1", CgroupDriver::cgroupfs, {}, terms_readers(strategy_table()));
  REQUIRE(read.has_value());
  REQUIRE(read->all.size() == 1);
  CHECK(read->warnings.size() == warnings);
  return *read->all[0];
}

TEST_CASE("What a pod asks for: containers and sidecars, of each kind of resource") {
  const PodInfo info = info_of("", R"({"containers":[
      {"name":"a","resources":{"requests":{"cpu":"500m","memory":"1Gi","kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"2Gi"}}},
      {"name":"b","resources":{"requests":{"cpu":"250m","kubernetes.io/mid-cpu":"300","kubernetes.io/mid-memory":"4096"}}}],
      "initContainers":[
      {"name":"once","resources":{"requests":{"cpu":"600m","kubernetes.io/batch-cpu":"9000"}}},
      {"name":"side","restartPolicy":"Always","resources":{"requests":{"cpu":"100m","kubernetes.io/batch-cpu":"200"}}}]})");
  CHECK(info.requests == PodRequests{.cpu = 850,
                                     .memory = 1 << 30,
                                     .batch_cpu = 1200,
                                     .batch_memory = std::int64_t{2} << 30,
                                     .mid_cpu = 300,
                                     .mid_memory = 4096});
  // Less than nothing is nothing, and takes nothing away from what the others ask for.
  const PodInfo less = info_of("", R"({"containers":[
      {"name":"a","resources":{"requests":{"cpu":"-1","memory":"-1Gi","kubernetes.io/batch-cpu":"-100"}}},
      {"name":"b","resources":{"requests":{"kubernetes.io/batch-cpu":"300","kubernetes.io/mid-memory":"-4"}}}]})");
  CHECK(less.requests == PodRequests{.batch_cpu = 300});
}

TEST_CASE("Containers are main ones, sidecars, initial or ephemeral ones") {
  const auto read =
      read_pod_list(list({R"({"metadata":{"name":"p","uid":"u"},"spec":{"containers":[{"name":"m"}],
        "initContainers":[{"name":"i"},{"name":"s","restartPolicy":"Always"}],"ephemeralContainers":[{"name":"e"}]},
        "status":{"phase":"Running",
        "containerStatuses":[{"name":"m","containerID":"docker://1","state":{"running":{}}}],
        "initContainerStatuses":[{"name":"i","containerID":"docker://2","state":{"running":{}}},
                                 {"name":"s","containerID":"docker://3","state":{"running":{}}}],
        "ephemeralContainerStatuses":[{"name":"e","containerID":"docker://4","state":{"running":{}}}]}})"}),
                    "n1", CgroupDriver::cgroupfs);
  REQUIRE(read.has_value());
  std::vector<ContainerKind> kinds;
  for (const ContainerInfo& container : read->pods.at(0)->containers) kinds.push_back(container.kind);
  using enum ContainerKind;
  CHECK(kinds == std::vector{main, init, sidecar, ephemeral});
}

TEST_CASE("What a pod says of its eviction") {
  using Policies = std::optional<std::vector<std::string>>;
  const EvictionTerms silent = eviction_terms(info_of(""));
  CHECK(!silent.enabled);
  CHECK(silent.priority == 0);
  CHECK(!silent.within);
  CHECK(!silent.policies);
  CHECK(info_of("").never_stop.empty());

  const PodInfo said = info_of(
      R"(,"labels":{"koordinator.sh/eviction-enabled":"true","koordinator.sh/priority":"5"},"annotations":{"koordinator.sh/eviction-policy":"[\"MemoryEvict\",\"CPUEvict\"]","koordinator.sh/eviction-priority":"-10","kubernetes.io/config.source":"api"})");
  const EvictionTerms all = eviction_terms(said);
  CHECK(said.never_stop.empty());
  CHECK(all.enabled);
  CHECK(all.priority == -10);
  CHECK(all.within == 5);
  CHECK(all.policies == Policies({"MemoryEvict", "CPUEvict"}));

  const auto policies = [](std::string_view value, std::size_t warnings) {
    return eviction_terms(
               info_of(fmt::format(R"(,"annotations":{{"koordinator.sh/eviction-policy":"{}"}})", value),
                       R"({"containers":[]})", warnings))
        .policies;
  };
  CHECK(policies("[]", 0) == Policies(std::vector<std::string>()));
  CHECK(policies("null", 0) == Policies(std::vector<std::string>()));
  CHECK(policies("MemoryEvict", 1) == Policies(std::vector<std::string>()));
  CHECK(policies("[1]", 1) == Policies(std::vector<std::string>()));
  CHECK(policies(R"(\"MemoryEvict\")", 1) == Policies(std::vector<std::string>()));
  CHECK(policies("", 1) == Policies(std::vector<std::string>()));

  CHECK(eviction_terms(info_of(R"(,"labels":{"koordinator.sh/priority":"1200"})")).within == 1200);
  CHECK(!eviction_terms(info_of(R"(,"labels":{"koordinator.sh/priority":"xxx"})")).within);
  const auto priority = [](std::string_view value, std::size_t warnings) {
    return eviction_terms(
               info_of(fmt::format(R"(,"annotations":{{"koordinator.sh/eviction-priority":"{}"}})", value),
                       R"({"containers":[]})", warnings))
        .priority;
  };
  CHECK(priority("+100", 0) == 100);
  CHECK(priority("-2147483648", 0) == std::numeric_limits<std::int32_t>::min());
  for (const char* none : {"1e3", "", "+", "+-1", "++1", "2147483648", " 1", "0x1"})
    CHECK(priority(none, 1) == 0);
  CHECK(!info_of(R"(,"annotations":{"kubernetes.io/config.source":"file"})").never_stop.empty());
  CHECK(!info_of("", R"({"containers":[],"priority":2000000000})").never_stop.empty());
  CHECK(info_of("", R"({"containers":[],"priority":1999999999})").never_stop.empty());
}

TEST_CASE("The class and the priority that follow where a pod says nothing") {
  struct Row {
    std::string_view meta, spec;
    PriorityClass priority_class;
    std::int32_t priority;
  };
  const Row rows[] = {
      {"", R"({"containers":[]})", PriorityClass::prod, 9500},  // kRunning is Burstable
      {R"(,"labels":{"koordinator.sh/qosClass":"BE"})", R"({"containers":[]})", PriorityClass::batch, 5500},
      {R"(,"labels":{"koordinator.sh/qosClass":"BE"})", R"({"containers":[],"priority":0})",
       PriorityClass::batch, 5500},
      {R"(,"labels":{"koordinator.sh/priority-class":"koord-mid"})", R"({"containers":[]})",
       PriorityClass::mid, 7500},
      {"", R"({"containers":[],"priority":3100})", PriorityClass::free, 3100},
      {R"(,"labels":{"koordinator.sh/qosClass":"BE"})", R"({"containers":[],"priority":100})",
       PriorityClass::batch, 100},
  };
  for (const Row& row : rows) {
    const PodInfo info = info_of(row.meta, row.spec);
    CHECK(info.effective_class() == row.priority_class);
    CHECK(info.effective_priority() == row.priority);
  }
}

TEST_CASE("What a pod says of CPU burst, and its limit as a whole") {
  const auto burst = [](std::string_view value, std::size_t warnings = 0) {
    return info_of(fmt::format(R"(,"annotations":{{"koordinator.sh/cpuBurst":"{}"}})", value),
                   R"({"containers":[]})", warnings);
  };
  const auto is_silent = [&](std::string_view value, std::size_t warnings = 0) {
    return burst(value, warnings).terms.find<api::PodCpuBurst>() == nullptr;
  };
  CHECK(info_of("").terms.find<api::PodCpuBurst>() == nullptr);
  CHECK(is_silent(""));
  const PodInfo said =
      burst(R"({\"policy\":\"auto\",\"cpuBurstPercent\":500,\"cfsQuotaBurstPeriodSeconds\":-1})");
  const api::PodCpuBurst* const all = said.terms.find<api::PodCpuBurst>();
  REQUIRE(all != nullptr);
  CHECK(all->policy == "auto");
  CHECK(all->cpu_burst_percent == 500);
  CHECK(!all->cfs_quota_burst_percent);
  CHECK(all->cfs_quota_burst_period_seconds == -1);
  CHECK(is_silent("{", 1));
  CHECK(is_silent(R"({\"cpuBurstPercent\":\"5\"})", 1));
  CHECK(is_silent(R"({\"policy\":5})", 1));

  const auto limit = [](std::string_view spec) { return info_of("", spec).cpu_limit_milli; };
  constexpr std::string_view one = R"({"name":"a","resources":{"limits":{"cpu":"500m"}}})";
  CHECK(limit(fmt::format(R"({{"containers":[{},{}]}})", one, one)) == 1000);
  CHECK(!limit(fmt::format(R"({{"containers":[{},{{"name":"b"}}]}})", one)));
  CHECK(!limit(fmt::format(R"({{"containers":[{}],"initContainers":[{{"name":"i"}}]}})", one)));
  CHECK(limit(R"({"containers":[{"name":"b"}],"resources":{"limits":{"cpu":"2"}}})") == 2000);
}

TEST_CASE("What a pod says of its memory, and what its containers ask for and may use") {
  const auto memory = [](std::string_view value, std::size_t warnings = 0) {
    return info_of(fmt::format(R"(,"annotations":{{"koordinator.sh/memoryQOS":"{}"}})", value),
                   R"({"containers":[]})", warnings);
  };
  const auto is_silent = [&](std::string_view value, std::size_t warnings = 0) {
    return memory(value, warnings).terms.find<api::PodMemoryQos>() == nullptr;
  };
  CHECK(info_of("").terms.find<api::PodMemoryQos>() == nullptr);
  CHECK(is_silent(""));
  const PodInfo said = memory(
      R"({\"policy\":\"auto\",\"minLimitPercent\":100,\"wmarkMinAdj\":-25,\"pageCacheLimitSize\":536870912,\"pageCacheReclaimSync\":false,\"unknown\":1})");
  const api::PodMemoryQos* const all = said.terms.find<api::PodMemoryQos>();
  REQUIRE(all != nullptr);
  CHECK(all->policy == "auto");
  CHECK(all->qos.min_limit_percent == 100);
  CHECK(all->qos.wmark_min_adj == -25);
  CHECK(all->qos.page_cache_limit_size == 536870912);
  CHECK(all->qos.page_cache_reclaim_sync == false);
  CHECK(!all->qos.low_limit_percent);
  CHECK(is_silent("{", 1));
  CHECK(is_silent(R"({\"policy\":5})", 1));
  CHECK(is_silent(R"({\"minLimitPercent\":\"5\"})", 1));

  constexpr std::string_view be = R"(,"labels":{"koordinator.sh/qosClass":"BE"})";
  constexpr std::string_view both =
      R"({"name":"c","resources":{"requests":{"memory":"1Gi","kubernetes.io/batch-memory":"2Gi"},"limits":{"memory":"3Gi","kubernetes.io/batch-memory":"4Gi"}}})";
  const auto limit = [](std::string_view meta, std::string_view spec) {
    return info_of(meta, spec).memory_limit;
  };
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  CHECK(limit("", fmt::format(R"({{"containers":[{}]}})", both)) == 3 * gib);
  CHECK(limit(be, fmt::format(R"({{"containers":[{},{}]}})", both, both)) == 8 * gib);
  CHECK(!limit(be, fmt::format(R"({{"containers":[{},{{"name":"b"}}]}})", both)));
  CHECK(!limit("", R"({"containers":[{"name":"b"}]})"));

  // Of one container: what it asks for goes by the class, what it may use by what is named.
  constexpr std::string_view lent =
      R"({"name":"c","resources":{"requests":{"kubernetes.io/batch-memory":"2Gi"},"limits":{"kubernetes.io/batch-memory":"4Gi"}}})";
  const auto one = [](std::string_view meta, std::string_view container) {
    const PodInfo info = info_of(meta, fmt::format(R"({{"containers":[{}]}})", container));
    return std::pair(info.containers.at(0).memory_request, info.containers.at(0).memory_limit.value_or(-1));
  };
  CHECK(one("", both) == std::pair(gib, 3 * gib));
  CHECK(one(be, both) == std::pair(2 * gib, 3 * gib));
  CHECK(one(be, lent) == std::pair(2 * gib, 4 * gib));
  CHECK(one("", lent) == std::pair(std::int64_t{0}, 4 * gib));
  CHECK(one("", R"({"name":"c"})") == std::pair(std::int64_t{0}, std::int64_t{-1}));
}

TEST_CASE("A pod that is asked to go has until its deletion's time") {
  CHECK(!info_of("").deleted_by);
  const auto deleted = info_of(R"(,"deletionTimestamp":"2026-01-02T03:04:05Z")").deleted_by;
  REQUIRE(deleted);
  CHECK(*deleted == WallTime(std::chrono::seconds(1767323045)));
}

TEST_CASE("Pods that do not run are left out, whatever their containers' states say") {
  const std::string waiting =
      R"({"phase":"Pending","containerStatuses":[{"name":"c","state":{"waiting":{}}}]})";
  const std::string done =
      R"({"phase":"Succeeded","containerStatuses":[{"name":"c","containerID":"containerd://a","state":{"running":{}}}]})";
  const auto read =
      read_pod_list(list({pod("u1", waiting), pod("u2", done), pod("u3")}), "n1", CgroupDriver::cgroupfs);
  REQUIRE(read.has_value());
  CHECK(read->listed == 3);
  REQUIRE(read->pods.size() == 1);
  CHECK(read->pods[0]->uid == "u3");
}

TEST_CASE("A list with another node's pod is not believed") {
  const auto read =
      read_pod_list(list({pod("u1"), pod("u2", kRunning, "", "n2")}), "n1", CgroupDriver::cgroupfs);
  REQUIRE(read.has_error());
  CHECK(read.error().message().find("n2") != std::string::npos);
}

TEST_CASE("A malformed annotation, id or uid costs that pod's value, container or pod alone") {
  struct Row {
    std::string what, text;
    bool pod_stays;
  };
  const std::string long_text(70'000, 'x');
  const Row rows[] = {
      {"annotation",
       pod("bad", kRunning, R"(,"annotations":{"scheduling.koordinator.sh/resource-status":"{{"})"), true},
      {"cpus",
       pod("bad", kRunning,
           R"(,"annotations":{"scheduling.koordinator.sh/resource-status":"{\"cpuset\":\"3-1,x\"}"})"),
       true},
      {"length",
       pod("bad", kRunning,
           R"(,"annotations":{"scheduling.koordinator.sh/resource-status":")" + long_text + "\"}"),
       true},
      {"uid", pod("../../x"), false},
      {"id",
       pod("bad",
           R"({"phase":"Running","containerStatuses":[{"name":"c","containerID":"containerd://../..","state":{"running":{}}}]})"),
       false},
      {"type", R"({"metadata":{"name":"t","uid":"bad"},"spec":{"priority":"much"}})", false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const auto read = read_pod_list(list({pod("good"), row.text}), "n1", CgroupDriver::cgroupfs);
    REQUIRE(read.has_value());
    CHECK(read->warnings.size() == 1);
    REQUIRE(read->pods.size() == (row.pod_stays ? 2U : 1U));
    CHECK(read->pods.back()->uid == "good");
    CHECK_FALSE(read->pods.front()->cpus);
  }
}

TEST_CASE("A list of too many pods is read no further, and warnings are put into words for some") {
  std::string many;
  for (std::size_t i = 0; i < kMaxPods; ++i) many += R"({"metadata":7},)";
  const auto most = read_pod_list(list({many + pod("good")}), "n1", CgroupDriver::cgroupfs);
  REQUIRE(most.has_error());
  CHECK(most.error().code() == Code::too_large);
  CHECK(most.error().message().find("16384 pods") != std::string::npos);

  std::string containers = R"({"spec":{"containers":[{})";
  for (std::size_t i = 0; i < kMaxObjects; ++i) containers += ",{}";
  const auto swollen = read_pod_list(list({containers + "]}}"}), "n1", CgroupDriver::cgroupfs);
  REQUIRE(swollen.has_error());
  CHECK(swollen.error().code() == Code::too_large);

  many.clear();
  for (int i = 0; i < 1000; ++i) many += R"({"metadata":7},)";
  const auto some = read_pod_list(list({many + pod("good")}), "n1", CgroupDriver::cgroupfs);
  REQUIRE(some.has_value());
  CHECK(some->listed == 1001);
  CHECK(some->warnings.size() == kMaxWarnings);
  CHECK(some->more_warnings == 1000 - kMaxWarnings);
  CHECK(some->pods.size() == 1);

  const auto wordy =
      read_pod_list(list({R"({"metadata":{"name":"w","uid":"w"},"status":{"containerStatuses":[{"name":")" +
                          std::string(5000, 'n') + R"(","containerID":"x","state":{"running":{}}}]}})"}),
                    "n1", CgroupDriver::cgroupfs);
  REQUIRE(wordy.has_value());
  REQUIRE(wordy->warnings.size() == 1);
  CHECK(wordy->warnings[0].what.size() == kMaxWarning);
}

TEST_CASE("A warning is told once while it lasts, and not more of them than the log bears") {
  Warnings warnings;
  MonoTime now{std::chrono::hours(1)};
  PodList list;
  auto warn = [&](const std::string& uid, const std::string& what) {
    auto object = std::make_shared<api::Pod>();
    object->metadata.uid = uid;
    list.warnings.push_back({object, what});
  };
  warn("u1", "a");
  warn("u1", "b");
  warn("u1", "a");
  warn("u2", "a");
  CHECK(warnings.take(list, now).told.size() == 3);
  CHECK(warnings.take(list, now).told.empty());
  list.warnings.pop_back();
  CHECK(warnings.take(list, now).told.empty());
  warn("u2", "a");  // again
  CHECK(warnings.take(list, now).told.size() == 1);

  // Others every time, for an hour.
  std::size_t told = 0;
  for (int round = 0; round < 360; ++round) {
    list.warnings.clear();
    list.more_warnings = 7;
    for (int i = 0; i < 100; ++i) warn(std::to_string(round * 100 + i), "a");
    const Warnings::Fresh fresh = warnings.take(list, now += std::chrono::seconds(10));
    told += fresh.told.size();
    CHECK(fresh.untold == 107 - fresh.told.size());
  }
  CHECK(told <= 200);
}

TEST_CASE("Truncated, empty and foreign answers are errors") {
  const std::string whole = list({pod("u1"), pod("u2")});
  for (std::size_t size = 0; size < whole.size(); size += 7)
    CHECK(read_pod_list(std::string_view(whole).substr(0, size), "n1", CgroupDriver::cgroupfs).has_error());
  CHECK(read_pod_list("<html>", "n1", CgroupDriver::cgroupfs).has_error());
}

TEST_CASE("The scheduler's CPUs are read from the pod") {
  const auto read = read_pod_list(
      list({pod(
          "u", kRunning,
          R"(,"annotations":{"scheduling.koordinator.sh/resource-status":"{\"cpuset\":\"0-3,8\",\"numaNodeResources\":[{\"node\":0}]}"})")}),
      "n1", CgroupDriver::cgroupfs);
  REQUIRE(read.has_value());
  REQUIRE(read->pods[0]->cpus);
  CHECK(read->pods[0]->cpus->to_string() == "0-3,8");
}

api::Node node(const std::string& annotations) {
  auto decoded = api::decode<api::Node>(
      R"({"metadata":{"name":"n1","annotations":{)" + annotations +
      R"(}},"status":{"capacity":{"cpu":"8","memory":"16Gi"},"allocatable":{"cpu":"7500m","memory":"15Gi","kubernetes.io/batch-cpu":"3000"}}})");
  REQUIRE(decoded.has_value());
  return *decoded;
}

TEST_CASE("A node's reservations") {
  struct Row {
    std::string annotations;
    std::int64_t reserved;
    std::string cpus, system;
    std::size_t warnings;
  };
  const std::string reservation = R"("node.koordinator.sh/reservation":)",
                    system = R"("node.koordinator.sh/system-qos-resource":)";
  const Row rows[] = {
      {"", 0, "", "", 0},
      {reservation + R"("{\"resources\":{\"cpu\":\"1500m\"}}")", 1500, "", "", 0},
      {reservation + R"("{\"resources\":{\"cpu\":\"9\"},\"reservedCPUs\":\"0-1\"}")", 2000, "0-1", "", 0},
      {reservation + R"("{\"resources\":{\"cpu\":\"lots\"}}")", 0, "", "", 1},
      {reservation + R"("{\"reservedCPUs\":\"0-\"}")", 0, "", "", 1},
      {reservation + R"("{\"resources\":{\"cpu\":2}}")", 2000, "", "", 0},
      {reservation + R"("{\"resources\":{\"cpu\":{}}}")", 0, "", "", 1},
      {reservation + R"("{\"resources\":{\"cpu\":\"-1\"}}")", 0, "", "", 1},
      {reservation + R"("{\"reservedCPUs\":4}")", 0, "", "", 1},
      {reservation + R"("[]")", 0, "", "", 1},
      {reservation + R"("null")", 0, "", "", 0},
      {system + R"("{\"cpuset\":\"0-3\"}")", 0, "", "0-3", 0},
      {system + R"("{\"cpuset\":\"0-3\",\"cpusetExclusive\":true}")", 0, "", "0-3", 0},
      {system + R"("{\"cpuset\":\"0-3\",\"cpusetExclusive\":false}")", 0, "", "", 0},
      {system + R"("nonsense")", 0, "", "", 1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.annotations);
    std::vector<std::string> warnings;
    const NodeInfo info = read_node(node(row.annotations), warnings);
    CHECK(info.capacity_milli_cpu == 8000);
    CHECK(info.allocatable_milli_cpu == 7500);
    CHECK(info.capacity_memory == std::int64_t{16} << 30);
    CHECK(info.reserved_milli_cpu == row.reserved);
    CHECK(info.reserved_cpus.to_string() == row.cpus);
    CHECK(info.system_qos_cpus.to_string() == row.system);
    CHECK(warnings.size() == row.warnings);
    REQUIRE(info.extended.size() == 1);
    CHECK(info.extended[0].value == 3000);
  }
}

TEST_CASE("An amplified allocatable counts as what there really is") {
  std::vector<std::string> warnings;
  const NodeInfo info = read_node(
      node(R"("node.koordinator.sh/raw-allocatable":"{\"cpu\":\"6\",\"memory\":\"14Gi\"}")"), warnings);
  CHECK(info.allocatable_milli_cpu == 6000);
  CHECK(info.allocatable_memory == std::int64_t{14} << 30);
  CHECK(warnings.empty());
}

TEST_CASE("CPUs are a pod's own from the moment it is bound until it has ended") {
  const auto own = [](std::string_view uid, std::string_view qos, std::string_view cpus,
                      std::string_view status) {
    return pod(uid, status,
               fmt::format(R"(,"labels":{{"koordinator.sh/qosClass":"{}"}},"annotations":{{)"
                           R"("scheduling.koordinator.sh/resource-status":"{{\"cpuset\":\"{}\"}}"}})",
                           qos, cpus));
  };
  const std::string_view pending = R"({"phase":"Pending"})";
  const std::string_view crashing =
      R"({"phase":"Running","containerStatuses":[{"name":"c","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]})";
  const std::string_view ended = R"({"phase":"Succeeded"})";
  const auto read = read_pod_list(
      list({own("a", "LSE", "0-1", kRunning), own("b", "LSE", "2", pending), own("c", "LSR", "3-4", crashing),
            own("d", "LSR", "5", pending), own("e", "LSE", "6", ended), own("f", "LS", "7", kRunning)}),
      "n1", CgroupDriver::cgroupfs);
  REQUIRE(read.has_value());
  CHECK(read->pods.size() == 2);
  CHECK(read->own_cpus.lse.to_string() == "0-2");
  CHECK(read->own_cpus.lsr.to_string() == "3-5");
  CHECK(read->own_cpus.kubelet.empty());
}

TEST_CASE("What the kubelet's CPU manager gave out") {
  struct Row {
    std::string_view text;
    bool static_policy;
    std::optional<std::string_view> given;  // nothing: it cannot be read
  };
  const Row rows[] = {
      {R"({"policyName":"none","defaultCpuSet":"","checksum":1353318690})", false, ""},
      {R"({"policyName":"static","defaultCpuSet":"0-7","checksum":1})", true, ""},
      {R"({"policyName":"static","defaultCpuSet":"0,6-7","entries":{"u1":{"a":"1-2","b":"3"},"u2":{"c":"4-5"}},"checksum":1})",
       true, "1-5"},
      {R"({"policyName":"static","defaultCpuSet":"0","entries":{"5e2f":"1,3"},"checksum":1})", true, "1,3"},
      {R"({"policyName":"static","entries":{"u1":{"a":"one"}}})", false, std::nullopt},
      {R"({"policyName":"static","entries":{"u1":{"a":7}}})", false, std::nullopt},
      {R"({"entries":{}})", false, std::nullopt},
      {"", false, std::nullopt},
      {"[]", false, std::nullopt},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto state = read_cpu_manager_state(row.text);
    REQUIRE(state.has_value() == row.given.has_value());
    if (!state) continue;
    CHECK(state->static_policy == row.static_policy);
    CHECK(state->given.to_string() == *row.given);
  }
  const auto state = read_cpu_manager_state(
      R"({"policyName":"static","entries":{"u2":{"a":"1-2","b":"2-3"},"u1":{"c":"4"},"u0":{"d":""},"5e2f":"5"}})");
  REQUIRE(state.has_value());
  CHECK(state->grants == std::vector<KubeletGrant>{{"u1", {4}}, {"u2", {1, 2, 3}}});
}

}  // namespace
}  // namespace koord::koordlet
