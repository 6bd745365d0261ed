// Group identity, with the original's rows, on kernels with it, with cpu.idle in its place, and with neither.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "rigs/hooks_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;

const std::string kProc = "/sim/proc/sys/kernel/";
const std::string kSwitch = kProc + "sched_group_identity_enabled", kCoreSched = kProc + "sched_core";

struct Class {
  bool enable = false;
  std::int64_t identity = 0;
};

class Rig : public testing::HooksRig {
 public:
  explicit Rig(CgroupVersion version, std::string journal = {}) : HooksRig(version, std::move(journal)) {
    kernel.has_bvt = true;
    slo({true, 2}, {true, 2}, {true, -1});
  }
  void slo(Class lsr, Class ls, Class be, std::optional<std::string_view> policy = "groupIdentity") {
    auto spec = std::make_shared<api::NodeSloSpec>();
    auto& strategy = spec->resource_qos_strategy.emplace();
    if (policy) strategy.policies.emplace().cpu_policy = *policy;
    const auto set = [](auto& of, Class one) {
      auto& cpu = of.emplace().cpu_qos.emplace();
      cpu.enable = one.enable;
      cpu.qos.group_identity = one.identity;
    };
    set(strategy.lsr_class, lsr);
    set(strategy.ls_class, ls);
    set(strategy.be_class, be);
    inventory.slo = spec;
    ++inventory.generation;
  }
  std::int64_t bvt(const std::string& name) { return group(name).bvt; }
  void has_switch(bool on) {
    kernel.settings[kProc.substr(0, kProc.size() - 1)] = "";
    kernel.settings[kSwitch] = on ? "1\n" : "0\n";
    kernel.settings[kCoreSched] = "1\n";
  }
};

TEST_CASE("Group identity, as the original's rows have it", "[koordlet][hooks]") {
  struct Row {
    std::string_view what;
    Class lsr, ls, be;
    std::optional<std::string_view> policy;
    // Of the pods of each class, of those without one by the kubelet's class, of its folders.
    std::int64_t lsr_pod, ls_pod, be_pod, guaranteed, burstable, besteffort, folder_burstable, folder_be;
  };
  const std::string_view by = "groupIdentity";
  const Row rows[] = {
      {"all", {true, 2}, {true, 2}, {true, -1}, by, 2, 2, -1, 2, 2, -1, 2, -1},
      {"LSR off", {false, 0}, {true, 2}, {true, -1}, by, 0, 2, -1, 2, 2, -1, 2, -1},
      {"LSR and LS off", {false, 0}, {false, 0}, {true, -1}, by, 0, 0, -1, 0, 0, -1, 0, -1},
      {"all off", {false, 0}, {false, 0}, {false, 0}, by, 0, 0, 0, 0, 0, 0, 0, 0},
      {"only BE, the others say something",
       {false, 2},
       {false, 2},
       {true, -1},
       by,
       0,
       0,
       -1,
       0,
       0,
       -1,
       0,
       -1},
      {"no policy is this one", {true, 2}, {true, 2}, {true, -1}, {}, 2, 2, -1, 2, 2, -1, 2, -1},
      {"another policy", {true, 2}, {true, 2}, {true, -1}, "coreSched", 0, 0, 0, 0, 0, 0, 0, 0},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Rig rig(CgroupVersion::v1);
    rig.slo(row.lsr, row.ls, row.be, row.policy);
    const auto made = [&](const char* name, Qos qos, host::KubeQos kube) {
      PodInfo& pod = rig.pod(name, qos, {{"c"}});
      pod.kube_qos = kube;
      // What an agent before this one may have left.
      rig.group(pod.group).bvt = rig.group(pod.containers[0].group).bvt = 1;
      return pod.group;
    };
    using enum host::KubeQos;
    const std::pair<std::string, std::int64_t> pods[] = {{made("lse", Qos::lse, guaranteed), row.lsr_pod},
                                                         {made("lsr", Qos::lsr, burstable), row.lsr_pod},
                                                         {made("ls", Qos::ls, guaranteed), row.ls_pod},
                                                         {made("be", Qos::be, besteffort), row.be_pod},
                                                         {made("g", Qos::none, guaranteed), row.guaranteed},
                                                         {made("b", Qos::none, burstable), row.burstable},
                                                         {made("e", Qos::none, besteffort), row.besteffort},
                                                         {made("s", Qos::system, burstable), row.burstable}};
    rig.group("kubepods").bvt = 1;
    rig.ticks(1);
    for (const auto& [group, value] : pods) {
      INFO(group);
      CHECK(rig.bvt(group) == value);
      CHECK(rig.bvt(group + "/c") == value);
    }
    CHECK(rig.bvt("kubepods") == 0);
    CHECK(rig.bvt("kubepods/burstable") == row.folder_burstable);
    CHECK(rig.bvt("kubepods/besteffort") == row.folder_be);
  }
}

