// The desk: what a runtime's request is answered, whoever brings it.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>

#include "framework/hooks/reconciler.hpp"
#include "framework/objects/pod_info.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "rigs/desk_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::CpuSet;
using host::Knob;
using testing::birth;
using testing::DeskRig;
using testing::sandbox_of;

constexpr const char* kBurstable = "/kubepods/burstable/podu1";
constexpr const char* kBestEffort = "/kubepods/besteffort/podu1";
constexpr const char* kGuaranteed = "/kubepods/podu1";
constexpr std::string_view kStatus = "scheduling.koordinator.sh/resource-status";
constexpr std::string_view kExtended = "node.koordinator.sh/extended-resource-spec";
constexpr std::string_view kClass = "koordinator.sh/qosClass";

RuntimeRequest with(RuntimeRequest request, std::string_view qos, std::string_view annotation = {},
                    std::string_view value = {}) {
  if (!qos.empty()) request.sandbox.labels.push_back({std::string(kClass), std::string(qos)});
  if (!annotation.empty())
    request.sandbox.annotations.push_back({std::string(annotation), std::string(value)});
  return request;
}

std::string text(const Verdict& verdict) {
  const RuntimeSettings& s = verdict.settings;
  const auto number = [](const std::optional<std::int64_t>& n) { return n ? std::to_string(*n) : "-"; };
  return fmt::format("{} {} {} {}", s.cpuset_cpus.value_or("-"), number(s.cpu_quota), number(s.cpu_shares),
                     number(s.memory_limit));
}

