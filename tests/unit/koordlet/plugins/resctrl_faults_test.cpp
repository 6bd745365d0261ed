// Resctrl where others are at it, too, and where looking or making fails.
#include <catch2/catch.hpp>

#include "framework/executor/knob_values.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/resctrl_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using koord::testing::Tree;
using testing::fields;
using testing::Share;
using testing::times;
using Rig = testing::ResctrlRig;
using Tasks = std::vector<std::int32_t>;

/// It has mounted resctrl, and a best-effort pod is in the group BE.
void mount(Rig& rig) {
  rig.kernel.settings.clear();
  rig.resctrl.can_mount = true;
  rig.gate("RdtResctrl=true");
  rig.says({}, {}, Share{.end = 30, .mba = 50});
  rig.runs({{"a", Qos::be}});
}

TEST_CASE("Somebody else's groups keep the mount that koord has made", "[koordlet][resctrl]") {
  const std::pair<const char*, bool> rows[] = {
      {"gold", true}, {"gold", false}, {"mon_groups/theirs", true}, {"mon_groups/theirs", false}};
  for (const auto& [theirs, cleanup] : rows) {
    CAPTURE(theirs, cleanup);
    const Tree tree;
    Rig rig(tree / "journal");
    mount(rig);
    rig.ticks(5);
    REQUIRE(rig.resctrl.in("BE") == Tasks{100});
    rig.resctrl.make_of_others(theirs);
    if (cleanup) {
      rig.start();
      REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
    } else {
      rig.says({}, {}, {});
      rig.ticks(3);
    }
    CHECK(rig.resctrl.mounted);
    CHECK(rig.resctrl.has(theirs));
    CHECK_FALSE(rig.resctrl.has("BE"));
    CHECK(times(rig, "resctrl stays mounted") == 1);
    // From then on it is theirs.
    rig.start();
    REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
    CHECK(rig.resctrl.mounted);
  }
}

TEST_CASE("A group in which others have monitoring groups is emptied, and goes when theirs have gone",
          "[koordlet][resctrl]") {
  for (const bool cleanup : {false, true}) {
    CAPTURE(cleanup);
    const Tree tree;
    Rig rig(tree / "journal");
    mount(rig);
    rig.ticks(5);
    REQUIRE(rig.resctrl.in("BE") == Tasks{100});
    rig.resctrl.watched = {"BE"};
    if (cleanup) {
      rig.start();
      REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
      CHECK(times(rig, "a group of resctrl stays") == 1);
    } else {
      rig.says({}, {}, {});
      rig.ticks(30);
      CHECK(times(rig, "a group of resctrl stays") == 1);
    }
    CHECK(rig.resctrl.has("BE"));
    CHECK(rig.resctrl.in("BE").empty());
    CHECK(rig.resctrl.mounted);
    // An agent that died meanwhile is no reason to forget it.
    rig.resctrl.watched.clear();
    rig.start();
    rig.says({}, {}, {});
    rig.ticks(15);
    CHECK_FALSE(rig.resctrl.has("BE"));
    CHECK_FALSE(rig.resctrl.mounted);
  }
}

TEST_CASE("What somebody has mounted after koord is his, with all that is in it", "[koordlet][resctrl]") {
  const Tree tree;
  Rig rig(tree / "journal");
  mount(rig);
  rig.ticks(5);
  REQUIRE(rig.resctrl.has("BE"));
  REQUIRE(rig.resctrl.unmount().has_value());
  REQUIRE(rig.resctrl.mount().has_value());
  rig.resctrl.mount_is = "2";
  rig.resctrl.make_of_others("BE");
  rig.resctrl.all[100].group.clear();
  const std::string before = rig.resctrl.state();
  rig.start();
  REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  CHECK(rig.resctrl.mounted);
  CHECK(rig.resctrl.state() == before);
}

TEST_CASE("Whoever kills the agent leaves no mount behind", "[koordlet][resctrl]") {
  std::string before;
  testing::kill_between_writes(
      [&](const std::string& journal) {
        auto rig = std::make_unique<Rig>(journal);
        mount(*rig);
        before = rig->resctrl.state();
        return rig;
      },
      [](Rig& rig) { rig.ticks(3); },
      [&](Rig& rig, const std::string&, std::size_t) {
        rig.start();
        REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
        CHECK_FALSE(rig.resctrl.mounted);
        CHECK(rig.resctrl.state() == before);
      });
}