TEST_CASE("A pod may say otherwise of itself only if it is LS", "[koordlet][hooks]") {
  struct Row {
    Qos qos;
    std::optional<api::PodCpuQos> own;
    std::int64_t bvt;
  };
  for (const Row& row : {Row{Qos::ls, {}, 2},
                         {Qos::ls, api::PodCpuQos{true, -1}, -1},
                         {Qos::ls, api::PodCpuQos{true, {}}, 2},
                         {Qos::ls, api::PodCpuQos{false, -1}, 0},
                         {Qos::be, api::PodCpuQos{true, 2}, -1},
                         {Qos::lsr, api::PodCpuQos{true, -1}, 2},
                         {Qos::none, api::PodCpuQos{true, -1}, 2}}) {
    Rig rig(CgroupVersion::v2);
    HookTerms terms;
    terms.cpu_qos = row.own;
    PodInfo& pod = rig.pod("p", row.qos, {{"c"}}, terms);
    rig.ticks(1);
    CHECK(rig.bvt(pod.group) == row.bvt);
    CHECK(rig.bvt(pod.containers[0].group) == row.bvt);
  }
}

TEST_CASE("Host applications, sandboxes and pods that nobody knows have one, too", "[koordlet][hooks]") {
  Rig rig(CgroupVersion::v1);
  rig.pod("p", Qos::ls, {{"c"}});
  rig.group("kubepods/burstable/podp/sandbox");
  rig.group("kubepods/besteffort/podgone");
  rig.group("kubepods/besteffort/podgone/c");
  rig.inventory.host_applications = {{.name = "a", .qos = Qos::be, .group = "host/a"},
                                     {.name = "b", .qos = Qos::ls, .group = "host/b"},
                                     {.name = "c", .qos = Qos::none, .group = "host/c"}};
  rig.application_usage.resize(3);
  for (const char* name : {"host/a", "host/b", "host/c"}) rig.group(name);
  rig.ticks(1);
  CHECK(rig.bvt("kubepods/burstable/podp/sandbox") == 2);
  CHECK(rig.bvt("kubepods/besteffort/podgone") == -1);
  CHECK(rig.bvt("kubepods/besteffort/podgone/c") == -1);
  CHECK(rig.bvt("host/a") == -1);
  CHECK(rig.bvt("host/b") == 2);
  CHECK(rig.bvt("host/c") == 0);
}

TEST_CASE("The kernel's switch is turned first, core scheduling off before it, and both are put back",
          "[koordlet][hooks]") {
  koord::testing::Tree tree;
  Rig rig(CgroupVersion::v1, tree / "journal");
  rig.has_switch(false);
  PodInfo& pod = rig.pod("p", Qos::be, {{"c"}});
  const auto before = rig.held();
  rig.ticks(2);
  REQUIRE(rig.kernel.written.size() > 2);
  CHECK(rig.kernel.written[0].starts_with(kCoreSched + " 0"));
  CHECK(rig.kernel.written[1].starts_with(kSwitch + " 1"));
  CHECK(rig.kernel.refused.empty());
  CHECK(rig.bvt(pod.group) == -1);
  rig.slo({}, {}, {});
  rig.ticks(3);
  CHECK(rig.kernel.refused.empty());
  CHECK(rig.held() == before);
  // Off as a whole nothing is written.
  const std::size_t written = rig.kernel.written.size();
  rig.group(pod.group).bvt = 1;
  ++rig.inventory.generation;
  rig.ticks(2);
  CHECK(rig.kernel.written.size() == written);
}

