// Hooks that are asked before a container is made: with a runtime's request in place of the kubelet's pods,
// and with answers that only a runtime can give to a container.
#include <catch2/catch.hpp>

#include "framework/hooks/reconciler.hpp"
#include "framework/hooks/requested_pod.hpp"
#include "plugins.hpp"
#include "rigs/hooks_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::Knob;
using testing::HooksRig;

constexpr std::string_view kSpec =
    R"({"containers":{"c":{"requests":{"kubernetes.io/batch-cpu":"500"},)"
    R"("limits":{"kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"1Gi"}}}})";

RuntimeRequest request() {
  RuntimeRequest request{.moment = RuntimeMoment::create_container};
  request.sandbox = {.id = "aa11",
                     .uid = "u1",
                     .ns = "ns",
                     .name = "p",
                     .labels = {{"koordinator.sh/qosClass", "BE"}, {"gpu", "2"}},
                     .annotations = {{"node.koordinator.sh/extended-resource-spec", std::string(kSpec)}},
                     .cgroup_parent = "/kubepods/besteffort/podu1"};
  request.container.emplace();
  request.container->name = "c";
  request.container->id = "bb22";
  request.container->env = {{"HOME", "/root"}};
  request.container->resources = {.cpu_period = 100'000, .cpu_quota = 50'000, .cpu_shares = 2};
  return request;
}

/// As one that shares a device might be written.
void share_device(const HookFacts&, const HookTarget& target, HookAnswer& answer) {
  if (target.level != HookLevel::container || target.pod->qos != Qos::be) return;
  answer.knobs.push_back({Knob::cpu_shares, std::int64_t{64}, "it shares a device"});
  if (target.request == nullptr || target.request->moment != RuntimeMoment::create_container) return;
  for (const RuntimePair& had : target.request->container->env)
    if (had.name == "HOME") answer.env.push_back({"DEVICE_HOME", had.value + "/.device"});
  answer.devices.push_back({.host_path = "/dev/device0", .path = "/dev/device", .permissions = "rw"});
  answer.mounts.push_back(
      {.source = "/usr/lib/device", .destination = "/lib/device", .options = {"ro", "rbind"}});
  answer.annotations.push_back({"device.example/minor", "0"});
}
constexpr Hook kHook{.audit_reason = "ShareDevice", .answer = &share_device};
constexpr StrategyEntry kShareDevice{.name = "ShareDevice",
                                     .replan = Replan::on_change,
                                     .hold = kHookHold,
                                     .needs_slo = false,
                                     .hook = &kHook,
                                     .make = &reconcile<kHook>};

/// A transport that stands before a runtime: what the table's hooks answer to a request.
HookAnswer ask(StrategyTable table, const RuntimeRequest& request, const Inventory& inventory) {
  const FeatureGates gates{koordlet::gates()};
  const HookFacts facts{.inventory = inventory,
                        .gates = gates,
                        .cgroup_version = CgroupVersion::v1,
                        .has = [](Knob) { return false; },
                        .setting = [](Knob, std::string_view) { return std::optional<std::int64_t>(); },
                        .is_set = [](std::string_view) { return false; }};
  const auto requested =
      read_request(request, inventory.driver, inventory.kubelet_root, terms_readers(strategy_table()));
  REQUIRE(requested.has_value());
  CHECK(requested->warnings.empty());
  HookAnswer answer;
  for (const StrategyEntry* row : table)
    if (row->hook != nullptr) row->hook->answer(facts, requested->target(request), answer);
  return answer;
}

TEST_CASE("A hook answers a runtime's request with env, devices, mounts and annotations",
          "[koordlet][hooks]") {
  const StrategyEntry* const table[] = {&kShareDevice};
  const HookAnswer answer = ask(table, request(), {});
  REQUIRE(answer.knobs.size() == 1);
  CHECK(answer.knobs[0].value == KnobValue(std::int64_t{64}));
  CHECK(answer.env == std::vector<RuntimePair>{{"DEVICE_HOME", "/root/.device"}});
  CHECK(answer.devices == std::vector<RuntimeDevice>{{"/dev/device0", "/dev/device", "rw"}});
  REQUIRE(answer.mounts.size() == 1);
  CHECK(answer.mounts[0].type == "bind");
  CHECK(answer.mounts[0].options == std::vector<std::string>{"ro", "rbind"});
  CHECK(answer.annotations == std::vector<RuntimePair>{{"device.example/minor", "0"}});
  // What runs already keeps what it was made with.
  RuntimeRequest later = request();
  later.moment = RuntimeMoment::update_container;
  CHECK(ask(table, later, {}).devices.empty());
  later.container.reset();
  CHECK(ask(table, later, {}).knobs.empty());
}

