// Memory QoS: the original's rows, relief by synthetic PSI, who owns a file, and how it ends.
#include <catch2/catch.hpp>
#include <cmath>

#include "framework/objects/slo.hpp"
#include "plugins/memory_qos/formula.hpp"
#include "plugins/memory_qos/relief.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/qos_rig.hpp"

namespace koord::koordlet {

extern const StrategyEntry kMemoryQos;

namespace {

using host::CgroupVersion;
using host::Knob;
using memory_qos::Relief;
using memory_qos::Values;
using testing::QosRig;
using namespace std::chrono_literals;

constexpr std::int64_t kMiB = 1 << 20, kGiB = 1024 * kMiB;

api::MemoryQos qos(std::int64_t min, std::int64_t low, std::int64_t throttling, std::int64_t adj = 0) {
  api::MemoryQos all;
  all.min_limit_percent = min;
  all.low_limit_percent = low;
  all.throttling_percent = throttling;
  all.wmark_ratio = 95;
  all.wmark_scale_permill = 20;
  all.wmark_min_adj = adj;
  all.priority_enable = all.priority = all.oom_kill_group = 0;
  return all;
}
Values plain(std::int64_t adj = 0) {
  return {{Knob::memory_wmark_ratio, 95},    {Knob::memory_wmark_scale_factor, 20},
          {Knob::memory_wmark_min_adj, adj}, {Knob::memory_use_priority_oom, 0},
          {Knob::memory_priority, 0},        {Knob::memory_oom_group, 0}};
}
Values with(Values first, const Values& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

// Upstream's calculateResources: a pod of two containers, the second with 1 GiB asked and allowed, on a node
// of 1 GiB.
TEST_CASE("What a pod and its containers shall have, as the original's rows have it", "[koordlet][memory]") {
  struct Row {
    std::int64_t min, low, throttling;
    std::int64_t pod_min, pod_low, first_high, second_min, second_high;
  };
  const Row rows[] = {
      {0, 0, 0, 0, 0, host::kUnlimited, 0, host::kUnlimited},
      {100, 0, 80, kGiB, 0, kGiB * 80 / 100 / 4096 * 4096, kGiB, kGiB},
      {50, 0, 40, kGiB / 2, 0, kGiB * 40 / 100 / 4096 * 4096, kGiB / 2, kGiB},
      {0, 0, 80, 0, 0, kGiB * 80 / 100 / 4096 * 4096, 0, kGiB},
      {50, 20, 0, kGiB / 2, kGiB / 2, host::kUnlimited, kGiB / 2, host::kUnlimited},  // low is not below min
      {0, 50, 100, 0, kGiB / 2, kGiB, 0, kGiB},
  };
  for (const Row& row : rows) {
    const auto all = qos(row.min, row.low, row.throttling, 50);
    CHECK(memory_qos::pod_values(all, {kGiB, {}}) ==
          with({{Knob::memory_min, row.pod_min}, {Knob::memory_low, row.pod_low}}, plain(50)));
    CHECK(
        memory_qos::container_values(all, {0, {}}, kGiB) ==
        with({{Knob::memory_min, 0}, {Knob::memory_low, 0}, {Knob::memory_high, row.first_high}}, plain(50)));
    CHECK(memory_qos::container_values(all, {kGiB, kGiB}, kGiB) ==
          with({{Knob::memory_min, row.second_min},
                {Knob::memory_low, row.pod_low},
                {Knob::memory_high, row.second_high}},
               plain(50)));
  }
  // memory.high is not below memory.min; it is not said while the node is not known.
  CHECK(memory_qos::container_values(qos(200, 0, 10), {kGiB, 2 * kGiB}, 0)[2].value == 2 * kGiB);
  CHECK(memory_qos::container_values(qos(0, 0, 10), {kGiB, {}}, 0)[2].knob != Knob::memory_high);
}

TEST_CASE("What is out of the kernel's range is left out, and nothing overflows", "[koordlet][memory]") {
  api::MemoryQos odd;
  odd.wmark_ratio = 101;
  odd.wmark_min_adj = -51;
  odd.wmark_scale_permill = 0;
  odd.priority = 13;
  odd.priority_enable = 1;
  CHECK(memory_qos::pod_values(odd, {}) == Values{{Knob::memory_use_priority_oom, 1}});
  odd = {};
  odd.min_limit_percent = odd.low_limit_percent = odd.throttling_percent = INT64_MAX;
  const std::int64_t most = std::int64_t{1} << 50;
  CHECK(memory_qos::container_values(odd, {most, most}, most) == Values{{Knob::memory_min, most * 100},
                                                                        {Knob::memory_low, most * 100},
                                                                        {Knob::memory_high, most * 100}});
  odd.min_limit_percent = -5;
  CHECK(memory_qos::pod_values(odd, {most, {}})[0].value == 0);
}

// Upstream's calculatePodResources_PageCacheLimit, with a limit of 1 GiB.
TEST_CASE("The page cache's limit: its size goes before its percentage", "[koordlet][memory]") {
  using Optional = std::optional<std::int64_t>;
  struct Row {
    Optional size, percent;
    std::optional<bool> enable, sync;
    Optional want_enable, want_size, want_sync;
  };
  const Row rows[] = {
      {512 * kMiB, {}, {}, {}, 1, 512 * kMiB, 0},
      {2 * kGiB, {}, {}, {}, 1, kGiB, 0},
      {0, {}, {}, {}, 0, 0, {}},
      {{}, {}, {}, {}, {}, {}, {}},
      {512 * kMiB, {}, false, {}, 0, 512 * kMiB, 0},
      {{}, {}, true, {}, 1, {}, {}},
      {512 * kMiB, {}, {}, true, 1, 512 * kMiB, 1},
      {{}, 50, {}, {}, 1, 512 * kMiB, 0},
      {256 * kMiB, 50, {}, {}, 1, 256 * kMiB, 0},
      {{}, 0, {}, {}, 0, 0, {}},
  };
  for (const Row& row : rows) {
    api::MemoryQos all;
    all.page_cache_limit_size = row.size;
    all.page_cache_limit_percent = row.percent;
    all.page_cache_enable = row.enable;
    all.page_cache_reclaim_sync = row.sync;
    Values want;
    if (row.want_enable) want.push_back({Knob::page_cache_enable, *row.want_enable});
    if (row.want_size) want.push_back({Knob::page_cache_size, *row.want_size});
    if (row.want_sync) want.push_back({Knob::page_cache_sync, *row.want_sync});
    CHECK(memory_qos::pod_values(all, {kGiB, kGiB}) == want);
  }
}

// Upstream's getMergedPodResourceQoS.
TEST_CASE("A pod's own words go over its policy's, and those over its class's", "[koordlet][memory]") {
  api::MemoryQosConfig on;
  on.enable = true;
  on.qos = qos(10, 20, 30);
  api::MemoryQosConfig off = on;
  off.enable = false;
  const api::MemoryQos usual = qos(0, 0, 0, 50);
  api::PodMemoryQos terms;
  const auto throttling = [&](const api::MemoryQosConfig* of_class) {
    const auto all = memory_qos::effective(of_class, usual, &terms);
    return all ? all->throttling_percent.value_or(-2) : -1;
  };
  CHECK(memory_qos::effective(&on, usual, nullptr)->throttling_percent == 30);
  CHECK(!memory_qos::effective(&off, usual, nullptr));
  CHECK(!memory_qos::effective(nullptr, usual, nullptr));
  CHECK(throttling(&on) == 30);  // no policy is the policy "default"
  CHECK(throttling(&off) == -1);
  terms.policy = "none";
  terms.qos.throttling_percent = 90;
  CHECK(throttling(&on) == -1);
  terms.policy = "auto";
  CHECK(throttling(&on) == 90);
  CHECK(throttling(&off) == 90);
  CHECK(memory_qos::effective(&off, usual, &terms)->wmark_min_adj == 50);
  terms.policy = "default";
  CHECK(throttling(&off) == 90);  // what it says itself, and nothing else
  CHECK(!memory_qos::effective(&off, usual, &terms)->wmark_ratio);
  terms.qos = {};
  terms.policy = "auto";
  CHECK(throttling(nullptr) == 0);
}

/// Relief under a share of time that stands still in each second.
struct Psi {
  /// The steps after each second.
  template <class F>
  int seconds(int count, F share, bool at_high = true) {
    for (int i = 0; i < count; ++i) {
      at += 1s;
      total += static_cast<std::uint64_t>(share(i) * 1e6);
      relief.see(at, total, at_high);
      most = std::max(most, relief.steps());
    }
    return relief.steps();
  }
  int still(int count, double share, bool at_high = true) {
    return seconds(
        count, [share](int) { return share; }, at_high);
  }
  Relief relief;
  MonoTime at{100s};
  std::uint64_t total = 7'000'000;
  int most = 0;
};

TEST_CASE("Relief: a step of stalling lifts by a tenth every five seconds, and goes back slowly",
          "[koordlet][memory]") {
  Psi psi;
  CHECK(psi.still(1, 1) == 0);  // what was before is not known
  CHECK(psi.still(1, 0.5) == 0);
  CHECK(psi.still(1, 0.5) == 1);
  CHECK(psi.still(4, 0.5) == 1);
  CHECK(psi.still(1, 0.5) == 2);
  CHECK(psi.still(60, 0.5) == Relief::kSteps);
  CHECK(psi.relief.stalled() == Approx(0.5).margin(0.01));
  // 20 s until it is calm, then a step a minute.
  CHECK(psi.still(19, 0) == Relief::kSteps);
  CHECK(psi.still(59, 0) == Relief::kSteps);
  CHECK(psi.still(1, 0) == Relief::kSteps - 1);
  CHECK(psi.still(59, 0) == Relief::kSteps - 1);
  CHECK(psi.still(1, 0) == Relief::kSteps - 2);
  CHECK(psi.still(8 * 60, 0) == 0);
  CHECK(psi.still(600, 0) == 0);
}

TEST_CASE("Relief: a ramp, noise, other causes, and silence", "[koordlet][memory]") {
  Psi psi;
  SECTION("a ramp of a hundredth a second") {
    CHECK(psi.seconds(13, [](int i) { return i * 0.01; }) == 0);
    CHECK(psi.seconds(8, [](int i) { return 0.13 + i * 0.01; }) >= 1);
  }
  SECTION("noise below the threshold, however long") {
    (void)psi.seconds(3600, [](int i) { return i % 3 == 0 ? 0.15 : 0.0; });
    CHECK(psi.most == 0);
  }
  SECTION("a moment") {
    (void)psi.still(1, 0);
    CHECK(psi.still(1, 0.5) == 0);
    CHECK(psi.still(120, 0) == 0);
    CHECK(psi.most == 0);
  }
  SECTION("it does not stand still at its own memory.high") { CHECK(psi.still(600, 0.9, false) == 0); }
  SECTION("stalling a little keeps what it has") {
    (void)psi.still(4, 0.5);
    const int steps = psi.still(20, 0.05);
    CHECK(steps > 0);
    CHECK(psi.still(3600, 0.05) == steps);
  }
  SECTION("nothing can be read: it stays, and what was missed counts for nothing") {
    (void)psi.still(4, 0.5);
    const int steps = psi.relief.steps();
    psi.at += 600s;
    psi.total += 600'000'000;
    psi.relief.see(psi.at, psi.total, true);
    CHECK(psi.relief.steps() == steps);
    CHECK(psi.still(50, 0) == steps);
    CHECK(psi.still(40, 0) == steps - 1);
  }
  SECTION("a counter that begins anew") {
    (void)psi.still(4, 0.5);
    psi.total = 0;
    const int steps = psi.relief.steps();
    CHECK(psi.still(1, 0) == steps);
  }
  SECTION("a clock that stands still") {
    (void)psi.still(2, 0.5);
    for (int i = 0; i < 10; ++i) psi.relief.see(psi.at, psi.total += 1'000'000, true);
    CHECK(psi.relief.steps() == 0);
  }
}

TEST_CASE("Relief: what the steps are in bytes", "[koordlet][memory]") {
  Psi psi;
  CHECK(psi.relief.high(64 * kMiB, 128 * kMiB) == 64 * kMiB);
  (void)psi.still(4, 0.5);
  CHECK(psi.relief.steps() == 1);
  CHECK(psi.relief.high(64 * kMiB, 128 * kMiB) == 73'818'112);
  CHECK(psi.relief.high(128 * kMiB, 64 * kMiB) == 128 * kMiB);
  (void)psi.still(60, 0.5);
  CHECK(psi.relief.high(64 * kMiB, 128 * kMiB) == 128 * kMiB);
}

/// A burstable pod "kubepods/burstable/podp" of containers, each with its own group, on a node of 16 GiB.
struct Rig : QosRig {
  explicit Rig(CgroupVersion version = CgroupVersion::v2, std::string journal = {})
      : QosRig(version, std::move(journal)) {
    REQUIRE(gates.set("CgroupReconcile=true").has_value());
    inventory.node.allocatable_memory = inventory.node.capacity_memory = 16 * kGiB;
    static constexpr const StrategyEntry* kOnly[] = {&kMemoryQos};
    strategies = kOnly;
    auto spec = std::make_shared<api::NodeSloSpec>(default_slo());
    slo_spec = spec.get();
    inventory.slo = spec;
    for (const char* name : {"kubepods", "kubepods/burstable", "kubepods/besteffort"}) group(name);
    info = std::make_shared<PodInfo>();
    info->uid = info->name = "p";
    info->ns = "ns";
    info->qos = Qos::ls;
    info->kube_qos = host::KubeQos::burstable;
    info->group = "kubepods/burstable/podp";
    group(info->group);
    inventory.pods = inventory.all_pods = {info};
    pod_usage = {{}};
    ++inventory.generation;
    start();
  }
  void group(const std::string& name) {
    const char* none = kernel.version() == CgroupVersion::v2 ? "max" : "9223372036854771712";
    kernel.group(name).files = {{"memory.min", "0"}, {"memory.low", "0"}, {"memory.high", none}};
  }
  api::MemoryQosConfig& ls() { return *slo_spec->resource_qos_strategy->ls_class->memory_qos; }
  void enable(std::int64_t min, std::int64_t low, std::int64_t throttling) {
    ls().enable = true;
    ls().qos = qos(min, low, throttling);
  }
  ContainerInfo& container(const std::string& name, std::int64_t request,
                           std::optional<std::int64_t> limit = {}) {
    ContainerInfo one;
    one.name = one.id = name;
    one.group = fmt::format("{}/{}", info->group, name);
    one.memory_request = request;
    one.memory_limit = limit;
    info->requests.memory += request;
    group(one.group);
    info->containers.push_back(one);
    ++inventory.generation;
    return info->containers.back();
  }
  std::string file(const std::string& group, const std::string& name) {
    return kernel.group(group).files.at(name);
  }
  void ticks(int count) {
    for (int i = 0; i < count; ++i) tick(1);
  }
  std::string summary() {
    for (const auto& one : manager->strategies())
      if (one.name == "CgroupReconcile") return one.status.summary;
    return {};
  }

  api::NodeSloSpec* slo_spec = nullptr;
  std::shared_ptr<PodInfo> info;
};

// Upstream's GetPodResourceQoSByQoSClass.
TEST_CASE("By whose class a pod's memory is, as the original's rows have it", "[koordlet][memory]") {
  struct Row {
    Qos qos;
    host::KubeQos kube;
    std::int64_t percent;  // of that class
  };
  using enum host::KubeQos;
  for (const Row& row : {Row{Qos::ls, burstable, 20},
                         {Qos::none, burstable, 20},
                         {Qos::none, besteffort, 30},
                         {Qos::be, besteffort, 30},
                         {Qos::system, burstable, 40},
                         {Qos::lsr, guaranteed, 10},
                         {Qos::lse, guaranteed, 10}}) {
    Rig rig;
    auto& classes = *rig.slo_spec->resource_qos_strategy;
    const auto on = [](auto& one, std::int64_t percent) {
      one->memory_qos->enable = true;
      one->memory_qos->qos = qos(percent, 0, 0);
    };
    on(classes.lsr_class, 10);
    on(classes.ls_class, 20);
    on(classes.be_class, 30);
    on(classes.system_class, 40);
    rig.info->qos = row.qos;
    rig.info->kube_qos = row.kube;
    const auto& one = rig.container("c", kGiB);
    rig.ticks(1);
    CHECK(rig.file(one.group, "memory.min") == std::to_string(kGiB * row.percent / 100 / 4096 * 4096));
  }
}

TEST_CASE("Memory QoS at the kubelet's folders, pods and containers", "[koordlet][memory]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.enable(50, 0, 80);
  rig.container("a", kGiB, 2 * kGiB);
  rig.container("b", kGiB);
  rig.ticks(1);
  CHECK(rig.kernel.refused.empty());
  CHECK(rig.file("kubepods", "memory.min") == std::to_string(kGiB));
  CHECK(rig.file("kubepods/burstable", "memory.min") == std::to_string(kGiB));
  CHECK(rig.file("kubepods/besteffort", "memory.min") == "0");
  CHECK(rig.file(rig.info->group, "memory.min") == std::to_string(kGiB));
  CHECK(rig.file("kubepods/burstable/podp/a", "memory.min") == std::to_string(kGiB / 2));
  CHECK(rig.file("kubepods/burstable/podp/a", "memory.high") ==
        std::to_string((kGiB + kGiB * 8 / 10) / 4096 * 4096));
  CHECK(rig.file("kubepods/burstable/podp/b", "memory.high") ==
        std::to_string((kGiB + 15 * kGiB * 8 / 10) / 4096 * 4096));
  CHECK(rig.summary() == "1 pods, 2 containers with a memory.high");
  // Wider from the roots down.
  CHECK(rig.kernel.written[0].starts_with("kubepods/memory.min "));
  // Nothing is read again in the steady state; this kernel has no PSI, nor what Anolis' has.
  rig.ticks(2);
  const std::size_t reads = rig.kernel.reads;
  rig.ticks(20);
  CHECK(rig.kernel.reads == reads);

  SECTION("the class is switched off") { rig.ls().enable = false; }
  SECTION("the pod does not want it") {
    auto terms = std::make_shared<api::PodMemoryQos>();
    terms->policy = "none";
    rig.info->terms.put<api::PodMemoryQos>(terms);
  }
  SECTION("no NodeSLO") { rig.inventory.slo = nullptr; }
  ++rig.inventory.generation;
  rig.ticks(2);
  for (const char* group :
       {"kubepods", "kubepods/burstable", "kubepods/burstable/podp", "kubepods/burstable/podp/a"})
    CHECK(rig.file(group, "memory.min") == "0");
  CHECK(rig.file("kubepods/burstable/podp/a", "memory.high") ==
        (rig.kernel.version() == CgroupVersion::v2 ? "max" : "9223372036854771712"));
}

TEST_CASE("Of a group that does not say what it asks for, what protects it stays as it is",
          "[koordlet][memory]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.enable(50, 60, 80);
  rig.ls().qos.oom_kill_group = 1;
  rig.info->requests_unknown = GENERATE(true, false);
  rig.kernel.group(rig.info->group).files["memory.min"] = std::to_string(4 * kGiB);
  rig.kernel.group(rig.info->group).files["memory.low"] = std::to_string(5 * kGiB);
  rig.kernel.group(rig.info->group).files["memory.oom.group"] = "0";
  rig.ticks(2);
  const bool unknown = rig.info->requests_unknown;
  CHECK(rig.file(rig.info->group, "memory.min") == (unknown ? std::to_string(4 * kGiB) : "0"));
  CHECK(rig.file(rig.info->group, "memory.low") == (unknown ? std::to_string(5 * kGiB) : "0"));
  if (rig.kernel.version() == CgroupVersion::v2) CHECK(rig.file(rig.info->group, "memory.oom.group") == "1");
}

TEST_CASE("Knobs that only some kernels have; a folder of many pods is never killed as one",
          "[koordlet][memory]") {
  Rig rig;
  rig.enable(0, 0, 0);
  rig.ls().qos.priority_enable = 1;
  rig.ls().qos.priority = 6;
  rig.ls().qos.oom_kill_group = 1;
  rig.ls().qos.page_cache_limit_size = kGiB;
  rig.container("a", kGiB);
  const std::vector<std::string> more = {"memory.wmark_ratio",
                                         "memory.wmark_scale_factor",
                                         "memory.wmark_min_adj",
                                         "memory.priority",
                                         "memory.use_priority_oom",
                                         "memory.oom.group",
                                         "memory.pagecache_limit.enable",
                                         "memory.pagecache_limit.size",
                                         "memory.pagecache_limit.sync"};
  for (const auto& [name, group] : rig.kernel.groups())
    for (const std::string& file : more) rig.kernel.group(name).files[file] = "0";
  rig.ticks(1);
  for (const char* group : {"kubepods/burstable/podp", "kubepods/burstable/podp/a"}) {
    CHECK(rig.file(group, "memory.wmark_ratio") == "95");
    CHECK(rig.file(group, "memory.wmark_scale_factor") == "20");
    CHECK(rig.file(group, "memory.oom.group") == "1");
    CHECK(rig.file(group, "memory.priority") == "6");
  }
  CHECK(rig.file("kubepods/burstable", "memory.priority") == "6");
  CHECK(rig.file("kubepods/burstable", "memory.use_priority_oom") == "1");
  CHECK(rig.file("kubepods/burstable", "memory.oom.group") == "0");
  CHECK(rig.file("kubepods/burstable", "memory.wmark_ratio") == "0");
  CHECK(rig.file("kubepods", "memory.priority") == "0");
  CHECK(rig.file("kubepods/burstable/podp", "memory.pagecache_limit.size") == std::to_string(kGiB));
  CHECK(rig.file("kubepods/burstable/podp", "memory.pagecache_limit.enable") == "1");
  CHECK(rig.file("kubepods/burstable/podp/a", "memory.pagecache_limit.size") == "0");
}

TEST_CASE("A container that stands still at its memory.high gets more for a while", "[koordlet][memory]") {
  Rig rig;
  rig.enable(0, 0, 50);
  rig.container("a", 0, 2 * kGiB);
  const std::string group = "kubepods/burstable/podp/a";
  std::uint64_t total = 0;
  double share = 0.6;
  rig.shape = [&](TickView&) {
    total += static_cast<std::uint64_t>(share * 1e6);
    auto& files = rig.kernel.group(group).files;
    files["memory.pressure"] = fmt::format(
        "some avg10=0.00 avg60=0.00 avg300=0.00 total={0}\nfull avg10=0.00 avg60=0.00 "
        "avg300=0.00 total={0}",
        total);
    files["memory.current"] = files["memory.high"] == "max" ? std::to_string(kGiB) : files["memory.high"];
  };
  rig.ticks(1);
  CHECK(rig.file(group, "memory.high") == std::to_string(kGiB));
  rig.ticks(5);
  const auto tenth = [](int steps) {
    return std::to_string((kGiB + kGiB / 10 * steps + 4 * steps / 10) / 4096 * 4096);
  };
  CHECK(rig.file(group, "memory.high") == tenth(1));
  CHECK(rig.summary() ==
        "1 pods, 1 containers with a memory.high; memory.high lifted, they stood still: ns/p/a (1 of 10)");
  bool told = false;
  for (const auto& limit : rig.manager->limits())
    told = told || limit.reason.starts_with("lifted by 1 of 10 steps");
  CHECK(told);
  rig.ticks(60);
  CHECK(rig.file(group, "memory.high") == std::to_string(2 * kGiB));
  SECTION("it comes back slowly") {
    share = 0;
    rig.ticks(60);
    CHECK(rig.file(group, "memory.high") == std::to_string(2 * kGiB));
    rig.ticks(700);
    CHECK(rig.file(group, "memory.high") == std::to_string(kGiB));
    CHECK(rig.summary() == "1 pods, 1 containers with a memory.high");
  }
  SECTION("pods come and go beside it") {
    ++rig.inventory.generation;
    rig.ticks(1);
    CHECK(rig.file(group, "memory.high") == std::to_string(2 * kGiB));
  }
  SECTION("the kernel does not end the write of a lower one: ticks go on, and nothing else waits") {
    rig.kernel.reclaims = [](std::string_view path) { return path.ends_with("a/memory.high"); };
    share = 0;
    rig.container("b", kGiB, 2 * kGiB);
    rig.ticks(700);
    CHECK(rig.kernel.waiting.size() == 1);
    CHECK(rig.file("kubepods/burstable/podp/b", "memory.high") == std::to_string(kGiB + kGiB / 2));
    CHECK(rig.manager->failures().size() == 1);
    rig.kernel.reclaims = {};
    rig.kernel.answer();
    rig.ticks(1);
    CHECK(rig.file(group, "memory.high") == std::to_string(kGiB));
  }
}

TEST_CASE("What the kubelet writes to the same file stays, and is named", "[koordlet][memory]") {
  Rig rig;
  rig.enable(50, 0, 0);
  rig.container("a", kGiB);
  rig.ticks(2);
  rig.kernel.group("kubepods").files["memory.min"] = "1048576";
  rig.ticks(200);
  CHECK(rig.file("kubepods", "memory.min") == "1048576");
  CHECK(rig.file("kubepods/burstable", "memory.min") == std::to_string(kGiB / 2));
  CHECK_THAT(rig.summary(),
             Catch::Contains("1 files left to another program") && Catch::Contains("memory.min of kubepods"));
  rig.ls().enable = false;
  ++rig.inventory.generation;
  rig.ticks(2);
  CHECK(rig.file("kubepods", "memory.min") == "1048576");  // not ours any more
  CHECK(rig.file("kubepods/burstable", "memory.min") == "0");
}

TEST_CASE("Killed between any two writes, memory QoS is undone byte for byte", "[koordlet][memory][crash]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  std::map<std::string, testing::SimKernel::Group> before;
  const std::size_t writes = testing::kill_between_writes(
      [&](const std::string& journal) {
        auto rig = std::make_unique<Rig>(version, journal);
        rig->enable(50, 60, 80);
        rig->container("a", kGiB, 2 * kGiB);
        rig->container("b", kGiB);
        auto& files = rig->kernel.group("kubepods/burstable/podp/a").files;  // the kubelet's
        files["memory.high"] = "1073741824";
        files["memory.min"] = "8192";
        before = rig->kernel.groups();
        return rig;
      },
      [](Rig& rig) {
        rig.ticks(2);
        rig.ls().qos.throttling_percent = 10;
        ++rig.inventory.generation;
        rig.ticks(2);
      },
      [&](Rig& rig, const std::string&, std::size_t) {
        rig.start();
        REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
        for (const auto& [name, group] : before) CHECK(rig.kernel.group(name).files == group.files);
      });
  CHECK(writes >= 10);
}

}  // namespace
}  // namespace koord::koordlet