TEST_CASE("A container's birth, as the original's rows have it", "[koordlet][hooks][desk]") {
  struct Row {
    std::string_view what, qos;
    const char* parent;
    std::string_view annotation, value;
    std::int64_t quota;  // of the request
    double ratio;
    std::string answer;  // CPUs, quota, shares, memory
  };
  const std::string batch =
      R"({"containers":{"c":{"requests":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"2Gi"},)"
      R"("limits":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"2Gi"}}}})";
  const std::string other =
      R"({"containers":{"d":{"requests":{"kubernetes.io/batch-cpu":"500"},"limits":{}}}})";
  const std::string open = R"({"containers":{"c":{"requests":{"kubernetes.io/batch-cpu":"500"}}}})";
  const Row rows[] = {
      // cpuset_test: SetContainerCPUSet, UnsetContainerCPUQuota
      {"by bad pod allocated format", "LSR", kGuaranteed, kStatus, "bad-format", 0, 1, "0-15 - - -"},
      {"by pod allocated", "", kGuaranteed, kStatus, R"({"cpuset":"2-4"})", 300'000, 1, "2-4 -1 - -"},
      {"LSR", "LSR", kGuaranteed, kStatus, R"({"cpuset":"2-4"})", 300'000, 1, "2-4 -1 - -"},
      {"LSE", "LSE", kGuaranteed, kStatus, R"({"cpuset":"0-3"})", 0, 1, "0-3 -1 - -"},
      {"LS keeps its quota", "LS", kBurstable, kStatus, R"({"cpuset":"2-4"})", 300'000, 1, "2-4 - - -"},
      {"system pod, by the share pool", "SYSTEM", kBurstable, "", "", 0, 1, "0-15 - - -"},
      {"allocated share pool", "", kBurstable, kStatus,
       R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"2"}}]})", 0, 1, "0-7 - - -"},
      {"origin besteffort pod", "", kBestEffort, "", "", 0, 1, "- - - -"},
      // batch_resource_test: SetContainerResources
      {"not a batch container", "LS", kBurstable, kExtended, batch, 0, 1, "0-15 - - -"},
      {"without requests", "BE", kBestEffort, "", "", 0, 1, "- - - -"},
      {"requests not matched", "BE", kBestEffort, kExtended, other, 0, 1, "- - - -"},
      {"requests", "BE", kBestEffort, kExtended, batch, 0, 1, "- 50000 512 2147483648"},
      {"no limits", "BE", kBestEffort, kExtended, open, 0, 1, "- -1 512 -1"},
      {"scaled by ratio", "BE", kBestEffort, kExtended, batch, 0, 1.2, "- 41667 512 2147483648"},
      // cpu_normalization: a quota of the request
      {"normalized", "LS", kBurstable, "", "", 120'000, 1.2, "0-15 100000 - -"},
      {"no quota, nothing to normalize", "LS", kBurstable, "", "", 0, 1.2, "0-15 - - -"},
      {"slower CPUs", "LS", kBurstable, "", "", 120'000, 0.8, "0-15 - - -"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    DeskRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
    REQUIRE(rig.gates.set("CPUNormalization=true").has_value());
    rig.inventory.node.cpu_normalization = row.ratio;
    rig.open();
    RuntimeRequest request = with(birth("u1", row.parent), row.qos, row.annotation, row.value);
    if (row.quota != 0) request.container->resources.cpu_quota = row.quota;
    for (const Transport transport : {Transport::nri, Transport::hook_server})
      CHECK(text(rig.ask(request, transport)) == row.answer);
    // An update is answered as the birth is: what runs already gets what it lacks.
    request.moment = RuntimeMoment::update_container;
    CHECK(text(rig.ask(request)) == row.answer);
  }
}

TEST_CASE("A flag leaves the quotas of those who have CPUs of their own", "[koordlet][hooks][desk]") {
  DeskRig rig;
  rig.set.insert("disable-unset-cpu-quota");
  const auto request = with(birth("u1", kGuaranteed), "LSR", kStatus, R"({"cpuset":"2-4"})");
  CHECK(text(rig.ask(request)) == "2-4 - - -");
}

TEST_CASE("CPUs that others have are not among those that are shared", "[koordlet][hooks][desk]") {
  DeskRig rig;
  rig.pod("other", Qos::lsr, {}).cpus = *CpuSet::parse("2-4");
  rig.publish();
  CHECK(text(rig.ask(with(birth("u1", kBurstable), "LS"))) == "0-1,5-15 - - -");
  // The kubelet owns the files where it pins containers.
  rig.inventory.node.static_cpu_policy = true;
  rig.publish();
  CHECK(text(rig.ask(with(birth("u1", kBurstable), "LS"))) == "- - - -");
}

TEST_CASE("A sandbox's own values are a proxy's; the pod's are written when its group is known",
          "[koordlet][hooks][desk]") {
  DeskRig rig;
  rig.kernel.has_bvt = true;
  auto slo = std::make_shared<api::NodeSloSpec>();
  auto& be = slo->resource_qos_strategy.emplace().be_class.emplace();
  be.cpu_qos.emplace().enable = true;
  be.cpu_qos->qos.group_identity = -1;
  rig.inventory.slo = slo;
  ++rig.inventory.generation;
  rig.publish();
  const auto request = sandbox_of(with(birth("u1", kBestEffort), "BE"));
  const Verdict verdict = rig.ask(request, Transport::hook_server);
  CHECK(verdict.unchanged());
  REQUIRE(verdict.later.size() == 1);
  CHECK(verdict.later[0].knob == Knob::cpu_bvt);
  CHECK(verdict.later[0].value == KnobValue(std::int64_t{-1}));
  CHECK(verdict.later[0].group == "kubepods/besteffort/podu1");
  CHECK(verdict.later[0].strategy == "GroupIdentity");
  const auto pinned = sandbox_of(with(birth("u1", kGuaranteed), "LSR", kStatus, R"({"cpuset":"2-4"})"));
  CHECK(text(rig.ask(pinned, Transport::hook_server)) == "2-4 -1 - -");
  CHECK(rig.ask(pinned, Transport::nri).unchanged());  // which cannot change a sandbox
  CHECK(rig.ask(pinned, Transport::nri).later.size() == 4);
}

/// As one that shares a device might be written.
void share_device(const HookFacts&, const HookTarget& target, HookAnswer& answer) {
  if (target.level != HookLevel::container) return;
  answer.knobs.push_back({Knob::cpuset_cpus, *CpuSet::parse("7"), "beside its device"});
  answer.knobs.push_back({Knob::cpu_burst, std::int64_t{1000}, "it comes in bursts"});
  answer.env.push_back({"DEVICE", "0"});
  answer.devices.push_back({.host_path = "/dev/device0"});
  answer.mounts.push_back({.source = "/usr/lib/device", .destination = "/lib/device", .options = {"ro"}});
  answer.annotations.push_back({"device.example/minor", "0"});
}
constexpr Hook kDevice{.audit_reason = "ShareDevice", .answer = &share_device};
void share_another(const HookFacts& facts, const HookTarget& target, HookAnswer& answer) {
  share_device(facts, target, answer);
  for (RuntimePair& pair : answer.env) pair.value = "1";
  answer.knobs.front().value = *CpuSet::parse("8");
}
constexpr Hook kOther{.audit_reason = "ShareAnother", .answer = &share_another};
constexpr StrategyEntry kShareDevice{.name = "ShareDevice", .hook = &kDevice};
constexpr StrategyEntry kShareAnother{.name = "ShareAnother", .hook = &kOther};
constexpr std::string_view kUnknownGate[] = {"Accelerators"};
constexpr StrategyEntry kGated{.name = "Gated", .gates = kUnknownGate, .hook = &kDevice};

TEST_CASE("What a transport cannot carry is left to the reconciler, or to nobody",
          "[koordlet][hooks][desk]") {
  DeskRig rig;
  rig.asked = {&kShareDevice};
  rig.open();
  const Verdict nri = rig.ask(birth("u1", kBurstable), Transport::nri);
  CHECK(nri.settings.cpuset_cpus == "7");
  CHECK(nri.env == std::vector<RuntimePair>{{"DEVICE", "0"}});
  CHECK(nri.annotations.size() == 1);
  CHECK(nri.devices.size() == 1);
  CHECK(nri.mounts.size() == 1);
  REQUIRE(nri.later.size() == 1);
  CHECK(nri.later[0].knob == Knob::cpu_burst);
  CHECK(nri.later[0].group.empty());  // it has no id yet
  const Verdict proxy = rig.ask(birth("u1", kBurstable), Transport::hook_server);
  CHECK(proxy.settings.cpuset_cpus == "7");
  CHECK(proxy.env.size() == 1);
  CHECK(proxy.devices.empty());
  CHECK(proxy.mounts.empty());
  RuntimeRequest update = birth("u1", kBurstable);
  update.moment = RuntimeMoment::update_container;
  update.container->id = "bb22";
  const Verdict later = rig.ask(update, Transport::nri);
  CHECK(later.settings.cpuset_cpus == "7");
  CHECK(later.env.empty());
  CHECK(later.devices.empty());
  REQUIRE(later.later.size() == 1);
  CHECK(later.later[0].group == "kubepods/burstable/podu1/bb22");
  for (const CarriageRow& row : carriage_table())
    for (const RuntimeMoment moment : {RuntimeMoment::start_container, RuntimeMoment::stop_sandbox})
      CHECK_FALSE(carries(Transport::nri, row.cargo, moment));
}

TEST_CASE(
    "Complaint 2334: of two that want a container's CPUs the one that stands earlier in the table has "
    "them",
    "[koordlet][hooks][desk]") {
  for (const bool first : {true, false}) {
    DeskRig rig;
    rig.asked =
        first ? std::vector{&kShareDevice, &kShareAnother} : std::vector{&kShareAnother, &kShareDevice};
    rig.open();
    const Verdict verdict = rig.ask(birth("u1", kBurstable));
    CHECK(verdict.settings.cpuset_cpus == (first ? "7" : "8"));
    CHECK(verdict.env == std::vector<RuntimePair>{{"DEVICE", first ? "0" : "1"}});
    CHECK(verdict.devices.size() == 1);
    CHECK(verdict.mounts.size() == 1);
    CHECK(verdict.later.size() == 1);
  }
}

TEST_CASE("Hooks that are off, on trial or out of their stage are not asked", "[koordlet][hooks][desk]") {
  DeskRig rig;
  rig.asked = {&kGated};
  rig.open();
  CHECK(rig.ask(birth("u1", kBurstable)).unchanged());
  CHECK(rig.desk->stages().empty());
  rig.asked = {&kShareDevice};
  rig.open({.dry_run = {"ShareDevice"}});
  CHECK(rig.ask(birth("u1", kBurstable)).unchanged());
  rig.open({.disabled_stages = {"PreCreateContainer", "PostStartContainer"}});
  CHECK(rig.ask(birth("u1", kBurstable)).unchanged());
  CHECK(rig.desk->stages() ==
        std::vector<std::string_view>{"PreRunPodSandbox", "PreUpdateContainerResources"});
  CHECK_FALSE(rig.desk->asked_at(RuntimeMoment::create_container));
  CHECK_FALSE(rig.desk->asked_at(RuntimeMoment::start_container));
  CHECK(rig.desk->asked_at(RuntimeMoment::update_container));
  const auto unknown = rig.make({.disabled_stages = {"PreCreate"}});
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().message().starts_with("\"PreCreate\" is no stage of PreRunPodSandbox, "));
}