TEST_CASE("The kernel's switch and core scheduling's, as the original's rows have them",
          "[koordlet][hooks]") {
  struct Row {
    std::string_view what;
    std::optional<std::string> on, core_sched;  // nothing: the kernel has none
    std::string refused;                        // the setting that cannot be written
    bool enabled;
    std::string on_after, core_sched_after;
    bool written;  // the pods' identities
  };
  const Row rows[] = {
      {"there is none", {}, {}, "", true, "", "", true},
      {"only group identity's", "0", {}, "", true, "1", "", true},
      {"both", "0", "1", "", true, "1", "0", true},
      {"both are as they should be", "1", "0", "", true, "1", "0", true},
      // Upstream does not try the other one then; nobody's identity is written either way.
      {"core scheduling cannot be switched off", "0", "1", kCoreSched, true, "1", "1", false},
      {"group identity cannot be switched on", "0", "1", kSwitch, true, "0", "0", false},
      {"nobody wants it, it is off", "0", {}, "", false, "0", "", false},
      {"nobody wants it, it is on", "1", {}, "", false, "1", "", true},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Rig rig(CgroupVersion::v1);
    if (!row.enabled) rig.slo({}, {}, {});
    rig.kernel.settings[kProc.substr(0, kProc.size() - 1)] = "";
    if (row.on) rig.kernel.settings[kSwitch] = *row.on;
    if (row.core_sched) rig.kernel.settings[kCoreSched] = *row.core_sched;
    rig.kernel.fault = [&](std::string_view path, std::string_view) {
      return path == row.refused ? EPERM : 0;
    };
    PodInfo& pod = rig.pod("p", Qos::be, {{"c"}});
    rig.group(pod.group).bvt = 1;
    rig.ticks(3);
    if (row.on) CHECK(rig.kernel.settings[kSwitch] == row.on_after);
    if (row.core_sched) CHECK(rig.kernel.settings[kCoreSched] == row.core_sched_after);
    CHECK(rig.bvt(pod.group) == (!row.written ? 1 : row.enabled ? -1 : 0));
  }
}

TEST_CASE("On a kernel without it containers of best-effort pods go idle where the NodeSLO asks for it",
          "[koordlet][hooks]") {
  struct Row {
    const char* what;
    Class be;
    std::optional<std::string_view> policy;
    bool off;     // by its flag
    bool pinned;  // the kubelet updates containers by itself
    bool idle, applications;
  };
  const Row rows[] = {{"asked for", {true, -1}, "groupIdentity", false, false, true, true},
                      {"no policy is this one", {true, -1}, {}, false, false, true, true},
                      {"another policy", {true, -1}, "coreSched", false, false, false, false},
                      {"nothing is asked of BE", {false, -1}, "groupIdentity", false, false, false, false},
                      {"no less than others", {true, 0}, "groupIdentity", false, false, false, false},
                      {"its flag", {true, -1}, "groupIdentity", true, false, false, false},
                      {"the static CPU policy", {true, -1}, "groupIdentity", false, true, false, true}};
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  for (const Row& row : rows) {
    INFO(row.what);
    Rig rig(version);
    rig.kernel.has_bvt = false;
    rig.slo({true, 2}, {true, 2}, row.be, row.policy);
    if (row.off) rig.set.insert("disable-cpu-idle");
    rig.inventory.node.static_cpu_policy = row.pinned;
    rig.pod("be", Qos::be, {{"c"}, {"d"}});
    // One that may be resized in place: the runtime writes shares to its containers.
    rig.pod("resizable", Qos::be, {{"c"}}).kube_qos = host::KubeQos::burstable;
    HookTerms own;
    own.cpu_qos = api::PodCpuQos{true, -1};
    rig.pod("ls", Qos::ls, {{"c"}}, own);
    rig.pod("unlabelled", Qos::none, {{"c"}}).kube_qos = host::KubeQos::besteffort;
    rig.inventory.host_applications = {{.name = "a", .qos = Qos::be, .group = "host/a"},
                                       {.name = "all", .qos = Qos::be, .group = "kubepods/besteffort"},
                                       {.name = "b", .qos = Qos::ls, .group = "host/b"}};
    rig.application_usage.resize(3);
    for (const char* name : {"host", "host/a", "host/b"}) rig.group(name);
    rig.ticks(1);
    for (const auto& [name, group] : rig.kernel.groups()) {
      INFO(name);
      const bool of_pod = name == "kubepods/besteffort/podbe/c" || name == "kubepods/besteffort/podbe/d";
      CHECK(group.idle == ((row.idle && of_pod) || (row.applications && name == "host/a")));
    }
    CHECK(rig.kernel.refused.empty());
  }
}

