// The table of plugins: nothing is lost from it, and each row can be made.
#include <catch2/catch.hpp>

#include <algorithm>

#include "framework/plugin_table.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/log.hpp"
#include "koord/base/manual_clock.hpp"

namespace koord::descheduler::test {
namespace {

TEST_CASE("plugins are there by name, each with one way to make it and something to do") {
  const PluginTable table = plugin_table();
  CHECK(std::ranges::is_sorted(table, {}, &PluginEntry::name));
  for (const PluginEntry* entry : table) {
    INFO(entry->name);
    CHECK((entry->make == nullptr) != (entry->make_evictor == nullptr));
    CHECK((entry->make != nullptr) == (entry->deschedules || entry->balances));
    CHECK(find_plugin(table, entry->name) == entry);
    if (entry->args != nullptr) CHECK(entry->args->kind() == std::string(entry->name) + "Args");
  }
  for (const std::string_view name :
       {"DefaultEvictor", "Drain", "LowNodeLoad", "MigrationController", "CustomPriority",
        "FragmentationAware", "ScaleDownBinPack", "RemovePodsViolatingTopologySpreadConstraint",
        "HighNodeUtilization", "LowNodeUtilization", "PodLifeTime", "RemoveDuplicates", "RemoveFailedPods",
        "RemovePodsHavingTooManyRestarts", "RemovePodsViolatingInterPodAntiAffinity",
        "RemovePodsViolatingNodeAffinity", "RemovePodsViolatingNodeTaints"}) {
    INFO(name);
    CHECK(find_plugin(table, name) != nullptr);
  }
  CHECK(find_plugin(table, "NoSuchPlugin") == nullptr);
}

TEST_CASE("Drain is refused without its gate, whose name and rights the error tells") {
  constexpr FeatureGate kGate{.name = "Drain", .enabled = false, .stage = Stage::alpha, .help = ""};
  const PluginEntry* drain = find_plugin(plugin_table(), "Drain");
  REQUIRE(drain != nullptr);
  ManualClock clock;
  CapturedLog captured;
  const Logger log(captured, clock);
  FeatureGates gates(std::span(&kGate, 1));
  PluginContext context{.profile = "p", .clock = clock, .log = log, .gates = gates};
  const auto refused = drain->make(nullptr, context);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().message() ==
        "the plugin Drain needs --feature-gates=Drain=true, and the rights of "
        "packaging/manifests-gates/Drain.yaml");
  REQUIRE(gates.set("Drain=true").has_value());
  CHECK(drain->make(nullptr, context).has_value());
}

}  // namespace
}  // namespace koord::descheduler::test