TEST_CASE("What is not known yet is not said; with Fail a pod that may need it is refused",
          "[koordlet][hooks][desk]") {
  struct Row {
    std::string_view lacks;
    bool pods, slo, cpus;
  };
  const Row rows[] = {{"the node's pods", false, true, true},
                      {"the NodeSLO", true, false, true},
                      {"the machine's CPUs", true, true, false},
                      {"the node's pods, the NodeSLO, the machine's CPUs", false, false, false}};
  for (const Row& row : rows) {
    INFO(row.lacks);
    DeskRig rig;
    rig.inventory.pods_known = row.pods;
    rig.inventory.slo_known = row.slo;
    if (!row.cpus) rig.topology = nullptr;
    rig.publish();
    CHECK(rig.desk->missing() == row.lacks);
    const RuntimeRequest plain = birth("u1", kBurstable);
    const RuntimeRequest ls = with(birth("u1", kBurstable), "LS");
    const RuntimeRequest lsr = with(birth("u1", kGuaranteed), "LSR", kStatus, R"({"cpuset":"2-4"})");
    // CPUs of its own need nobody's word.
    CHECK(text(rig.ask(lsr)) == "2-4 -1 - -");
    CHECK(text(rig.ask(ls)) == (row.pods && row.cpus ? "0-15 - - -" : "- - - -"));
    CHECK(rig.ask(ls).warnings.size() == 1);
    CHECK(rig.ask(plain).warnings.empty());
    rig.open({.fail = true});
    const auto refused = rig.desk->answer(lsr, Transport::nri);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code() == Code::unavailable);
    CHECK(refused.error().message() ==
          fmt::format("pod ns/p: the node agent does not know yet: {}", row.lacks));
    CHECK(rig.desk->answer(plain, Transport::nri).has_value());
  }
}

