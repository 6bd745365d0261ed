// The kernel's scans for cold pages: they run while the gate is on.
#include <catch2/catch.hpp>

#include "koord/host/text.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/qos_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using testing::QosRig;

constexpr std::string_view kPeriod = "/sim/sys/kernel/mm/kidled/scan_period_in_seconds",
                           kHierarchy = "/sim/sys/kernel/mm/kidled/use_hierarchy";

class Rig : public QosRig {
 public:
  explicit Rig(std::string journal, bool on, bool kidled = true)
      : QosRig(host::CgroupVersion::v1, std::move(journal)) {
    if (on) REQUIRE(gates.set("ColdPageCollector=true").has_value());
    if (kidled) kernel.settings = {{std::string(kPeriod), "120\n"}, {std::string(kHierarchy), "0\n"}};
    start();
  }
  std::string now(std::string_view file) {
    return std::string(host::trimmed(kernel.settings.find(file)->second));
  }
};

TEST_CASE("kidled scans while the gate is on, and goes back to what was found", "[koordlet][cold]") {
  koord::testing::Tree tree;
  Rig rig(tree / "journal", true);
  rig.tick(1);
  CHECK(rig.now(kPeriod) == "5");
  CHECK(rig.now(kHierarchy) == "1");
  const bool crashed = GENERATE(false, true);
  if (crashed) rig.start();
  SECTION("by --cleanup") { REQUIRE(rig.manager->cleanup(rig.inventory).has_value()); }
  SECTION("by an agent whose gate is off") {
    REQUIRE(rig.gates.set("ColdPageCollector=false").has_value());
    rig.start();
    rig.tick(2);
  }
  CHECK(rig.now(kPeriod) == "120");
  CHECK(rig.now(kHierarchy) == "0");
}

TEST_CASE("Killed between any two writes, the next agent puts back what was there",
          "[koordlet][cold][crash]") {
  const std::size_t writes = testing::kill_between_writes(
      [](const std::string& journal) { return std::make_unique<Rig>(journal, true); },
      [](Rig& rig) {
        rig.tick(1);
        REQUIRE(rig.gates.set("ColdPageCollector=false").has_value());
        rig.start();
        rig.tick(2);
      },
      [](Rig& rig, const std::string&, std::size_t) {
        REQUIRE(rig.gates.set("ColdPageCollector=false").has_value());
        rig.start();
        rig.tick(2);
        CHECK(rig.now(kPeriod) == "120");
        CHECK(rig.now(kHierarchy) == "0");
      });
  CHECK(writes == 4);
}

TEST_CASE("Neither without the gate nor without kidled anything is written", "[koordlet][cold]") {
  koord::testing::Tree tree;
  const bool on = GENERATE(false, true);
  Rig rig(tree / "journal", on, !on);
  for (int i = 0; i < 3; ++i) rig.tick(1);
  CHECK(rig.kernel.written.empty());
}

}  // namespace
}  // namespace koord::koordlet
