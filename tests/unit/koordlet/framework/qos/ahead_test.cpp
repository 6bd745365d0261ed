// Values that are written before their strategies know of the pod: in force at once, noted, and not for ever.
#include <catch2/catch.hpp>

#include "rigs/hooks_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::Knob;
using testing::HooksRig;

const std::string kPod = "kubepods/besteffort/podnew";

HookTerms asks(std::int64_t milli) {
  HookTerms terms;
  const LentResources lent{.cpu_request = milli, .cpu_limit = milli, .memory_limit = {}};
  terms.lent = lent;
  terms.lent_to.emplace("c", lent);
  return terms;
}

std::vector<Ahead::Value> values() {
  return {{Knob::cpu_shares, kPod, std::int64_t{512}, "BatchResource", "what it asks for"},
          {Knob::cpu_quota, kPod, std::int64_t{50'000}, "BatchResource", "what it asks for"}};
}

/// The kubelet has made the pod's group, and nobody knows of it yet.
void make(HooksRig& rig) {
  auto& group = rig.kernel.group(kPod);
  group.shares = 2;
  group.quota = -1;
  group.cpus = rig.topology->online;
}

TEST_CASE("Values of a new pod are in force at once, and stay until the agent knows it",
          "[koordlet][hooks]") {
  HooksRig rig(CgroupVersion::v1);
  rig.ticks(2);
  make(rig);
  REQUIRE(rig.manager->write_ahead(values()).has_value());
  CHECK((rig.group(kPod).shares == 512 && rig.group(kPod).quota == 50'000));
  rig.ticks(2);
  rig.pod("other", Qos::ls, {{"c"}});  // another shape of what is decided: orphans are looked for
  rig.ticks(5);
  CHECK((rig.group(kPod).shares == 512 && rig.group(kPod).quota == 50'000));
  const auto quota = rig.group(kPod).quota;
  rig.pod("new", Qos::be, {{"c"}}, asks(500));  // the kubelet's writes are undone by this rig: not here
  rig.group(kPod).shares = 512;
  rig.group(kPod).quota = quota;
  rig.ticks(60);
  CHECK((rig.group(kPod).shares == 512 && rig.group(kPod).quota == 50'000));
  // What the kubelet wrote is what the group is set free to.
  REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  CHECK((rig.group(kPod).shares == 2 && rig.group(kPod).quota == -1));
}

TEST_CASE("What no strategy wants of it after half a minute is set free", "[koordlet][hooks]") {
  HooksRig rig(CgroupVersion::v1);
  make(rig);
  rig.ticks(1);
  REQUIRE(rig.manager->write_ahead(values()).has_value());
  rig.ticks(32);
  rig.pod("other", Qos::ls, {{"c"}});
  rig.ticks(3);
  CHECK((rig.group(kPod).shares == 2 && rig.group(kPod).quota == -1));
}

TEST_CASE("What an agent wrote ahead and died stays while the next one learns of the pod, not for ever",
          "[koordlet][hooks]") {
  const koord::testing::Tree tree{{}};
  HooksRig rig(CgroupVersion::v1, tree / "journal");
  make(rig);
  rig.ticks(1);
  REQUIRE(rig.manager->write_ahead(values()).has_value());
  rig.start();
  bool told = false;
  SECTION("the kubelet tells of it late") { told = true; }
  SECTION("it never does") {}
  SECTION("the pods are not known for long") {
    rig.inventory.pods_known = false;
    rig.ticks(60);
    rig.inventory.pods_known = true;
    ++rig.inventory.generation;
  }
  rig.ticks(25);
  CHECK((rig.group(kPod).shares == 512 && rig.group(kPod).quota == 50'000));
  if (told) {
    rig.pod("new", Qos::be, {{"c"}}, asks(500));
    rig.group(kPod).shares = 512;  // the rig makes the group anew, the kubelet does not
    rig.group(kPod).quota = 50'000;
  }
  rig.ticks(30);
  CHECK(rig.group(kPod).shares == (told ? 512 : 2));
  CHECK(rig.group(kPod).quota == (told ? 50'000 : -1));
}

TEST_CASE("A pinned container of which the next agent learns late is never on other CPUs",
          "[koordlet][hooks]") {
  const koord::testing::Tree tree{{}};
  HooksRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  PodInfo& pinned = rig.pod("u1", Qos::lsr, {{.name = "c", .limit = 2000}});
  pinned.cpus = *host::CpuSet::parse("2-3");
  rig.ticks(2);
  const std::string group = pinned.containers[0].group;
  REQUIRE(rig.kernel.cpus(group) == "2-3");
  const auto pods = std::exchange(rig.inventory.pods, {});
  const auto all = std::exchange(rig.inventory.all_pods, {});
  const auto pod_usage = std::exchange(rig.pod_usage, {});
  const auto container_usage = std::exchange(rig.container_usage, {});
  ++rig.inventory.generation;
  rig.start();
  for (int i = 0; i < 10; ++i) {
    rig.ticks(1);
    REQUIRE(rig.kernel.cpus(group) == "2-3");
  }
  rig.inventory.pods = pods, rig.inventory.all_pods = all;
  rig.pod_usage = pod_usage, rig.container_usage = container_usage;
  ++rig.inventory.generation;
  for (int i = 0; i < 40; ++i) {
    rig.ticks(1);
    REQUIRE(rig.kernel.cpus(group) == "2-3");
  }
  CHECK(rig.manager->cleanup(rig.inventory).has_value());
  CHECK(rig.kernel.cpus(group) != "2-3");
}

TEST_CASE("Groups that are not there, and what is decided already, are left alone", "[koordlet][hooks]") {
  HooksRig rig(CgroupVersion::v1);
  rig.ticks(1);
  REQUIRE(rig.manager->write_ahead(values()).has_value());
  CHECK(rig.kernel.refused.empty());
  rig.pod("new", Qos::be, {{"c"}}, asks(250));
  rig.ticks(2);
  CHECK(rig.group(kPod).shares == 256);
  REQUIRE(rig.manager->write_ahead(values()).has_value());
  CHECK(rig.group(kPod).shares == 256);
  REQUIRE(rig.manager
              ->write_ahead(std::vector<Ahead::Value>{
                  {Knob::cpu_shares, "", std::int64_t{512}, "BatchResource", "of a container without an id"}})
              .has_value());
}

}  // namespace
}  // namespace koord::koordlet