TEST_CASE("Tasks come into a group when its schemata are written, whenever the agent before was killed",
          "[koordlet][resctrl]") {
  const std::string held = "L3:0=f;1=f;\nMB:0=50;1=50;\n";
  testing::kill_between_writes(
      [&](const std::string& journal) {
        auto rig = std::make_unique<Rig>(journal);
        rig->says({}, {}, Share{.end = 30, .mba = 50});
        rig->runs({{"a", Qos::be}});
        rig->resctrl.refuses = [&held, rig = rig.get()](std::int32_t) {
          CHECK(fields(*rig, "BE") == held);
          return 0;
        };
        return rig;
      },
      [](Rig& rig) { rig.ticks(4); },
      [&](Rig& rig, const std::string&, std::size_t) {
        rig.start();
        rig.says({}, {}, Share{.end = 30, .mba = 50});
        rig.ticks(4);
        CHECK(fields(rig, "BE") == held);
        CHECK(rig.resctrl.in("BE") == Tasks{100});
      });
}

TEST_CASE("A look that fails lets nothing go", "[koordlet][resctrl]") {
  Rig rig;
  rig.says({}, {}, Share{.end = 30, .mba = 50});
  rig.runs({{"a", Qos::be}});
  rig.ticks(2);
  const std::string before = fields(rig, "BE");
  REQUIRE(before == "L3:0=f;1=f;\nMB:0=50;1=50;\n");
  const std::size_t written = rig.kernel.written.size();
  for (const Error& fault : {errno_error(EMFILE, "info"), Error(Code::parse, "schemata: cannot read")}) {
    rig.resctrl.fault = fault;
    rig.ticks(30);
    CHECK(fields(rig, "BE") == before);
    CHECK(rig.kernel.written.size() == written);
  }
  rig.resctrl.fault.reset();
  rig.ticks(15);
  CHECK(rig.kernel.written.size() == written);
}

TEST_CASE("Numbers that the kernel pads are those without blanks", "[koordlet][resctrl]") {
  constexpr auto kVersion = host::CgroupVersion::v1;
  for (const char* const text : {"    MB:0=   90;1=  100\n", "MB:0=90;1=100\n", "MB: 0= 90; 1=100\n"}) {
    CAPTURE(text);
    CHECK(parse_knob(host::Knob::schemata, kVersion, text, "MB/0").value() == KnobValue(std::string("90")));
    CHECK(parse_knob(host::Knob::schemata, kVersion, text, "MB/1").value() == KnobValue(std::string("100")));
  }
  // As an agent before has written it down.
  const KnobValue padded(std::string("   90")), plain(std::string("90"));
  CHECK(same_value(host::Knob::schemata, kVersion, padded, plain));
  CHECK(print_knob(host::Knob::schemata, kVersion, padded, "MB/0").value() == "MB:0=90\n");
  Rig rig;
  rig.says({}, {}, Share{.end = 30, .mba = 50});
  rig.ticks(2);
  REQUIRE(rig.resctrl.said("BE").find("MB:0=   50;1=   50") != std::string::npos);
  const std::size_t written = rig.kernel.written.size();
  rig.ticks(200);
  CHECK(rig.kernel.written.size() == written);
}

TEST_CASE("A group that somebody makes after koord could not is his", "[koordlet][resctrl]") {
  Rig rig;
  rig.resctrl.rooms = 2;
  rig.says(Share{}, {}, Share{.end = 30});
  rig.runs({{"a", Qos::be}});
  rig.ticks(2);
  REQUIRE_FALSE(rig.resctrl.has("BE"));
  rig.resctrl.make_of_others("BE");
  rig.says(Share{}, {}, {});
  rig.ticks(3);
  CHECK(rig.resctrl.has("BE"));
  REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  CHECK(rig.resctrl.groups().value() == std::vector<std::string>{"BE"});
}

TEST_CASE("A pod for whose group there is no room is in its class'", "[koordlet][resctrl]") {
  Rig rig;
  rig.resctrl.rooms = 2;
  rig.says({}, {}, Share{.end = 30});
  rig.runs({{"a", Qos::be}, {"b", Qos::be}, {"c", Qos::ls}});
  const std::string before = rig.resctrl.state();
  rig.annotate(0, R"({"mb":{"schemata":{"percent":10}}})");
  rig.annotate(2, R"({"mb":{"schemata":{"percent":10}}})");  // its class has no group
  rig.ticks(40);
  CHECK(rig.resctrl.in("BE") == Tasks{100, 101});
  CHECK(rig.resctrl.in("") == Tasks{102});
  CHECK(rig.resctrl.moves == 2);
  rig.resctrl.rooms = 4;
  rig.ticks(25);
  CHECK(rig.resctrl.in("koordlet-a") == Tasks{100});
  CHECK(rig.resctrl.in("BE") == Tasks{101});
  CHECK(rig.resctrl.in("koordlet-c") == Tasks{102});
  CHECK(rig.resctrl.moves == 4);  // a's straight into its own group, when that holds it
  REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  CHECK(rig.resctrl.state() == before);
}

}  // namespace
}  // namespace koord::koordlet
