// What pods ask for that their profile does not serve: who waits, who is told and bound.
#include "koord/scheduling/config/unserved.hpp"

#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {
namespace {

enum class Named { named, left_out };

/// Koord without DeviceShare: of that it has the arguments alone.
PluginTable poorer_table() {
  static std::vector<PluginEntry> rows;
  static std::vector<const PluginEntry*> table;
  if (table.empty()) {
    rows.reserve(plugin_table().size());
    for (const PluginEntry* row : plugin_table()) {
      rows.push_back(*row);
      if (row->name == "DeviceShare") rows.back().make = nullptr;
    }
    for (const PluginEntry& row : rows) table.push_back(&row);
  }
  return table;
}

/// An engine whose profile names all that such a koord does not have, or none of it.
struct Rig {
  explicit Rig(Named named, bool refuses = true) : engine(clock, {}) {
    KubeSchedulerConfiguration config = own_defaults();
    if (named == Named::left_out) config.profiles.front().plugins = {};
    auto done = complete(config, poorer_table());
    REQUIRE(done.has_value());
    auto profiles = build_profiles(config, poorer_table(), engine.context());
    REQUIRE(profiles.has_value());
    if (refuses) refuse_unserved(profiles->front());
    engine.set_profiles(std::move(*profiles));
    engine.put_node(make_node("n"));
  }
  Decision one(const PodEdit& edit) {
    engine.put_pod(make_pod("p", "1", "1Gi", [&](api::Pod& pod) {
      pod.spec.scheduler_name = "koord-scheduler";
      edit(pod);
    }));
    std::vector<Decision> out;
    engine.schedule(1, out);
    REQUIRE(out.size() == 1);
    return std::move(out.front());
  }
  std::string told(const api::Pod& pod) { return unserved(engine.profiles().front(), pod); }

  ManualClock clock;
  Engine engine;
};

struct Case {
  const char* name;
  PodEdit edit;
  const char* plugin;  // "": it asks for nothing
  bool waits;
};

const Case kCases[] = {
    {"a gang by label", [](api::Pod& p) { p.metadata.labels["pod-group.scheduling.sigs.k8s.io"] = "g"; },
     "Coscheduling", true},
    {"a gang by annotation",
     [](api::Pod& p) { p.metadata.annotations["gang.scheduling.koordinator.sh/name"] = "g"; }, "Coscheduling",
     true},
    {"a quota", [](api::Pod& p) { p.metadata.labels["quota.scheduling.koordinator.sh/name"] = "q"; },
     "ElasticQuota", true},
    {"a reservation",
     [](api::Pod& p) { p.metadata.annotations["scheduling.koordinator.sh/reservation-affinity"] = "{}"; },
     "Reservation", true},
    {"NUMA nodes",
     [](api::Pod& p) { p.metadata.annotations["scheduling.koordinator.sh/numa-topology-spec"] = "{}"; },
     "NodeNUMAResource", true},
    {"CPUs of its own", [](api::Pod& p) { p.metadata.labels["koordinator.sh/qosClass"] = "LSR"; },
     "NodeNUMAResource", false},
    {"shared devices",
     [](api::Pod& p) {
       p.spec.containers[0].resources.requests["koordinator.sh/gpu-core"] = api::Quantity::must("50");
     },
     "DeviceShare", true},
    {"devices by annotation",
     [](api::Pod& p) { p.metadata.annotations["scheduling.koordinator.sh/device-allocate-hint"] = "{}"; },
     "DeviceShare", true},
    {"plain", [](api::Pod&) {}, "", false},
};

/// Of a plugin that koord does not have.
const PodEdit& edit_of(std::string_view name) {
  return std::ranges::find(kCases, name, [](const Case& c) { return std::string_view(c.name); })->edit;
}

bool is_served(const Case& c) {
  const PluginEntry* row = find_plugin(poorer_table(), c.plugin);
  return row != nullptr && row->make != nullptr;
}

TEST_CASE("a pod that asks for what its profile names and koord does not have waits, and is told") {
  for (const Case& c : kCases) {
    INFO(c.name);
    if (is_served(c)) continue;
    Rig rig(Named::named);
    const Decision d = rig.one(c.edit);
    CHECK(d.kind() == (c.waits ? Decision::Kind::unschedulable : Decision::Kind::bind));
    if (c.waits)
      CHECK_THAT(d.message(), Catch::Contains(c.plugin) && Catch::Contains("koord does not have it yet"));
    CHECK(rig.told(*d.pod).empty() == (c.plugin[0] == '\0'));
    CHECK_THAT(rig.told(*d.pod), Catch::Contains(c.plugin));
  }
}

TEST_CASE("what the profile leaves out is its author's choice: the pod is told and bound") {
  for (const Case& c : kCases) {
    INFO(c.name);
    if (std::string_view(c.plugin) == "DeviceShare") continue;  // no node has the resource
    Rig rig(Named::left_out);
    const Decision d = rig.one(c.edit);
    CHECK(d.kind() == Decision::Kind::bind);
    if (c.plugin[0] != '\0')
      CHECK_THAT(rig.told(*d.pod), Catch::Contains(c.plugin) && Catch::Contains("the profile leaves it out"));
  }
}

TEST_CASE("with --bind-unserved-pods nobody waits") {
  Rig rig(Named::named, false);
  CHECK(rig.one(edit_of("devices by annotation")).kind() == Decision::Kind::bind);
}

TEST_CASE("a device that is a device plugin's is nothing to tell of") {
  Rig rig(Named::named);
  const auto pod = make_pod("p", "1", "1Gi", [](api::Pod& p) {
    p.spec.containers[0].resources.requests["nvidia.com/gpu"] = api::Quantity::must("1");
  });
  CHECK(rig.told(*pod).empty());
}

TEST_CASE("a pod that asks no longer is tried at once") {
  Rig rig(Named::named);
  const Decision d = rig.one(edit_of("devices by annotation"));
  REQUIRE(d.kind() == Decision::Kind::unschedulable);
  rig.engine.put_pod(changed(d.pod, [](api::Pod& p) { p.metadata.annotations = {}; }));
  rig.clock.advance(std::chrono::seconds(20));
  std::vector<Decision> out;
  rig.engine.schedule(1, out);
  REQUIRE(out.size() == 1);
  CHECK(out.front().kind() == Decision::Kind::bind);
}

}  // namespace
}  // namespace koord::scheduling::test