TEST_CASE("The reconciler sets the knobs of such a hook, and leaves the rest to a runtime",
          "[koordlet][hooks]") {
  HooksRig rig(CgroupVersion::v1);
  const StrategyEntry* const table[] = {&kShareDevice};
  rig.strategies = table;
  rig.start();
  rig.pod("p", Qos::be, {{"c"}});
  rig.ticks(2);
  CHECK(rig.kernel.written == std::vector<std::string>{"kubepods/besteffort/podp/c/cpu.shares 64"});
}

TEST_CASE("The hooks of the table answer a request as they answer the kubelet's pod", "[koordlet][hooks]") {
  Inventory inventory;
  const HookAnswer answer = ask(strategy_table(), request(), inventory);
  const auto of = [&](Knob knob) -> std::optional<KnobValue> {
    for (const HookValue& value : answer.knobs)
      if (value.knob == knob) return value.value;
    return std::nullopt;
  };
  CHECK(of(Knob::cpu_shares) == KnobValue(std::int64_t{512}));
  CHECK(of(Knob::cpu_quota) == KnobValue(std::int64_t{100'000}));
  CHECK(of(Knob::memory_limit) == KnobValue(std::int64_t{1} << 30));
  CHECK(answer.env.empty());
  CHECK(answer.devices.empty());
}

TEST_CASE("A pod as a request has it", "[koordlet][hooks]") {
  struct Row {
    const char* parent;
    host::CgroupDriver driver;
    const char* group;  // of the container
    const char* sandbox_group;
  };
  const Row rows[] = {
      {"/kubepods/besteffort/podu1", host::CgroupDriver::cgroupfs, "kubepods/besteffort/podu1/bb22",
       "kubepods/besteffort/podu1/aa11"},
      {"/kubepods/podu1", host::CgroupDriver::cgroupfs, "kubepods/podu1/bb22", "kubepods/podu1/aa11"},
      {"kubepods-burstable-podu1.slice", host::CgroupDriver::systemd,
       "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu1.slice/cri-containerd-bb22.scope",
       "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu1.slice/cri-containerd-aa11.scope"},
  };
  for (const Row& row : rows) {
    RuntimeRequest asked = request();
    asked.sandbox.cgroup_parent = row.parent;
    const auto requested = read_request(asked, row.driver, {}, terms_readers(strategy_table()));
    REQUIRE(requested.has_value());
    CHECK(requested->pod->ns == "ns");
    CHECK(requested->pod->qos == Qos::be);
    CHECK(requested->pod->sandbox_group == row.sandbox_group);
    REQUIRE(requested->container != nullptr);
    CHECK(requested->container->group == row.group);
    CHECK(requested->container->cpu_limit_milli == 500);
    CHECK_FALSE(requested->container->memory_limit.has_value());
    CHECK(requested->target(asked).level == HookLevel::container);
    CHECK(requested->target(asked).group == row.group);
  }
  RuntimeRequest odd = request();
  odd.container->id.clear();
  odd.container->resources = {
      .cpu_period = -1, .cpu_quota = INT64_MAX, .cpu_shares = INT64_MAX, .memory_limit = -1};
  odd.sandbox.annotations = {{"node.koordinator.sh/extended-resource-spec", "{"}};
  auto requested = read_request(odd, host::CgroupDriver::cgroupfs, {}, terms_readers(strategy_table()));
  REQUIRE(requested.has_value());
  CHECK(requested->warnings.size() == 1);
  CHECK(requested->container->group.empty());
  CHECK_FALSE(requested->container->cpu_limit_milli.has_value());
  odd.sandbox.uid = "../x";
  CHECK(read_request(odd, host::CgroupDriver::cgroupfs, {}, terms_readers(strategy_table())).error().code() ==
        Code::invalid);
}

}  // namespace
}  // namespace koord::koordlet
