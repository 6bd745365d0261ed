// Stand-ins: what koord cannot judge yet waits, and is told why.
#include "filter_cases.hpp"
#include "koord/api/types/core_v1/volume.hpp"

namespace koord::scheduler::test {
namespace {

constexpr const char* kClaims =
    "0/1 nodes are available: pod has volumes from PersistentVolumeClaims, which koord does not schedule "
    "yet.";
constexpr const char* kDisks =
    "0/1 nodes are available: pod mounts a disk by itself (gcePersistentDisk, awsElasticBlockStore, iscsi or "
    "rbd), which koord does not schedule yet.";
constexpr const char* kResourceClaims =
    "0/1 nodes are available: pod has resource claims, which koord does not schedule yet.";

PodEdit volume(const std::function<void(api::Volume&)>& edit) {
  return [=](api::Pod& p) { edit(p.spec.volumes.emplace_back()); };
}

TEST_CASE("volumes and claims that need a decision are refused by name") {
  check_filter({
      {"claim", {}, volume([](auto& v) { v.persistent_volume_claim.ensure().claim_name = "c"; }), kClaims},
      {"ephemeral", {}, volume([](auto& v) { v.ephemeral.ensure(); }), kClaims},
      {"GCE", {}, volume([](auto& v) { v.gce_persistent_disk.ensure(); }), kDisks},
      {"AWS", {}, volume([](auto& v) { v.aws_elastic_block_store.ensure(); }), kDisks},
      {"iSCSI", {}, volume([](auto& v) { v.iscsi.ensure(); }), kDisks},
      {"RBD", {}, volume([](auto& v) { v.rbd.ensure(); }), kDisks},
      {"claim for devices",
       {},
       [](auto& p) { p.spec.resource_claims.emplace_back().name = "gpu"; },
       kResourceClaims},
      {"emptyDir", {}, volume([](auto& v) { v.empty_dir.ensure(); }), ""},
      {"hostPath", {}, volume([](auto& v) { v.host_path.ensure(); }), ""},
      {"CSI in the pod itself", {}, volume([](auto& v) { v.csi.ensure().driver = "d"; }), ""},
  });
}

TEST_CASE("what a profile leaves out is not refused for it") {
  const auto placed = [](std::initializer_list<const char*> left_out, const char* at) {
    KubeSchedulerConfiguration config;
    Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
    PluginSet& set = std::string_view(at) == "multiPoint" ? plugins.multi_point : plugins.pre_filter;
    for (const char* name : left_out) set.disabled.push_back({name, {}});
    World world(std::move(config));
    world.engine.put_node(make_node("n"));
    world.engine.put_pod(make_pod(
        "p", "1", "1Gi", volume([](auto& v) { v.persistent_volume_claim.ensure().claim_name = "c"; })));
    return world.one();
  };
  const auto all = {"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"};
  CHECK(placed(all, "multiPoint").kind == Decision::Kind::bind);
  CHECK(placed({"NodeVolumeLimits", "VolumeBinding", "VolumeZone"}, "multiPoint").message == kClaims);
  // Without their PreFilter the filters say the same of each node.
  CHECK(
      placed(all, "preFilter").message ==
      "0/1 nodes are available: 1 pod has volumes from PersistentVolumeClaims, which koord does not schedule "
      "yet.");
}

TEST_CASE("a refused pod waits, whatever happens to nodes, and others of its kind are not refused") {
  World world;
  world.engine.put_node(make_node("n"));
  const PodEdit claim = volume([](auto& v) { v.persistent_volume_claim.ensure().claim_name = "c"; });
  world.engine.put_pod(make_pod("p", "1", "1Gi", claim));
  CHECK(world.one().kind == Decision::Kind::unschedulable);
  world.clock.advance(std::chrono::seconds(20));
  world.engine.put_node(make_node("m", "8"));
  world.engine.put_pod(make_pod("q", "1", "1Gi"));
  CHECK(world.one().kind == Decision::Kind::bind);
  CHECK(world.engine.queue_sizes() == QueueSizes{.unschedulable = 1});
  // Deleted and made again under its name, without the claim.
  world.engine.put_pod(make_pod("p", "1", "1Gi", [](api::Pod& p) { p.metadata.uid = "another"; }));
  CHECK(world.one().kind == Decision::Kind::bind);
}

}  // namespace
}  // namespace koord::scheduler::test