TEST_CASE("Bad requests cost themselves alone", "[koordlet][hooks][desk]") {
  DeskRig rig;
  RuntimeRequest odd = with(birth("../../x", kBurstable), "LS");
  CHECK(rig.ask(odd).unchanged());
  CHECK(rig.ask(odd).warnings.size() == 1);
  odd.container.reset();  // of no container
  CHECK(rig.ask(odd).unchanged());
  odd.sandbox.uid.clear();
  CHECK(rig.ask(odd).unchanged());
  CHECK(rig.ask(birth("", "")).unchanged());
  RuntimeRequest huge = with(birth("u1", kBestEffort), "BE");
  for (int i = 0; i < 2000; ++i)
    huge.sandbox.annotations.push_back({fmt::format("a{}", i), std::string(100, 'x')});
  huge.container->resources = {.cpu_period = -1, .cpu_quota = INT64_MAX, .cpu_shares = INT64_MIN};
  CHECK(rig.ask(huge).warnings.empty());
  const auto far = with(birth("u1", kGuaranteed), "LSR", kStatus, R"({"cpuset":"2-4,100"})");
  CHECK(text(rig.ask(far)) == "2-4 -1 - -");
  CHECK(rig.ask(far).warnings == std::vector<std::string>{"of its CPUs 2-4,100 this node has only 2-4"});
  const auto none = with(birth("u1", kGuaranteed), "LSR", kStatus, R"({"cpuset":"100"})");
  CHECK(text(rig.ask(none)) == "- -1 - -");
  rig.open({.fail = true});
  const auto refused = rig.desk->answer(with(birth("../../x", kBurstable), "LS"), Transport::nri);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == Code::invalid);
  CHECK(rig.desk->answer(birth("../../x", kBurstable), Transport::nri).has_value());
}

