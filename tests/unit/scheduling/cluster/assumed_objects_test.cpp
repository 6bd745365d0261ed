// What is assumed of objects hides what the API server told, until it tells something newer.
#include "scheduling/cluster/assumed_objects.hpp"

#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"

namespace koord::scheduling::test {
namespace {

using Claim = api::PersistentVolumeClaim;

std::shared_ptr<const Claim> claim(std::string name, std::string version) {
  auto made = std::make_shared<Claim>();
  made->metadata.name = std::move(name);
  made->metadata.namespace_ = "ns1";
  made->metadata.resource_version = std::move(version);
  return made;
}

struct Rig {
  Rig() {
    claims.on_change([this](const Claim* before, const Claim* now) {
      told += fmt::format("{}>{} ", before != nullptr ? before->metadata.resource_version : "-",
                          now != nullptr ? now->metadata.resource_version : "-");
    });
  }
  void put(const std::shared_ptr<const Claim>& c, bool gone = false) {
    store.put({"ns1", c->metadata.name}, gone ? nullptr : c);
  }

  ObjectStores stores;
  ObjectStore<Claim>& store = stores.watch<Claim>();
  AssumedObjects<Claim> claims{store};
  std::string told;  // versions before and after
};

TEST_CASE("only a copy of the newest version can be assumed") {
  struct Case {
    const char *name, *old_name, *old_version, *new_version;
    std::string error;
  };
  const Case cases[] = {
      {"the same version", "pvc1", "5", "5", ""},
      {"a higher one", "pvc1", "5", "6", "\"ns1/pvc1\" is out of sync (stored: 5, assume: 6)"},
      {"a lower one", "pvc1", "5", "4", "\"ns1/pvc1\" is out of sync (stored: 5, assume: 4)"},
      {"none that is known", "pvc2", "5", "5", "persistentvolumeclaims \"ns1/pvc1\" not found"},
      {"a bad one", "pvc1", "5", "a", "\"ns1/pvc1\" is out of sync (stored: 5, assume: a)"},
      {"of a bad one", "pvc1", "a", "5", "\"ns1/pvc1\" is out of sync (stored: a, assume: 5)"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Rig rig;
    const auto old = claim(c.old_name, c.old_version), changed = claim("pvc1", c.new_version);
    rig.put(old);
    CHECK(rig.claims.find("ns1", c.old_name) == old);
    const Result<> assumed = rig.claims.assume(changed);
    CHECK((assumed ? "" : assumed.error().message()) == c.error);
    CHECK(rig.claims.find("ns1", c.old_name) == (assumed ? changed : old));
    CHECK(rig.claims.stored("ns1", c.old_name) == old);
  }
}

TEST_CASE("what is assumed is restored by its own version alone") {
  Rig rig;
  const auto old = claim("pvc1", "5"), changed = claim("pvc1", "5");
  rig.claims.restore(*old);  // nothing is there
  rig.put(old);
  rig.claims.restore(*old);
  CHECK(rig.told == "->5 ");
  REQUIRE(rig.claims.assume(changed).has_value());
  rig.claims.restore(*claim("pvc1", "4"));
  CHECK(rig.claims.find("ns1", "pvc1") == changed);
  rig.claims.restore(*changed);
  CHECK(rig.claims.find("ns1", "pvc1") == old);
  CHECK(rig.claims.assumed() == 0);
  CHECK(rig.told == "->5 5>5 5>5 ");
}

TEST_CASE("what the API server tells counts more than what is assumed") {
  Rig rig;
  const auto first = claim("pvc1", "5"), assumed = claim("pvc1", "5");
  rig.put(first);
  REQUIRE(rig.claims.assume(assumed).has_value());
  rig.told.clear();

  SECTION("the version that was assumed is told again") {
    rig.put(claim("pvc1", "5"));
    CHECK(rig.claims.find("ns1", "pvc1") == assumed);
    CHECK(rig.told.empty());
  }
  SECTION("a newer one, which is assumed in turn: the older assumption does not take it back") {
    const auto newer = claim("pvc1", "7"), again = claim("pvc1", "7");
    rig.put(newer);
    CHECK(rig.claims.find("ns1", "pvc1") == newer);
    REQUIRE(rig.claims.assume(again).has_value());
    rig.claims.restore(*assumed);
    CHECK(rig.claims.find("ns1", "pvc1") == again);
    CHECK(rig.told == "5>7 7>7 ");
  }
  SECTION("it is gone, and comes again as it was") {
    rig.put(first, true);
    CHECK(rig.claims.find("ns1", "pvc1") == nullptr);
    CHECK(rig.told == "5>- ");
    rig.put(first);
    CHECK(rig.claims.find("ns1", "pvc1") == first);
  }
  SECTION("it is assumed once more: the newest assumption counts") {
    const auto again = claim("pvc1", "5");
    REQUIRE(rig.claims.assume(again).has_value());
    CHECK(rig.claims.find("ns1", "pvc1") == again);
    CHECK(rig.claims.assumed() == 1);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
