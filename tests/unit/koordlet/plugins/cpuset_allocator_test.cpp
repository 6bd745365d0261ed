// On which CPUs who runs, with the original's rows.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "rigs/hooks_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::CpuSet;
using testing::HooksRig;

using Names = std::vector<std::string>;
using testing::kBeRoot;
const std::string kBePod = fmt::format("{}/podb", kBeRoot);

/// Sixteen CPUs on two NUMA nodes.
std::shared_ptr<const host::Topology> two_nodes() { return testing::machine(16, 2); }

TEST_CASE("A container's CPUs, as the original's rows have them", "[koordlet][hooks]") {
  struct Row {
    std::string_view what;
    Qos qos;
    host::KubeQos kube;
    std::string given;
    std::vector<int> nodes;
    std::string system;
    bool pins;  // the kubelet
    std::string cpus;
  };
  using enum host::KubeQos;
  const Row rows[] = {
      {"given by name", Qos::lsr, guaranteed, "2-4", {}, "", false, "2-4"},
      {"LSE as well", Qos::lse, guaranteed, "2-4", {}, "", false, "2-4"},
      {"whoever was given some", Qos::ls, burstable, "2-4", {}, "", false, "2-4"},
      {"without a class, too", Qos::none, guaranteed, "2-4", {}, "", false, "2-4"},
      {"of a node", Qos::none, burstable, "", {0}, "", false, "0-7"},
      {"of the other node", Qos::ls, burstable, "", {1}, "", false, "8-15"},
      {"of both nodes", Qos::ls, burstable, "", {0, 1}, "", false, "0-15"},
      {"LS shares all", Qos::ls, burstable, "", {}, "", false, "0-15"},
      {"burstable without a class, too", Qos::none, burstable, "", {}, "", false, "0-15"},
      {"guaranteed without a class, too", Qos::none, guaranteed, "", {}, "", false, "0-15"},
      {"but not where the kubelet pins", Qos::none, burstable, "", {}, "", true, "1-2"},
      {"nor do others there", Qos::lsr, guaranteed, "2-4", {}, "", true, "1-2"},
      {"best-effort work is suppression's", Qos::be, besteffort, "", {}, "", false, "1-2"},
      {"also of a node", Qos::be, besteffort, "", {0}, "", false, "1-2"},
      {"and without a class", Qos::none, besteffort, "", {}, "", false, "1-2"},
      {"SYSTEM has its own", Qos::system, burstable, "", {}, "12-13", false, "12-13"},
      {"SYSTEM has all where there are none", Qos::system, burstable, "", {}, "", false, "0-15"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    HooksRig rig(CgroupVersion::v1);
    rig.topology = two_nodes();
    HookTerms terms;
    terms.numa_nodes = row.nodes;
    PodInfo& pod = rig.pod("p", row.qos, {{"c"}}, terms);
    pod.kube_qos = row.kube;
    if (!row.given.empty()) pod.cpus = *CpuSet::parse(row.given);
    if (!row.system.empty()) rig.inventory.node.system_qos_pool = *CpuSet::parse(row.system);
    rig.inventory.node.static_cpu_policy = row.pins;
    rig.group(pod.containers[0].group).cpus = *CpuSet::parse("1-2");
    rig.ticks(1);
    CHECK(rig.kernel.cpus(pod.containers[0].group) == row.cpus);
    const std::string shown = rig.metrics->exposition();  // of each CPU only where a gate says so
    CHECK(shown.find("koordlet_cpuset_share_pool_cpu_cores 1") != std::string::npos);
    CHECK(shown.find("share_pool_info{") == std::string::npos);
  }
}

TEST_CASE("Whose quota goes with CPUs of its own, as the original's rows have it", "[koordlet][hooks]") {
  struct Row {
    Qos qos;
    std::string given;
    std::vector<int> nodes;
    bool keep;  // --disable-unset-cpu-quota
    bool none;
  };
  for (const Row& row : {Row{Qos::lsr, "0-3", {}, false, true},
                         {Qos::lse, "0-3", {}, false, true},
                         {Qos::none, "2-4", {}, false, true},
                         {Qos::lsr, "2-4", {}, true, false},
                         {Qos::lse, "0-3", {}, true, false},
                         {Qos::ls, "", {0}, false, false},
                         {Qos::ls, "", {}, false, false}}) {
    HooksRig rig(CgroupVersion::v1);
    rig.topology = two_nodes();
    if (row.keep) rig.set = {"disable-unset-cpu-quota"};
    rig.start();
    HookTerms terms;
    terms.numa_nodes = row.nodes;
    PodInfo& pod = rig.pod("p", row.qos, {{"c", 3000}}, terms);
    if (!row.given.empty()) pod.cpus = *CpuSet::parse(row.given);
    rig.ticks(1);
    for (const std::string& group : {pod.group, pod.containers[0].group})
      CHECK(rig.group(group).quota == (row.none ? -1 : 300'000));
  }
}

TEST_CASE("Who has CPUs of its own has no quota, unless a flag says otherwise", "[koordlet][hooks]") {
  const bool keep = GENERATE(false, true);
  koord::testing::Tree tree;
  HooksRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  if (keep) rig.set = {"disable-unset-cpu-quota"};
  rig.start();
  PodInfo& pod = rig.pod("p", Qos::lsr, {{"a", 2000}, {"init", 2000, ContainerKind::init}});
  pod.cpus = *CpuSet::parse("2-3");
  const auto before = rig.held();
  rig.ticks(1);
  for (const std::string& group : {pod.group, pod.containers[0].group, pod.containers[1].group})
    CHECK((rig.group(group).quota == -1) == !keep);
  CHECK(rig.kernel.cpus(pod.containers[1].group) == "2-3");
  REQUIRE(rig.gates.set("CPUSetAllocator=false").has_value());
  rig.start();
  rig.ticks(2);
  CHECK(rig.held() == before);
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Who shares makes room for a pod that gets CPUs, and gets them back", "[koordlet][hooks]") {
  HooksRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  REQUIRE(rig.gates.set("PerCPUMetric=true").has_value());
  rig.start();
  PodInfo& ls = rig.pod("ls", Qos::ls, {{"c"}});
  rig.group("host-latency-sensitive/app").cpus = rig.topology->online;
  rig.group("host-latency-sensitive/other").cpus = rig.topology->online;
  rig.group("host-latency-sensitive/lsr").cpus = rig.topology->online;
  rig.inventory.host_applications = {
      {.name = "app", .qos = Qos::ls, .group = "host-latency-sensitive/app"},
      {.name = "other", .qos = Qos::none, .group = "host-latency-sensitive/other"},
      {.name = "lsr", .qos = Qos::lsr, .group = "host-latency-sensitive/lsr"}};
  rig.application_usage.resize(3);
  rig.ticks(1);
  PodInfo& lsr = rig.pod("lsr", Qos::lsr, {{"c", 4000}});
  lsr.cpus = *CpuSet::parse("4-7");
  rig.ticks(1);
  CHECK(rig.kernel.cpus(lsr.containers[0].group) == "4-7");
  CHECK(rig.kernel.cpus(ls.containers[0].group) == "0-3,8-15");
  CHECK(rig.kernel.cpus("host-latency-sensitive/app") == "0-3,8-15");
  CHECK(rig.kernel.cpus("host-latency-sensitive/other") == "0-15");
  CHECK(rig.kernel.cpus("host-latency-sensitive/lsr") == "0-15");  // nobody gave it any
  const std::string shown = rig.metrics->exposition();
  CHECK(shown.find("koordlet_cpuset_share_pool_cpu_cores 12") != std::string::npos);
  CHECK(shown.find("koordlet_cpuset_be_share_pool_cpu_cores 16") != std::string::npos);
  CHECK(shown.find("koordlet_cpuset_share_pool_info{cpu=\"3\"} 1") != std::string::npos);
  CHECK(shown.find("koordlet_cpuset_share_pool_info{cpu=\"4\"}") == std::string::npos);
  CHECK(shown.find("koordlet_cpuset_be_share_pool_info{cpu=\"4\"} 1") != std::string::npos);
  rig.inventory.pods.pop_back();
  rig.inventory.all_pods.pop_back();
  rig.pod_usage.pop_back();
  ++rig.inventory.generation;
  rig.ticks(1);
  CHECK(rig.kernel.cpus(ls.containers[0].group) == "0-15");
}

TEST_CASE("An LS pod that asks for nothing shares what is left, and best-effort work has the rest",
          "[koordlet][hooks]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const std::string policy = GENERATE("cfsQuota", "cpuset");
  const bool allocates = GENERATE(true, false);
  INFO(policy << (allocates ? "" : " without CPUSetAllocator"));
  HooksRig rig(version);
  rig.slo(true, policy, 100);
  if (!allocates) REQUIRE(rig.gates.set("CPUSetAllocator=false").has_value());
  rig.only({"CPUSetAllocator", "CPUSuppress"});
  const std::string ls = rig.pod("ls", Qos::ls, {{"c"}}, {}, true).group + "/c";
  const std::string be = rig.pod("be", Qos::be, {{"c"}}).group + "/c";
  PodInfo& lsr = rig.pod("lsr", Qos::lsr, {{"c", 4000}});
  lsr.cpus = *CpuSet::parse("4-7");
  rig.inventory.own_cpus.lsr = *lsr.cpus;
  ++rig.inventory.generation;
  rig.ticks(5);
  const auto of = [&](const std::string& group) { return *CpuSet::parse(rig.kernel.cpus(group)); };
  CHECK(of(be).size() >= 15);
  CHECK(of(ls) == (allocates ? of(be) - *lsr.cpus : of(be)));
  // Where nobody is left to share with it has what there is.
  lsr.cpus = *CpuSet::parse("0-15");
  rig.inventory.own_cpus.lsr = *lsr.cpus;
  ++rig.inventory.generation;
  rig.ticks(5);
  CHECK(of(ls) == (allocates ? *CpuSet::parse("0-15") : of(be)));
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("What keeps best-effort work on few CPUs keeps no LS pod there that asks for nothing",
          "[koordlet][hooks]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  HooksRig rig(version);
  rig.slo(true, "cpuset", 25);
  rig.only({"CPUSetAllocator", "CPUSuppress"});
  const std::string ls = rig.pod("ls", Qos::ls, {{"c"}}, {}, true).group;
  const std::string be = rig.pod("be", Qos::be, {{"c"}}).group;
  PodInfo& lsr = rig.pod("lsr", Qos::lsr, {{"c", 4000}});
  lsr.cpus = *CpuSet::parse("4-7");
  rig.inventory.own_cpus.lsr = *lsr.cpus;
  ++rig.inventory.generation;
  rig.ticks(30);
  const auto of = [&](const std::string& group) { return *CpuSet::parse(rig.kernel.cpus(group)); };
  CHECK(of(be + "/c").size() <= 4);
  // Its own, and no group above it is narrower: the kernel gives no more than that (v2), or refuses it (v1).
  for (const std::string& group : {ls + "/c", ls, std::string("kubepods/besteffort")})
    CHECK((*CpuSet::parse("0-3,8-15") - of(group)).empty());
  CHECK(rig.kernel.refused.empty());
  // It goes: best-effort work has its folder to itself again.
  rig.inventory.all_pods.erase(rig.inventory.all_pods.begin());
  ++rig.inventory.generation;
  rig.ticks(5);
  CHECK(of("kubepods/besteffort").size() <= 4);
}

TEST_CASE("Sets of CPUs grow from the roots down and shrink from the leaves up", "[koordlet][hooks]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  HooksRig rig(version);
  rig.slo(true, "cpuset", 100);
  rig.only({"CPUSetAllocator", "CPUSuppress"});
  // Applications of the host, one in the other, and the best-effort tree: of all of them less is left.
  const Names outer{"apps", "apps/inner", "apps/inner/most"}, batch{kBeRoot, kBePod, kBePod + "/c"};
  for (const std::string& name : outer) {
    rig.group(name).cpus = rig.topology->online;
    rig.inventory.host_applications.push_back({.name = name, .qos = Qos::ls, .group = name});
  }
  rig.application_usage.resize(3);
  rig.pod("b", Qos::be, {{"c"}});
  PodInfo& lse = rig.pod("lse", Qos::lse, {{"c", 4000}});
  const auto order = [&](const Names& names) {
    Names written;
    for (const std::string& one : rig.kernel.written)
      for (const std::string& name : names)
        if (one.starts_with(name + "/cpuset.cpus ")) written.push_back(name);
    return written;
  };
  const auto give = [&](const char* cpus) {
    const auto set = cpus == nullptr ? std::optional<CpuSet>() : *CpuSet::parse(cpus);
    lse.cpus = set;
    rig.inventory.own_cpus.lse = set.value_or(CpuSet());
    ++rig.inventory.generation;
    rig.kernel.written.clear();
    rig.ticks(1);
    CHECK(rig.kernel.refused.empty());
  };
  const auto reversed = [](Names names) {
    std::reverse(names.begin(), names.end());
    return names;
  };
  give("4-7");
  CHECK(order(outer) == reversed(outer));
  CHECK(order(batch) == reversed(batch));
  CHECK(rig.kernel.cpus("apps/inner/most") == "0-3,8-15");
  // Others: what is wide enough for both comes first, then what is no wider than it shall be.
  give("8-11");
  const Names once = order(outer);
  CHECK(Names(once.begin(), once.begin() + 3) == outer);
  CHECK(rig.kernel.cpus("apps/inner/most") == "0-7,12-15");
  CHECK(rig.kernel.cpus(lse.containers[0].group) == "8-11");
  give(nullptr);
  CHECK(order(outer) == outer);
  CHECK(rig.kernel.cpus("apps/inner/most") == "0-15");
}

TEST_CASE("What was found is put back as far as its CPUs are still there", "[koordlet][hooks]") {
  koord::testing::Tree tree;
  testing::HooksRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  const std::string group = rig.pod("p", Qos::ls, {{"c"}}).group + "/c";
  rig.pod("lsr", Qos::lsr, {{"c"}}).cpus = *host::CpuSet::parse("0-1");
  rig.ticks(1);
  REQUIRE(rig.group(group).cpus == host::CpuSet::range(2, 15));
  // Half of the machine goes: v1 takes the CPUs out of all groups, for good.
  rig.topology = testing::machine(8, 2);
  if (rig.kernel.version() == CgroupVersion::v1) {
    rig.kernel.online = rig.topology->online;
    for (const auto& [name, of] : std::map(rig.kernel.groups()))
      rig.group(name).cpus = of.cpus & rig.topology->online;
  }
  rig.shape = [](TickView& view) { view.facts = std::make_shared<const NodeFacts>(); };
  rig.ticks(2);
  REQUIRE(rig.group(group).cpus == host::CpuSet::range(2, 7));
  REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  CHECK(rig.group(group).cpus == host::CpuSet::range(0, rig.kernel.version() == CgroupVersion::v1 ? 7 : 15));
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("CPUs that come later are shared, too; before any are known nothing is said", "[koordlet][hooks]") {
  HooksRig rig(CgroupVersion::v1);
  const auto all = rig.topology;
  PodInfo& pod = rig.pod("ls", Qos::ls, {{"c"}});
  rig.topology = nullptr;
  rig.ticks(1);
  CHECK(rig.kernel.written.empty());
  rig.topology = testing::machine(8, 2);
  ++rig.inventory.generation;
  rig.ticks(1);
  CHECK(rig.kernel.cpus(pod.containers[0].group) == "0-7");
  rig.topology = all;
  ++rig.inventory.generation;
  rig.ticks(1);
  CHECK(rig.kernel.cpus(pod.containers[0].group) == "0-15");
}

TEST_CASE("Files that the kubelet owns are left alone, which is said once", "[koordlet][hooks]") {
  HooksRig rig(CgroupVersion::v1);
  rig.inventory.node.static_cpu_policy = true;
  for (const char* name : {"a", "b"}) rig.pod(name, Qos::ls, {{"c"}});
  rig.ticks(3);
  rig.pod("d", Qos::ls, {{"c"}});
  rig.ticks(3);
  CHECK(rig.kernel.written.empty());
  const auto lines = rig.log.lines();
  CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
          return line.find("static CPU policy") != std::string::npos;
        }) == 1);
  bool told = false;
  for (const auto& report : rig.manager->strategies())
    told = told ||
           (report.name == "CPUSetAllocator" && report.status.summary.find("static") != std::string::npos);
  CHECK(told);
}

TEST_CASE("Sets of CPUs: an agent that is killed between any two writes leaves what can be undone",
          "[koordlet][hooks][crash]") {
  HooksRig::kill_between_writes(GENERATE(CgroupVersion::v1, CgroupVersion::v2), [](HooksRig& rig) {
    rig.pod("lsr", Qos::lsr, {{"a", 1000}, {"b", 1000}}).cpus = *CpuSet::parse("2-3");
    rig.pod("ls", Qos::ls, {{"c"}});
    ++rig.inventory.generation;
  });
}

}  // namespace
}  // namespace koord::koordlet