TEST_CASE("A quota comes with the period that it is of", "[koordlet][hooks][desk]") {
  DeskRig rig;
  REQUIRE(rig.gates.set("CPUNormalization=true").has_value());
  rig.inventory.node.cpu_normalization = 2;
  rig.open();
  RuntimeRequest request = with(birth("u1", kBurstable), "LS");
  request.container->resources.cpu_quota = 100'000;
  for (const std::int64_t said : {50'000, 0, 100'000}) {  // 0: none, and the group may have any
    request.container->resources.cpu_period = said > 0 ? std::optional(said) : std::nullopt;
    const Verdict verdict = rig.ask(request);
    CHECK(verdict.settings.cpu_quota == (said == 50'000 ? 100'000 : 50'000));
    CHECK(verdict.settings.cpu_period.value_or(0) == (said == 100'000 ? 0 : 100'000));
  }
}

TEST_CASE("OOM scores are given at birth to pods that the agent knows", "[koordlet][hooks][desk]") {
  DeskRig rig;
  REQUIRE(rig.gates.set("OOMScoreAdj=true").has_value());
  rig.strategies = strategy_table();
  HookTerms terms;
  terms.oom_score = -500;
  PodInfo& known = rig.pod("u1", Qos::ls, {}, terms);
  rig.open();
  CHECK(rig.ask(birth("u1", kBurstable)).settings.oom_score_adj == -500);
  RuntimeRequest update = birth("u1", kBurstable);
  update.moment = RuntimeMoment::update_container;
  CHECK_FALSE(rig.ask(update).settings.oom_score_adj.has_value());
  known.never_stop = "a static pod";
  rig.publish();
  CHECK_FALSE(rig.ask(birth("u1", kBurstable)).settings.oom_score_adj.has_value());
  const auto unknown = with(birth("u2", kBurstable), "LS", "koordinator.sh/oom-score-adj", "-500");
  CHECK_FALSE(rig.ask(unknown).settings.oom_score_adj.has_value());
}

TEST_CASE("Requests are counted by what became of them", "[koordlet][hooks][desk]") {
  DeskRig rig;
  rig.ask(with(birth("u1", kBurstable), "LS"), Transport::hook_server);
  rig.ask(birth("u2", kBestEffort), Transport::nri);
  RuntimeRequest update = with(birth("u1", kBurstable), "LS");
  CHECK_FALSE(rig.desk->last_update().has_value());
  update.moment = RuntimeMoment::update_container;
  rig.ask(update);
  CHECK(rig.desk->last_update() == rig.clock.mono());
  const std::string shown = rig.desk_metrics.exposition();
  const auto has = [&](std::string_view line) { return shown.find(line) != std::string::npos; };
  CHECK(has(
      R"(koordlet_runtime_requests_total{transport="hook server",stage="PreCreateContainer",outcome="changed"} 1)"));
  CHECK(has(
      R"(koordlet_runtime_requests_total{transport="NRI",stage="PreCreateContainer",outcome="unchanged"} 1)"));
  CHECK(has(
      R"(koordlet_runtime_hook_invoked_duration_milliseconds_count{hook="CPUSetAllocator",stage="PreCreateContainer",status="succeeded"} 2)"));
}

TEST_CASE("What a container was born with goes back to what it would have had, as what was written does",
          "[koordlet][hooks][desk]") {
  DeskRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  const bool v2 = rig.kernel.version() == CgroupVersion::v2;
  rig.only({"BatchResource", "CPUSetAllocator", "CPUNormalization"});
  PodInfo& pod = rig.pod("u1", Qos::lsr, {});
  pod.cpus = *CpuSet::parse("2-4");
  rig.open();
  RuntimeRequest request = birth("u1", kGuaranteed);
  request.container->resources.cpu_quota = 300'000;
  CHECK(text(rig.ask(request)) == "2-4 -1 - -");
  CHECK(rig.desk->born().empty());  // the agent does not know it yet
  rig.run(pod, {.name = "c", .limit = 3000});
  auto& group = rig.group(pod.containers[0].group);
  group.quota = -1;  // as the runtime made it
  group.cpus = *CpuSet::parse("2-4");
  rig.publish();
  const auto born = rig.desk->born();
  REQUIRE(born.size() == 2);
  CHECK(rig.desk->born().empty());
  CHECK(rig.manager->note_given(born).has_value());
  rig.ticks(2);
  CHECK(rig.kernel.cpus(pod.containers[0].group) == "2-4");
  CHECK(group.quota == -1);
  const auto cleaned = rig.manager->cleanup(rig.inventory);
  INFO((cleaned ? "" : cleaned.error().message()));
  CHECK(cleaned.has_value());
  CHECK(group.quota == 300'000);
  CHECK(rig.kernel.cpus(pod.containers[0].group) == (v2 ? "" : "0-15"));
}

TEST_CASE("What a container was born with is known to the next agent, wherever this one dies",
          "[koordlet][hooks][desk]") {
  const koord::testing::Tree tree{{}};
  DeskRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  const bool v2 = rig.kernel.version() == CgroupVersion::v2;
  rig.only({"BatchResource", "CPUSetAllocator", "CPUNormalization"});
  PodInfo& pod = rig.pod("u1", Qos::lsr, {});
  pod.cpus = *CpuSet::parse("2-4");
  Desk::Options options;
  options.births = {.path = tree / "births", .boot_id = "boot"};
  rig.open(options);
  RuntimeRequest request = birth("u1", kGuaranteed);
  request.container->resources.cpu_quota = 300'000;
  CHECK(text(rig.ask(request)) == "2-4 -1 - -");
  RuntimeRequest other = request;
  other.container->name = "c\t\nx";  // which is no name, and takes no other's row
  rig.ask(other);
  CHECK(rig.bears == 2);
  REQUIRE(rig.desk->births().save().has_value());

  enum class Dies { before_it_knows, after_the_journal, never };
  const Dies dies = GENERATE(Dies::before_it_knows, Dies::after_the_journal, Dies::never);
  const auto next = [&] {
    rig.start();
    rig.open(options);
    REQUIRE(rig.desk->births().load(rig.clock.mono()).has_value());
  };
  const auto pinned = [&] { return rig.kernel.cpus(pod.containers[0].group) == "2-4"; };
  if (dies == Dies::before_it_knows) next();
  rig.run(pod, {.name = "c", .limit = 3000});
  auto& group = rig.group(pod.containers[0].group);
  group.quota = -1;  // as the runtime made it
  group.cpus = *CpuSet::parse("2-4");
  rig.publish();
  if (dies == Dies::before_it_knows) next();
  auto born = rig.desk->born();
  CHECK(born.size() == 2);
  CHECK(rig.manager->note_given(born).has_value());
  if (dies == Dies::after_the_journal) {
    next();
    rig.inventory.pods_known = false;  // the kubelet is slow
    rig.ticks(3);
    CHECK(pinned());
    rig.inventory.pods_known = true;
    born = rig.desk->born();
    CHECK(born.size() == 2);
    CHECK(rig.manager->note_given(born).has_value());
  }
  CHECK(rig.desk->births().save().has_value());
  rig.ticks(2);
  CHECK(pinned());
  CHECK(group.quota == -1);
  next();
  CHECK(rig.desk->born().empty());
  rig.ticks(2);
  CHECK(pinned());
  CHECK(rig.manager->cleanup(rig.inventory).has_value());
  CHECK(group.quota == 300'000);
  CHECK(rig.kernel.cpus(pod.containers[0].group) == (v2 ? "" : "0-15"));
}

TEST_CASE("A file of births that is none is told, and costs nothing", "[koordlet][hooks][desk]") {
  koord::testing::Tree tree{{}};
  Births births({.path = tree / "births", .boot_id = "boot"});
  for (const char* rows : {"nonsense\n", "koord-births 1 boot\ncpu.shares\tS\t2\n",
                           "koord-births 1 boot\ncpuset.cpus\tS\t0-\t0\tu\t\tc\n"}) {
    tree.write("births", rows);
    CHECK_FALSE(births.load(MonoTime{}).has_value());
    CHECK(births.known(std::make_shared<const Inventory>(), MonoTime{}).empty());
  }
  CHECK(births.save().has_value());
  CHECK(births.load(MonoTime{}).has_value());
}

TEST_CASE("A container that was there before is not the one that was made", "[koordlet][hooks][desk]") {
  DeskRig rig;
  PodInfo& pod = rig.pod("u1", Qos::lsr, {{.name = "c"}});
  pod.cpus = *CpuSet::parse("2-4");
  rig.open();
  rig.ask(birth("u1", kGuaranteed));
  rig.publish();
  CHECK(rig.desk->born().empty());
  pod.containers[0].id = "another";
  rig.publish();
  CHECK(rig.desk->born().size() == 2);
  rig.ask(birth("u1", kGuaranteed));
  rig.clock.advance(std::chrono::minutes(11));  // it never came
  pod.containers.clear();
  rig.publish();
  CHECK(rig.desk->born().empty());
}

/// What the kubelet knows of a pod with the container "c", as an object and as its runtime's request.
struct Both {
  std::shared_ptr<api::Pod> pod = std::make_shared<api::Pod>();
  RuntimeRequest request;
};

/// As the kubelet writes what it gets from the scheduler into both.
Both random_pod(std::mt19937& random, int number) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::string uid = fmt::format("u{}", number);
  static constexpr const char* kClasses[] = {"LSE", "LSR", "LS", "BE", "SYSTEM", "", "nonsense"};
  const std::string qos = kClasses[below(7)];
  const bool best_effort = qos == "BE" || below(4) == 0;
  Both both;
  both.request = birth(uid, fmt::format("/kubepods/{}/pod{}", best_effort ? "besteffort" : "burstable", uid));
  both.request.sandbox.name = uid;
  both.request.container->id = fmt::format("c{}", number);
  if (!qos.empty()) both.request.sandbox.labels.push_back({std::string(kClass), qos});
  switch (below(4)) {
    case 0:
      both.request.sandbox.annotations.push_back(
          {std::string(kStatus), fmt::format(R"({{"cpuset":"{}-{}"}})", below(8), 8 + below(8))});
      break;
    case 1:
      both.request.sandbox.annotations.push_back(
          {std::string(kStatus),
           fmt::format(R"({{"numaNodeResources":[{{"node":{},"resources":{{"cpu":"2"}}}}]}})", below(3))});
      break;
    case 2: both.request.sandbox.annotations.push_back({std::string(kStatus), "nonsense"}); break;
    default: break;
  }
  if (below(2) == 0)
    both.request.sandbox.annotations.push_back(
        {std::string(kExtended),
         fmt::format(
             R"({{"containers":{{"c":{{"requests":{{"kubernetes.io/batch-cpu":"{0}"}},)"
             R"("limits":{{"kubernetes.io/batch-cpu":"{0}","kubernetes.io/batch-memory":"{1}Mi"}}}}}}}})",
             1 + below(4000), 1 + below(4000))});
  if (!best_effort && below(2) == 0) {
    both.request.container->resources.cpu_period = 100'000;
    both.request.container->resources.cpu_quota = 100LL * (10 + below(8000));
  }
  api::Pod& pod = *both.pod;
  pod.metadata.uid = uid;
  pod.metadata.namespace_ = Symbol("ns");
  pod.metadata.name = uid;
  for (const auto& [name, value] : both.request.sandbox.labels) pod.metadata.labels[name] = Symbol(value);
  for (const auto& [name, value] : both.request.sandbox.annotations)
    pod.metadata.annotations[name] = Symbol(value);
  pod.status.phase = Symbol("Running");
  pod.status.qos_class = Symbol(best_effort ? "BestEffort" : "Burstable");
  api::Container container;
  container.name = Symbol("c");
  if (const auto quota = both.request.container->resources.cpu_quota)
    container.resources.limits["cpu"] = api::Quantity::from_milli(*quota / 100);
  pod.spec.containers.push_back(container);
  api::ContainerStatus status;
  status.name = Symbol("c");
  status.container_id = fmt::format("containerd://{}", both.request.container->id);
  status.state.running.emplace();
  pod.status.container_statuses.push_back(status);
  return both;
}

TEST_CASE(
    "A container has the same by the reconciler, by NRI and by the hook server, whether the agent knows "
    "its pod or not",
    "[koordlet][hooks][desk]") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 9)));
  INFO(seed);
  std::mt19937 random(seed);
  DeskRig rig(seed % 2 == 0 ? CgroupVersion::v1 : CgroupVersion::v2);
  REQUIRE(rig.gates.set("CPUNormalization=true").has_value());
  rig.only({"BatchResource", "CPUSetAllocator", "CPUNormalization"});
  rig.inventory.node.cpu_normalization = seed % 3 == 0 ? 1.25 : 1;
  if (seed % 4 == 0) rig.inventory.node.system_qos_pool = *CpuSet::parse("14-15");
  std::vector<RuntimeRequest> requests;
  const auto readers = terms_readers(strategy_table());
  for (int i = 0; i < 30; ++i) {
    Both both = random_pod(random, i + 10);
    auto read = read_pod(both.pod, host::CgroupDriver::cgroupfs, {}, readers);
    REQUIRE(read.has_value());
    PodInfo& info = read->info;
    REQUIRE(info.containers.size() == 1);
    auto& group = rig.kernel.group(info.group);
    auto& made = rig.kernel.group(info.containers[0].group);
    group.quota = made.quota = both.request.container->resources.cpu_quota.value_or(-1);
    group.shares = made.shares = 2;
    group.cpus = made.cpus = rig.topology->online;
    if (rig.kernel.version() == CgroupVersion::v2) group.memory = made.memory = "max";
    rig.inventory.all_pods.push_back(std::make_shared<const PodInfo>(std::move(info)));
    rig.inventory.pods.push_back(rig.inventory.all_pods.back());
    rig.container_usage.emplace_back();
    rig.pod_usage.emplace_back();
    requests.push_back(std::move(both.request));
  }
  ++rig.inventory.generation;
  rig.open();
  rig.ticks(2);
  std::size_t changed = 0;
  for (const RuntimeRequest& request : requests) {
    const auto& uid = request.sandbox.uid;
    const auto pod = std::ranges::find(rig.inventory.all_pods, uid, &PodInfo::uid);
    INFO(text(rig.ask(request)));
    const auto& held = rig.kernel.group((*pod)->containers[0].group);
    RuntimeRequest stranger = request;
    stranger.sandbox.uid = "stranger-" + uid;
    for (const Transport transport : {Transport::nri, Transport::hook_server})
      for (const RuntimeRequest* one : std::initializer_list<const RuntimeRequest*>{&request, &stranger}) {
        const Verdict verdict = rig.ask(*one, transport);
        const RuntimeSettings& settings = verdict.settings;
        changed += verdict.unchanged() ? 0 : 1;
        CHECK(settings.cpu_quota.value_or(request.container->resources.cpu_quota.value_or(-1)) == held.quota);
        const std::int64_t shares = settings.cpu_shares.value_or(2);
        const bool weights = settings.cpu_shares && rig.kernel.version() == CgroupVersion::v2;
        CHECK((weights ? host::shares_to_weight(shares) : shares) == held.shares);
        CHECK(settings.cpuset_cpus.value_or(rig.topology->online.to_string()) == held.cpus.to_string());
        if (settings.memory_limit.value_or(-1) > 0)
          CHECK(std::to_string(*settings.memory_limit) == held.memory);
        CHECK(verdict.later.empty());
      }
  }
  CHECK(changed > requests.size());
}

}  // namespace
}  // namespace koord::koordlet