TEST_CASE(
    "Containers are idle while their pod is best-effort and it is wanted; the pod has its shares all along",
    "[koordlet][hooks]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  koord::testing::Tree tree;
  Rig rig(version, tree / "journal");
  rig.kernel.has_bvt = false;
  HookTerms terms;
  terms.lent = terms.lent_to["c"] = {.cpu_request = 2000};
  PodInfo& pod = rig.pod("p", Qos::be, {{"c"}}, terms);
  const std::string group = pod.group, container = group + "/c";
  const std::int64_t asked = version == CgroupVersion::v1 ? 2048 : host::shares_to_weight(2048);
  rig.ticks(1);
  CHECK(rig.group(container).idle);
  CHECK_FALSE(rig.group(group).idle);
  CHECK(rig.group(group).shares == asked);  // beside other pods it has its weight
  const std::string late = rig.pod("late", Qos::be, {{"c"}}).group + "/c";
  rig.ticks(1);
  CHECK(rig.group(late).idle);
  // Another agent, which hears of the NodeSLO first: nobody is let go before the pods are known.
  const std::size_t written = rig.kernel.written.size();
  rig.start();
  auto pods = std::exchange(rig.inventory.all_pods, {});
  rig.inventory.pods_known = false;
  rig.ticks(3);
  rig.inventory.all_pods = std::move(pods);
  rig.inventory.pods_known = true;
  ++rig.inventory.generation;
  rig.ticks(3);
  CHECK(rig.group(container).idle);
  CHECK(rig.kernel.written.size() == written);
  rig.remake(container);  // it started again under its name
  rig.ticks(12);
  CHECK(rig.group(container).idle);

  SECTION("the pod changes its class") {
    pod.qos = Qos::ls;
    pod.priority_class = PriorityClass::mid;  // it goes on borrowing
    ++rig.inventory.generation;
    rig.ticks(1);
    CHECK(rig.group(late).idle);
  }
  SECTION("the NodeSLO asks for it no more") { rig.slo({true, 2}, {true, 2}, {false, 0}); }
  SECTION("the gate is off") {
    REQUIRE(rig.gates.set("GroupIdentity=false").has_value());
    rig.start();
  }
  rig.ticks(1);
  CHECK_FALSE(rig.group(container).idle);
  CHECK(rig.group(container).shares == asked);
  CHECK(rig.group(group).shares == asked);
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Without the kubelet's folders the groups themselves tell what the kernel has",
          "[koordlet][hooks]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.kernel.has_bvt = GENERATE(true, false);
  const bool pods = GENERATE(true, false);
  for (const char* name : {"kubepods", "kubepods/burstable", "kubepods/besteffort"}) rig.kernel.remove(name);
  rig.inventory.be_roots = {"batch.slice"};
  const std::string first = GENERATE("", "batch.slice", "web.slice");  // where they do not come together
  if (first.empty())
    for (const char* name : {"batch.slice", "web.slice"}) rig.group(name);
  if (pods) {
    for (const auto& [name, qos] : {std::pair("batch.slice", Qos::be), std::pair("web.slice", Qos::ls)}) {
      auto pod = std::make_shared<PodInfo>();
      pod->uid = pod->name = pod->group = name;
      pod->qos = qos;
      rig.inventory.pods.push_back(pod);
      rig.inventory.all_pods.push_back(pod);
      rig.pod_usage.emplace_back();
    }
  } else {
    rig.inventory.host_applications = {{.name = "a", .qos = Qos::be, .group = "batch.slice"},
                                       {.name = "b", .qos = Qos::ls, .group = "web.slice"}};
    rig.application_usage.resize(2);
  }
  rig.ticks(2);
  if (!first.empty()) {
    rig.group(first);
    rig.ticks(70);
    rig.group(first == "batch.slice" ? "web.slice" : "batch.slice");
    rig.ticks(70);
  }
  CHECK(rig.bvt("batch.slice") == (rig.kernel.has_bvt ? -1 : 0));
  CHECK(rig.bvt("web.slice") == (rig.kernel.has_bvt ? 2 : 0));
  CHECK(rig.group("batch.slice").idle == !rig.kernel.has_bvt);
  CHECK_FALSE(rig.group("web.slice").idle);
  REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  CHECK(rig.bvt("web.slice") == 0);
  CHECK_FALSE(rig.group("batch.slice").idle);
}

TEST_CASE("A kernel with neither group identity nor cpu.idle is left alone and asked little",
          "[koordlet][hooks]") {
  Rig rig(CgroupVersion::v2);
  rig.kernel.has_bvt = false;
  rig.kernel.has_idle = false;
  rig.only({"GroupIdentity"});
  rig.pod("p", Qos::be, {{"c"}});
  rig.ticks(2);
  CHECK(rig.kernel.written.empty());
  const std::size_t calls = rig.kernel.calls();
  rig.ticks(20);
  CHECK(rig.kernel.calls() == calls);
}

TEST_CASE("Group identity: an agent that is killed between any two writes leaves what can be undone",
          "[koordlet][hooks][crash]") {
  const bool has_switch = GENERATE(false, true);
  const bool has_bvt = GENERATE(false, true);
  Rig::kill_between_writes<Rig>(GENERATE(CgroupVersion::v1, CgroupVersion::v2), [&](Rig& rig) {
    if (has_switch) rig.has_switch(false);
    rig.kernel.has_bvt = has_bvt;
    HookTerms terms;
    terms.lent = terms.lent_to["a"] = {.cpu_request = 2000};
    rig.pod("p", Qos::be, {{"a"}, {"b"}}, terms);
    rig.pod("q", Qos::ls, {{"a"}});
  });
}

}  // namespace
}  // namespace koord::koordlet
