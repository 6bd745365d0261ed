// Core scheduling: whose processes share a cookie, with the original's rows, and what it needs of the kernel.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/api/koordinator/node_agent.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "plugins/core_sched/rules.hpp"
#include "rigs/hooks_rig.hpp"

namespace koord::koordlet {
namespace {

using core_sched::Rules;
using core_sched::Terms;
using host::CgroupVersion;
using host::KubeQos;
using koord::testing::Tree;
using testing::HooksRig;
using Cookies = std::map<pid_t, std::int64_t>;

const std::string kIdentity = "/sim/proc/sys/kernel/sched_group_identity_enabled",
                  kSwitch = "/sim/proc/sys/kernel/sched_core";

struct Class {
  bool enable = false;
  bool expeller = false;
  std::int64_t idle = 0;
};
constexpr Class kOff{}, kLs{true, true, 0}, kBe{true, false, 0}, kIdleBe{true, false, 1};

std::shared_ptr<api::NodeSloSpec> node_slo(std::string_view policy, Class lsr, Class ls, Class be) {
  auto spec = std::make_shared<api::NodeSloSpec>();
  auto& strategy = spec->resource_qos_strategy.emplace();
  if (!policy.empty()) strategy.policies.emplace().cpu_policy = policy;
  const auto set = [](auto& to, const Class& from) {
    auto& qos = to.emplace().cpu_qos.emplace();
    qos.enable = from.enable;
    qos.qos.core_expeller = from.expeller;
    qos.qos.sched_idle = from.idle;
    qos.qos.group_identity = 0;
  };
  set(strategy.lsr_class, lsr);
  set(strategy.ls_class, ls);
  set(strategy.be_class, be);
  return spec;
}

TEST_CASE("What the NodeSLO says of classes, as the original's rows have it", "[koordlet][core_sched]") {
  struct Row {
    const char* what;
    std::string_view policy;
    Class lsr, ls, be;
    bool enabled;
    Rules::Class lsr_is, ls_is, be_is, guaranteed, burstable, best_effort;
  };
  constexpr Rules::Class off{}, ls{true, true, false}, be{true, false, false}, idle{true, false, true};
  const Row rows[] = {
      {"keep disabled", "", kOff, kOff, kOff, false, off, off, off, off, off, off},
      {"keep enabled", "coreSched", kLs, kLs, kBe, true, ls, ls, be, ls, ls, be},
      {"policy disabled", "", kOff, kOff, kOff, false, off, off, off, off, off, off},
      {"policy enabled", "coreSched", kLs, kLs, kBe, true, ls, ls, be, ls, ls, be},
      {"enabled on LS and BE", "coreSched", kOff, kLs, kIdleBe, true, off, ls, idle, ls, ls, idle},
      {"policy enabled on BE", "coreSched", kLs, kLs, kIdleBe, true, ls, ls, idle, ls, ls, idle},
      // Ours.
      {"another policy", "groupIdentity", kLs, kLs, kIdleBe, false, off, off, off, off, off, off},
      {"idle alone",
       "coreSched",
       kOff,
       kOff,
       {false, false, 1},
       false,
       off,
       off,
       {false, false, true},
       off,
       off,
       {false, false, true}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const Rules all = core_sched::rules(node_slo(row.policy, row.lsr, row.ls, row.be).get());
    CHECK(all.enabled == row.enabled);
    CHECK(all.of(Qos::lse, KubeQos::guaranteed) == row.lsr_is);
    CHECK(all.of(Qos::lsr, KubeQos::guaranteed) == row.lsr_is);
    CHECK(all.of(Qos::ls, KubeQos::guaranteed) == row.ls_is);
    CHECK(all.of(Qos::be, KubeQos::besteffort) == row.be_is);
    CHECK(all.of(Qos::none, KubeQos::guaranteed) == row.guaranteed);
    CHECK(all.of(Qos::none, KubeQos::burstable) == row.burstable);
    CHECK(all.of(Qos::none, KubeQos::besteffort) == row.best_effort);
  }
  CHECK(core_sched::rules(nullptr).enabled == false);
}

TEST_CASE("Which group a pod is of, as the original's rows have it", "[koordlet][core_sched]") {
  const Rules on = core_sched::rules(node_slo("coreSched", kLs, kLs, kBe).get());
  const Rules off = core_sched::rules(node_slo("", kOff, kOff, kOff).get());
  Rules ls_and_be = on;
  ls_and_be.lsr = {};
  ls_and_be.ls = {true, false, false};
  ls_and_be.be = {true, false, true};
  struct Row {
    const char* what;
    const Rules& rules;
    Qos qos;
    KubeQos kube;
    Terms terms;
    std::optional<std::string> group;
  };
  constexpr auto best = KubeQos::besteffort;
  const Row rows[] = {
      {"pod enabled", on, Qos::ls, best, {.group = "group-xxx"}, "group/group-xxx-expeller"},
      {"BE pod enabled", on, Qos::be, best, {}, "group/"},
      {"burstable pod enabled", on, Qos::none, KubeQos::burstable, {}, "group/-expeller"},
      {"pod enabled without group id label", on, Qos::none, KubeQos::burstable, {}, "group/-expeller"},
      {"pod enabled with policy exclusive", on, Qos::ls, best, {.exclusive = true}, "pod/xxx-expeller"},
      {"pod disabled", off, Qos::none, best, {.group = "group-xxx"}, {}},
      {"BE pod disabled", off, Qos::be, best, {.group = "group-xxx"}, {}},
      {"burstable pod disabled", off, Qos::none, KubeQos::burstable, {}, {}},
      {"pod disabled without group id label", off, Qos::none, best, {}, {}},
      {"pod disabled by policy none", on, Qos::ls, KubeQos::guaranteed, {.none = true}, {}},
      {"pod enabled according to nodeSLO", ls_and_be, Qos::ls, KubeQos::burstable, {}, "group/"},
      {"pod disabled according to nodeSLO", ls_and_be, Qos::lsr, KubeQos::guaranteed, {}, {}},
      // Ours.
      {"a SYSTEM pod", on, Qos::system, KubeQos::burstable, {.group = "group-xxx"}, {}},
      {"a name that ends so", on, Qos::be, best, {.group = "g-expeller"}, "plain-group/g-expeller"},
      {"and who has others make way", on, Qos::ls, best, {.group = "g"}, "group/g-expeller"},
      {"the name of another pod's own group", on, Qos::ls, best, {.group = "xxx"}, "group/xxx-expeller"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    PodInfo pod;
    pod.uid = "xxx";
    pod.qos = row.qos;
    pod.kube_qos = row.kube;
    pod.terms.put(std::make_shared<const Terms>(row.terms));
    CHECK(core_sched::group_of(row.rules, pod) == row.group);
  }
}

TEST_CASE("What labels say of core scheduling", "[koordlet][core_sched]") {
  struct Row {
    const char *what, *policy, *group;
    Terms terms;
    std::size_t warnings = 0;
  };
  const std::string longest(63, 'x'), longer(64, 'x');
  const Row rows[] = {
      {"nothing", "", "", {}},
      {"a group", "", "a.b_c-1", {.group = "a.b_c-1"}},
      {"none", "none", "g", {.group = "g", .none = true}},
      {"exclusive", "exclusive", "", {.exclusive = true}},
      {"another word", "Exclusive", "", {}},
      {"a long name", "", longest.c_str(), {.group = longest}},
      {"too long", "", longer.c_str(), {.exclusive = true}, 1},
      {"two fields of a file", "", "a\tb", {.exclusive = true}, 1},
      {"another pod's", "", "../pod/uid", {.exclusive = true}, 1},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    api::Pod pod;
    pod.metadata.labels[api::kCoreSchedPolicyLabel] = Symbol(row.policy);
    pod.metadata.labels[api::kCoreSchedGroupLabel] = Symbol(row.group);
    PodTerms terms;
    std::vector<std::string> warnings;
    core_sched::read_terms(pod, terms, warnings);
    const auto* const read = terms.find<Terms>();
    CHECK((read == nullptr ? Terms{} : *read) == row.terms);
    CHECK(warnings.size() == row.warnings);
  }
}

class Rig : public HooksRig {
 public:
  explicit Rig(CgroupVersion version = CgroupVersion::v2, std::string journal = {})
      : HooksRig(version, std::move(journal)) {
    gate(true);
  }
  void gate(bool on) {
    if (!gates.set(on ? "CoreSched=true" : "CoreSched=false")) throw std::runtime_error("no such gate");
    only({"GroupIdentity", "CoreSched"});
  }
  void says(std::shared_ptr<api::NodeSloSpec> slo) {
    inventory.slo = std::move(slo);
    ++inventory.generation;
  }
  void on(Class be = kBe) { says(node_slo("coreSched", kLs, kLs, be)); }
  void off() { says(node_slo("groupIdentity", kOff, kOff, kOff)); }
  /// A pod with two containers and a sandbox; its processes are `first` to `first` + 2.
  PodInfo& with_processes(const std::string& name, Qos qos, pid_t first, Terms terms = {}) {
    PodInfo& made = pod(name, qos, {{"c1"}, {"c2"}});
    made.terms.put(std::make_shared<const Terms>(std::move(terms)));
    made.sandbox_group = made.group + "/sandbox";
    kernel.group(made.sandbox_group);
    for (const char* one : {"c1", "c2", "sandbox"})
      processes.born(first++, fmt::format("{}/{}", made.group, one), 0);
    return made;
  }
  std::string held() {
    std::string text = HooksRig::held();
    for (const auto& [pid, cookie] : processes.cookies()) text += fmt::format("{}: {}\n", pid, cookie);
    return text;
  }
  std::string shown(const std::string& name) const {
    std::string lines;
    const std::string text = metrics->exposition();
    for (std::size_t at = text.find(name + "{"); at != std::string::npos; at = text.find(name + "{", at + 1))
      lines += text.substr(at, text.find('\n', at) - at + 1);
    return lines;
  }
};

TEST_CASE("Pods of a group have one cookie, and who is alone his own", "[koordlet][core_sched]") {
  Rig rig;
  rig.with_processes("a", Qos::ls, 10, {.group = "g"});
  rig.with_processes("b", Qos::lsr, 20, {.group = "g"});
  rig.with_processes("c", Qos::be, 30, {.group = "g"});  // without -expeller
  rig.with_processes("d", Qos::ls, 40, {.exclusive = true});
  rig.with_processes("e", Qos::ls, 50, {.none = true});
  rig.with_processes("f", Qos::system, 60);
  rig.with_processes("v", Qos::ls, 70);
  auto machine = std::make_shared<HookTerms>();
  machine->virtual_machine = true;
  const_cast<PodInfo&>(*rig.inventory.all_pods.back()).terms.put(std::shared_ptr<const HookTerms>(machine));
  rig.processes.born(99, "kubepods/elsewhere", 0);
  const auto all = [](std::initializer_list<std::pair<pid_t, std::int64_t>> pods) {
    Cookies cookies;
    for (const auto& [first, cookie] : pods)
      for (pid_t pid = first; pid < first + 3; ++pid) cookies[pid] = cookie;
    return cookies;
  };
  rig.on();
  rig.ticks(1);
  CHECK(rig.processes.cookies() == all({{10, 1}, {20, 1}, {30, 2}, {40, 3}}));
  CHECK(rig.report("CoreSched").status.summary == "3 groups of 12 containers share cores");
  CHECK(
      rig.shown("koordlet_container_core_sched_cookie")
          .find(R"(pod_name="d",pod_namespace="ns",pod_uid="d",container_name="c2",)"
                R"(container_id="containerd://c2",core_sched_group="d-expeller",core_sched_cookie="3"} 1)") !=
      std::string::npos);
  CHECK(rig.shown("koordlet_core_sched_cookie_manage_status") ==
        "koordlet_core_sched_cookie_manage_status{core_sched_group=\"d-expeller\",status=\"succeeded\"} 3\n"
        "koordlet_core_sched_cookie_manage_status{core_sched_group=\"g\",status=\"succeeded\"} 3\n"
        "koordlet_core_sched_cookie_manage_status{core_sched_group=\"g-expeller\",status=\"succeeded\"} 6\n");
  SECTION("a class leaves") {
    rig.says(node_slo("coreSched", kLs, kOff, kBe));
    rig.ticks(1);
    CHECK(rig.processes.cookies() == all({{20, 1}, {30, 2}}));
  }
  SECTION("the policy is another one") {
    rig.off();
    rig.ticks(1);
    CHECK(rig.processes.cookies().empty());
    CHECK(rig.shown("koordlet_container_core_sched_cookie").empty());
    CHECK(rig.shown("koordlet_core_sched_cookie_manage_status").empty());
  }
  SECTION("there is no NodeSLO any more") {
    rig.inventory.slo.reset();
    rig.ticks(1);
    CHECK(rig.processes.cookies().empty());
  }
  SECTION("--cleanup") {
    CHECK(rig.manager->cleanup(rig.inventory).value() == 12);
    CHECK(rig.processes.cookies().empty());
  }
}

TEST_CASE("Cookies stay over a restart, and while nothing is known", "[koordlet][core_sched]") {
  Tree tree;
  Rig rig(CgroupVersion::v1, tree / "journal");
  rig.with_processes("a", Qos::ls, 10);
  rig.on();
  rig.ticks(1);
  const Cookies before = rig.processes.cookies();
  REQUIRE(before.size() == 3);
  rig.start();
  auto slo = rig.inventory.slo;
  rig.inventory.pods_known = false;
  rig.ticks(20);
  rig.inventory.slo.reset();
  rig.inventory.slo_known = false;
  rig.ticks(20);
  CHECK(rig.processes.cookies() == before);
  rig.inventory.slo = slo;
  rig.inventory.pods_known = rig.inventory.slo_known = true;
  rig.with_processes("b", Qos::ls, 20);
  rig.ticks(1);
  CHECK(rig.processes.cookies().size() == 6);
  CHECK(rig.processes.next_cookie == 2);
  SECTION("the gate is off in the next agent") { rig.gate(false); }
  SECTION("it is only told what would be done") {
    rig.dry_run = {"CoreSched"};
    rig.start();
  }
  rig.ticks(2);
  CHECK(rig.processes.cookies().empty());
  const std::size_t reads = rig.processes.reads;
  rig.ticks(30);
  CHECK(rig.processes.reads == reads);  // nothing is looked at any more
}

TEST_CASE("A machine without cookies says so, and nothing else is the worse for it",
          "[koordlet][core_sched]") {
  Rig rig;
  rig.with_processes("a", Qos::be, 10);
  rig.processes.lacking = Error(Code::unsupported, "no core has two threads");
  rig.on(kIdleBe);
  rig.ticks(60);
  CHECK(rig.processes.cookies().empty());
  CHECK(rig.group("kubepods/besteffort/poda/c1").idle == 1);
  CHECK(rig.report("CoreSched").status.summary ==
        "1 groups of 3 containers share cores; this machine has no core scheduling cookies: no core has two "
        "threads");
  const auto lines = rig.log.lines();
  CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
          return line.find("this machine has no core scheduling cookies") != std::string::npos;
        }) == 1);
}

TEST_CASE("Kernels with a switch are told first, and without group identity", "[koordlet][core_sched]") {
  Rig rig;
  rig.with_processes("a", Qos::ls, 10);
  rig.kernel.settings[kSwitch] = "0\n";
  rig.kernel.settings[kIdentity] = "1\n";
  SECTION("the switch is turned") {
    rig.on();
    rig.ticks(3);
    REQUIRE(rig.kernel.written.size() >= 2);
    CHECK(rig.kernel.written[0].starts_with(kIdentity + " 0"));
    CHECK(rig.kernel.written[1].starts_with(kSwitch + " 1"));
    CHECK(rig.processes.cookies().size() == 3);
    CHECK(rig.manager->cleanup(rig.inventory).has_value());
    CHECK(rig.kernel.settings[kSwitch] == "0");
    CHECK(rig.kernel.settings[kIdentity] == "1");
  }
  SECTION("another policy leaves it alone") {
    rig.off();
    rig.ticks(3);
    CHECK(rig.kernel.settings[kSwitch] == "0\n");
    CHECK(rig.processes.cookies().empty());
  }
}

TEST_CASE("Best-effort containers are idle where their class is, by one of both hooks",
          "[koordlet][core_sched]") {
  struct Row {
    const char* what;
    std::string_view policy;
    std::int64_t sched_idle, identity;
    bool flag, idle;
  };
  const Row rows[] = {
      {"schedIdle", "coreSched", 1, 0, false, true},
      {"not", "coreSched", 0, -1, false, false},
      {"the flag", "coreSched", 1, 0, true, false},
      {"of another policy", "groupIdentity", 1, 0, false, false},
      {"an identity", "groupIdentity", 1, -1, false, true},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Rig rig;
    if (row.flag) rig.set.insert("disable-cpu-idle");
    rig.with_processes("be", Qos::be, 10);
    rig.with_processes("ls", Qos::ls, 20);
    auto slo = node_slo(row.policy, kLs, kLs, {true, false, row.sched_idle});
    slo->resource_qos_strategy->be_class->cpu_qos->qos.group_identity = row.identity;
    rig.says(slo);
    rig.ticks(2);
    CHECK(rig.group("kubepods/besteffort/podbe/c1").idle == (row.idle ? 1 : 0));
    CHECK(rig.group("kubepods/besteffort/podbe").idle == 0);
    CHECK(rig.group("kubepods/besteffort").idle == 0);  // the kubelet writes its shares
    CHECK(rig.group("kubepods/burstable/podls/c1").idle == 0);
    rig.off();
    rig.ticks(2);
    CHECK(rig.group("kubepods/besteffort/podbe/c1").idle == 0);
  }
}

TEST_CASE("Cookies and what goes with them are taken back over a kill between any two writes",
          "[koordlet][core_sched][crash]") {
  Rig::kill_between_writes<Rig>(CgroupVersion::v2, [](Rig& rig) {
    rig.with_processes("a", Qos::be, 10, {.group = "g"});
    rig.with_processes("b", Qos::ls, 20, {.exclusive = true});
    rig.kernel.settings[kSwitch] = "0\n";
    rig.on(kIdleBe);
  });
}

TEST_CASE("Cookies that cannot be taken back stop no other part of a cleanup", "[koordlet][core_sched]") {
  Rig rig;
  rig.resctrl.build({0}, 0xff, {.least = 10, .step = 10, .most = 100, .ids = {}});
  rig.only({"CoreSched", "RdtResctrl"});
  const auto slo = node_slo("coreSched", kLs, kLs, kBe);
  slo->resource_qos_strategy->be_class->resctrl_qos.emplace().enable = true;
  rig.says(slo);
  rig.with_processes("a", Qos::be, 10);
  rig.ticks(2);
  REQUIRE(rig.resctrl.has("BE"));
  REQUIRE(rig.processes.cookies().size() == 3);
  rig.processes.fault = Error(Code::io, "no list of processes");
  const auto cleaned = rig.manager->cleanup(rig.inventory);
  REQUIRE_FALSE(cleaned.has_value());
  CHECK_THAT(cleaned.error().message(), Catch::Contains("no list of processes"));
  CHECK_FALSE(rig.resctrl.has("BE"));
}

}  // namespace
}  // namespace koord::koordlet
