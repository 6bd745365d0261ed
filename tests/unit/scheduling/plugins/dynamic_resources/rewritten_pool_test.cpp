// A driver writes its pool anew while devices of it are given out.
#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"
#include "plugins/dynamic_resources/claim_rig.hpp"
#include "plugins/dynamic_resources/plugin_rows.hpp"

namespace koord::scheduling::test {
namespace {

/// A slice of the pool "worker", of that many of this generation.
std::string slice_of(const std::string& name, int generation, int slices, const std::string& devices) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{"driver":"some-driver","nodeName":"worker",)"
      R"("pool":{{"name":"worker","generation":{},"resourceSliceCount":{}}},"devices":[{}]}}}})",
      name, generation, slices, devices);
}
std::string device(const std::string& name) { return fmt::format(R"({{"name":"{}"}})", name); }

struct Rewritten : ClaimRig {
  Rewritten() {
    put_node(kNode);
    put_class(class_json());
    put_slice(slice_json(kNode, 2));
    for (const char* name : {"a", "b", "c"}) put_claim(claim_json(one_request(), "{}", name));
  }
  static std::shared_ptr<const api::Pod> user(const std::string& claim) {
    return claim_pod({claim}, false, "pod-" + claim, "uid-" + claim);
  }
  void remove_slice(const std::string& json) {
    world.engine.remove_object<api::ResourceSlice>(
        std::make_shared<const api::ResourceSlice>(*api::decode<api::ResourceSlice>(json)));
  }
};

TEST_CASE("of a pool that is half written anew nothing is given, and what was given stays given") {
  Rewritten rig;
  rig.world.engine.put_pod(Rewritten::user("a"));
  const Decision decided = rig.world.one();
  REQUIRE(decided.kind() == Decision::Kind::bind);
  // Before its claim is written.
  rig.put_slice(slice_of("new-1", 2, 2, device("instance-1") + "," + device("instance-3")));
  CHECK(rig.attempt(Rewritten::user("b")) == none_fits("cannot allocate all claims"));
  CHECK(rig.carry_out(decided) == "bound to worker");
  CHECK(rig.has("a") == "req-1=instance-1@worker; pod-a");

  // The old slice goes before the new one is there, as drivers write it.
  rig.remove_slice(slice_json(kNode, 2));
  rig.world.clock.advance(std::chrono::seconds(20));
  CHECK(rig.next() != "bound to worker");
  rig.put_slice(slice_of("new-2", 2, 2, device("instance-4")));
  rig.world.clock.advance(std::chrono::seconds(20));
  CHECK(rig.next() == "bound to worker");
  // instance-1 has the same name in the new generation, and is a's.
  CHECK(rig.has("b") == "req-1=instance-3@worker; pod-b");
  CHECK(rig.attempt(Rewritten::user("c")) == "bound to worker");
  CHECK(rig.has("c") == "req-1=instance-4@worker; pod-c");
}

TEST_CASE("what an older generation still lists is given to nobody") {
  Rewritten rig;
  rig.put_slice(slice_of("new", 7, 1, device("instance-9")));
  CHECK(rig.attempt(Rewritten::user("a")) == "bound to worker");
  CHECK(rig.has("a") == "req-1=instance-9@worker; pod-a");
  CHECK(rig.attempt(Rewritten::user("b")) == none_fits("cannot allocate all claims"));
}

TEST_CASE(
    "a pod whose device the driver has taken away keeps it in its claim, and the pool is as full as it "
    "says") {
  Rewritten rig;
  CHECK(rig.attempt(Rewritten::user("a")) == "bound to worker");
  rig.put_slice(slice_json(kNode, 0));
  CHECK(rig.attempt(Rewritten::user("b")) == none_fits("cannot allocate all claims"));
  rig.put_slice(slice_json(kNode, 2));
  rig.world.clock.advance(std::chrono::seconds(20));
  CHECK(rig.next() == "bound to worker");
  CHECK(rig.has("a") == "req-1=instance-1@worker; pod-a");
  CHECK(rig.has("b") == "req-1=instance-2@worker; pod-b");
}

}  // namespace
}  // namespace koord::scheduling::test
