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

TEST_CASE("The next agent sets free what this one wrote ahead and died", "[koordlet][hooks]") {
  const koord::testing::Tree tree{{}};
  HooksRig rig(CgroupVersion::v1, tree / "journal");
  make(rig);
  rig.ticks(1);
  REQUIRE(rig.manager->write_ahead(values()).has_value());
  rig.start();
  rig.ticks(2);
  CHECK((rig.group(kPod).shares == 2 && rig.group(kPod).quota == -1));
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
