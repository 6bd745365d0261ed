// The table of plugins: nothing is lost from it, and each row can be made.
#include <catch2/catch.hpp>

#include <algorithm>

#include "framework/plugin_table.hpp"

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
       {"CustomPriority", "FragmentationAware", "ScaleDownBinPack",
        "RemovePodsViolatingTopologySpreadConstraint", "HighNodeUtilization", "LowNodeUtilization",
        "PodLifeTime", "RemoveDuplicates", "RemoveFailedPods", "RemovePodsHavingTooManyRestarts",
        "RemovePodsViolatingInterPodAntiAffinity", "RemovePodsViolatingNodeAffinity",
        "RemovePodsViolatingNodeTaints"}) {
    INFO(name);
    CHECK(find_plugin(table, name) != nullptr);
  }
  CHECK(find_plugin(table, "NoSuchPlugin") == nullptr);
}

}  // namespace
}  // namespace koord::descheduler::test
