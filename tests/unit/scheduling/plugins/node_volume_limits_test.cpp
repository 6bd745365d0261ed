// NodeVolumeLimits: what counts of pods' volumes, and what makes room.
#include "koord/api/types/storage_v1/csi_driver.hpp"
#include "support/growth.hpp"
#include "volume_world.hpp"

namespace koord::scheduling::test {
namespace {

constexpr const char *kEbs = "ebs.csi.aws.com", *kGce = "pd.csi.storage.gke.io",
                     *kInTree = "kubernetes.io/aws-ebs";
constexpr const char* kFull = "0/1 nodes are available: 1 node(s) exceed max volume count.";

VolumeEdit aws(const char* id) {
  return [=](api::Volume& v) { v.aws_elastic_block_store.ensure().volume_id = id; };
}

/// Claims "ebs-0", "gce-0", ... have volumes of their drivers, "in-tree-0", ... volumes as they were before
/// there were drivers, "host-0" is a path on a node. "unbound" waits for its class; "lost" has a class and a
/// volume that nobody knows, "classless" neither volume nor a class that there is.
struct LimitsWorld : World {
  explicit LimitsWorld(const char* provisioner = kEbs, bool preempts = false)
      : World(volume_plugin("NodeVolumeLimits", preempts)) {
    engine.put_node(make_node("n"));
    engine.put_object(make_class("class", provisioner));
    for (int i = 0; i < 4; ++i) {
      bound(fmt::format("ebs-{}", i),
            csi_volume(fmt::format("pv-ebs-{}", i), kEbs, fmt::format("ebs-{}", i)));
      bound(fmt::format("gce-{}", i),
            csi_volume(fmt::format("pv-gce-{}", i), kGce, fmt::format("gce-{}", i)));
      bound(fmt::format("in-tree-{}", i),
            make_object<api::PersistentVolume>(fmt::format("pv-in-tree-{}", i), [&](auto& v) {
              v.spec.aws_elastic_block_store.ensure().volume_id = fmt::format("in-tree-{}", i);
            }));
    }
    bound("host-0", make_object<api::PersistentVolume>(
                        "pv-host-0", [](auto& v) { v.spec.host_path.ensure().path = "/mnt"; }));
    engine.put_object(make_claim("unbound", "", "class"));
    engine.put_object(make_claim("lost", "no-such-volume", "class"));
    engine.put_object(make_claim("classless", "", "no-such-class"));
  }

  void bound(const std::string& name, const std::shared_ptr<const api::PersistentVolume>& volume) {
    engine.put_object(volume);
    engine.put_object(make_claim(name, volume->metadata.name));
  }
  void there(std::vector<VolumeEdit> all, const char* node = "n") {
    engine.put_pod(make_pod(fmt::format("there-{}", pods++), "100m", "1Mi", on_node(node, volumes(all))));
  }
  std::string judge(std::vector<VolumeEdit> own) {
    engine.put_pod(make_pod("p", "100m", "1Mi", volumes(std::move(own))));
    return one().message();
  }

  int pods = 0;
};

TEST_CASE("volumes of a driver are counted, each once, whatever form they come in") {
  const auto ebs = [](int i) { return claim(fmt::format("ebs-{}", i)); };
  const auto gce = [](int i) { return claim(fmt::format("gce-{}", i)); };
  const auto in_tree = [](int i) { return claim(fmt::format("in-tree-{}", i)); };
  constexpr int kNoLimit = -1, kNoCsiNode = -2;
  struct Row {
    const char* name;
    const char* provisioner;
    int limit;  // of both drivers
    std::vector<std::vector<VolumeEdit>> there;
    int attachments;  // of volumes that no pod has
    std::vector<VolumeEdit> own;
    bool fits;
  };
  const Row rows[] = {
      {"attachments fill the node", kEbs, 2, {}, 2, {ebs(0)}, false},
      {"attachments leave room", kEbs, 2, {}, 1, {ebs(0)}, true},
      {"room for one", kEbs, 4, {{ebs(3)}, {ebs(1), ebs(2)}}, 0, {ebs(0)}, true},
      {"no room", kEbs, 2, {{ebs(3)}, {ebs(1), ebs(2)}}, 0, {ebs(0)}, false},
      {"no limit", kEbs, kNoLimit, {{ebs(3)}, {ebs(1), ebs(2)}}, 0, {ebs(0)}, true},
      {"no CSINode", kEbs, kNoCsiNode, {{ebs(3)}, {ebs(1), ebs(2)}}, 0, {ebs(0)}, true},
      {"a claim without a volume counts",
       kEbs,
       2,
       {{claim("unbound")}, {ebs(1), ebs(2)}},
       0,
       {ebs(0)},
       false},
      {"of two pods once",
       kEbs,
       4,
       {{claim("unbound")}, {claim("unbound")}, {ebs(1), ebs(2)}},
       0,
       {ebs(0)},
       true},
      {"a claim with a volume that is not there counts",
       kEbs,
       2,
       {{claim("lost")}, {ebs(1), ebs(2)}},
       0,
       {ebs(0)},
       false},
      {"one of no class that there is does not",
       kEbs,
       2,
       {{ebs(3)}, {claim("classless")}},
       0,
       {ebs(0)},
       true},
      {"drivers count for themselves", kEbs, 2, {{gce(1), gce(2)}, {ebs(1), ebs(2)}}, 0, {ebs(0)}, false},
      {"drivers have room for themselves", kEbs, 2, {{ebs(1), ebs(2)}, {ebs(3)}}, 0, {gce(1), gce(2)}, true},
      {"what is there already needs no room", kEbs, 2, {{ebs(1), ebs(2)}}, 0, {ebs(1)}, true},
      {"what is there already, and one more", kEbs, 2, {{ebs(1), ebs(2)}}, 0, {ebs(1), ebs(0)}, false},
      {"the same claim twice", kEbs, 3, {{ebs(1), ebs(2)}}, 0, {ebs(0), ebs(0)}, true},
      {"in-tree volumes are the driver's", kInTree, 2, {{in_tree(1), in_tree(2)}}, 0, {in_tree(0)}, false},
      {"of a pod itself, without a CSINode",
       kInTree,
       kNoCsiNode,
       {{in_tree(1), in_tree(2)}},
       0,
       {aws("inline")},
       true},
      {"claims without a volume, of an in-tree class",
       kInTree,
       2,
       {{in_tree(1), in_tree(2)}},
       0,
       {claim("unbound")},
       false},
      {"in-tree without limit", kInTree, kNoLimit, {{in_tree(1), in_tree(2)}}, 0, {in_tree(0)}, true},
      {"what no driver has is not counted", kInTree, 2, {{ebs(1), ebs(2)}}, 0, {claim("host-0")}, true},
      {"disks in the pod are the driver's",
       kInTree,
       2,
       {{in_tree(1), in_tree(2)}},
       0,
       {aws("inline")},
       false},
      {"in-tree beside the driver's", kInTree, 2, {{ebs(1), ebs(2)}}, 0, {in_tree(0)}, false},
      {"all kinds together", kInTree, 3, {{ebs(1), ebs(2)}, {in_tree(0)}}, 0, {aws("inline")}, false},
      {"a disk that is one of the driver's there",
       kInTree,
       3,
       {{ebs(1), ebs(2)}, {in_tree(0)}},
       0,
       {aws("ebs-1")},
       true},
      {"a claim and a disk in the pod that are one volume", kInTree, 1, {}, 0, {ebs(0), aws("ebs-0")}, true},
      {"a disk in the pod and a claim that are one volume", kInTree, 1, {}, 0, {aws("ebs-0"), ebs(0)}, true},
      {"the driver's beside in-tree", kInTree, 2, {{in_tree(1), in_tree(2)}}, 0, {ebs(0)}, false},
      {"no volumes at all", kEbs, 0, {{ebs(1)}}, 0, {}, true},
      {"volumes that nobody attaches", kEbs, 0, {{ebs(1)}}, 0, {[](auto& v) { v.empty_dir.ensure(); }}, true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    LimitsWorld world(row.provisioner);
    if (row.limit != kNoCsiNode)
      world.engine.put_object(make_csi_node("n", {{kEbs, row.limit}, {kGce, row.limit}}, kInTree));
    for (const auto& all : row.there) world.there(all);
    for (int i = 0; i < row.attachments; ++i) {
      world.engine.put_object(csi_volume(fmt::format("other-{}", i), kEbs, fmt::format("other-{}", i)));
      world.engine.put_object(make_attachment(fmt::format("a-{}", i), kEbs, fmt::format("other-{}", i)));
    }
    CHECK(world.judge(row.own) == (row.fits ? "" : kFull));
  }
}

TEST_CASE("attachments count where they name a volume of a driver that no pod there has") {
  struct Row {
    const char* name;
    std::shared_ptr<const api::VolumeAttachment> attachment;
    bool counts;
  };
  const Row rows[] = {
      {"another volume", make_attachment("a", kEbs, "pv-ebs-2"), true},
      {"a volume of a pod there", make_attachment("a", kEbs, "pv-ebs-1"), false},
      {"a volume of the same handle, of another driver", make_attachment("a", kGce, "pv-ebs-1"), false},
      {"at another node", make_attachment("a", kEbs, "pv-ebs-2", "m"), false},
      {"of nobody", make_attachment("a", "", "pv-ebs-2"), false},
      {"a volume that is not there", make_attachment("a", kEbs, "no-such-volume"), false},
      {"a volume of no driver", make_attachment("a", kEbs, "pv-in-tree-2"), false},
      {"no volume",
       make_object<api::VolumeAttachment>("a",
                                          [](auto& a) {
                                            a.spec.attacher = kEbs;
                                            a.spec.node_name = "n";
                                          }),
       false},
      // As kube-scheduler counts: a volume that is at the node and comes with the pod is two.
      {"the pod's own volume", make_attachment("a", kEbs, "pv-ebs-0"), true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    LimitsWorld world;
    world.engine.put_object(make_csi_node("n", {{kEbs, 2}}));
    world.there({claim("ebs-1")});
    world.engine.put_object(row.attachment);
    CHECK(world.judge({claim("ebs-0")}) == (row.counts ? kFull : ""));
  }
}

TEST_CASE("ephemeral volumes count by their claims, which have to be the pod's own") {
  const auto owned = [](const char* uid) {
    return make_claim("p-v0", "", "class", [=](Claim& c) {
      api::OwnerReference& owner = c.metadata.owner_references.emplace_back();
      owner.kind = "Pod";
      owner.uid = uid;
      owner.controller = true;
    });
  };
  LimitsWorld missing;
  missing.engine.put_object(make_csi_node("n", {{kEbs, 2}}));
  CHECK(missing.judge({ephemeral()}) ==
        "0/1 nodes are available: 1 looking up PVC default/p-v0: persistentvolumeclaim \"p-v0\" not found.");
  LimitsWorld foreign;
  foreign.engine.put_object(owned("another"));
  foreign.engine.put_pod(make_pod("p", "1", "1Mi", volumes({ephemeral()})));
  const Decision d = foreign.one();
  CHECK(d.kind() == Decision::Kind::error);
  CHECK(d.message() ==
        "running \"NodeVolumeLimits\" filter plugin: PVC default/p-v0 was not created for pod default/p (pod "
        "is not owner)");
  for (const int limit : {1, 2}) {
    LimitsWorld world;
    world.engine.put_object(make_csi_node("n", {{kEbs, limit}}));
    world.there({claim("ebs-1")});
    world.engine.put_object(owned("uid-p"));
    CHECK(world.judge({ephemeral()}) == (limit == 1 ? kFull : ""));
  }
  // On the node one that is another's counts for nobody; kube-scheduler fails every pod with volumes there.
  LimitsWorld there;
  there.engine.put_object(make_csi_node("n", {{kEbs, 1}}));
  there.engine.put_object(owned("another"));
  there.engine.put_pod(make_pod("p", "1", "1Mi", on_node("n", volumes({ephemeral()}))));
  there.engine.put_pod(make_pod("q", "1", "1Mi", volumes({claim("ebs-0")})));
  CHECK(there.one().node() == "n");
}

TEST_CASE("a disk in the pod that its driver could not tell fails the pod, where there are drivers") {
  for (const bool drivers : {true, false}) {
    LimitsWorld world;
    if (drivers) world.engine.put_object(make_csi_node("n", {}));
    CHECK(world.judge({aws("aws://zone/volume")}) ==
          (drivers ? "running \"NodeVolumeLimits\" filter plugin: converting volume(v0) from inline to csi: "
                     "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume "
                     "(aws://zone/volume)"
                   : ""));
  }
}

TEST_CASE("victims take their volumes with them, unless another pod has them too") {
  struct Row {
    const char* name;
    std::vector<VolumeEdit> stays, goes, own;
    bool helps;
  };
  const Row rows[] = {
      {"room for one", {claim("ebs-1")}, {claim("ebs-2")}, {claim("ebs-0")}, true},
      {"the one that stays has it, too",
       {claim("ebs-1"), claim("ebs-2")},
       {claim("ebs-2")},
       {claim("ebs-0")},
       false},
      {"two are one too many", {claim("ebs-1")}, {claim("ebs-2")}, {claim("ebs-0"), claim("ebs-3")}, false},
      {"no volume of the driver's goes",
       {claim("ebs-1"), claim("ebs-2")},
       {claim("gce-1")},
       {claim("ebs-0")},
       false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    LimitsWorld world(kEbs, true);
    world.engine.put_object(make_csi_node("n", {{kEbs, 2}}));
    world.engine.put_pod(make_pod(
        "stays", "1", "1Mi", on_node("n", volumes(row.stays, [](api::Pod& p) { p.spec.priority = 20; }))));
    world.engine.put_pod(make_pod("goes", "1", "1Mi", on_node("n", volumes(row.goes))));
    world.engine.put_pod(
        make_pod("p", "1", "1Mi", volumes(row.own, [](api::Pod& p) { p.spec.priority = 10; })));
    const Decision d = world.one();
    CHECK(d.preemption().victims.size() == (row.helps ? 1 : 0));
  }
}

TEST_CASE("what makes room has a pod tried again, nothing else") {
  struct Row {
    const char* name;
    std::function<void(LimitsWorld&)> event;
    bool tried;
  };
  // The node has ebs-1 and what waits for "class", and takes two.
  const auto csi_node = [](int limit, const char* driver = kEbs) {
    return [=](LimitsWorld& w) { w.engine.put_object(make_csi_node("n", {{driver, limit}})); };
  };
  const auto pod = [](VolumeEdit volume, const char* node = "n") {
    return make_pod("goes", "100m", "1Mi", on_node(node, volumes({volume})));
  };
  const auto goes = [=](VolumeEdit volume) {
    return [=](LimitsWorld& w) {
      w.engine.put_pod(pod(volume));
      w.engine.remove_pod(*pod(volume));
    };
  };
  const Row rows[] = {
      {"a higher limit", csi_node(3), true},
      {"the same limit", csi_node(2), false},
      {"a lower limit", csi_node(1), false},
      {"no limit any more", csi_node(-1), true},
      {"the driver is gone", csi_node(2, kGce), true},
      {"the CSINode is gone", [](auto& w) { w.engine.remove_object(make_csi_node("n", {})); }, true},
      {"another node's CSINode",
       [](auto& w) {
         w.engine.put_object(make_csi_node("m", {{kEbs, 9}}));
       },
       false},
      {"a node", [](auto& w) { w.engine.put_node(make_node("m")); }, true},
      {"a pod with a volume goes", goes(claim("ebs-2")), true},
      {"a pod with a disk goes", goes(aws("d")), true},
      {"a pod without volumes goes", goes([](auto& v) { v.empty_dir.ensure(); }), false},
      {"an attachment comes and goes",
       [](auto& w) {
         w.engine.put_object(make_attachment("a", kEbs, "pv-ebs-2"));
         w.engine.remove_object(make_attachment("a", kEbs, "pv-ebs-2"));
       },
       true},
      {"an attachment of a pod's volume comes and goes",
       [](auto& w) {
         w.engine.put_object(make_attachment("a", kEbs, "pv-ebs-1"));
         w.engine.remove_object(make_attachment("a", kEbs, "pv-ebs-1"));
       },
       false},
      {"an attachment of another driver comes and goes",
       [](auto& w) {
         w.engine.put_object(make_attachment("a", kGce, "pv-gce-2"));
         w.engine.remove_object(make_attachment("a", kGce, "pv-gce-2"));
       },
       false},
      {"a pod's claim gets a volume of the driver's",
       [](auto& w) { w.engine.put_object(make_claim("unbound", "pv-ebs-3", "class")); }, false},
      {"a pod's claim gets a volume of another's",
       [](auto& w) { w.engine.put_object(make_claim("unbound", "pv-gce-3", "class")); }, true},
      {"a pod's claim gets the volume of another pod",
       [](auto& w) { w.engine.put_object(make_claim("unbound", "pv-ebs-1", "class")); }, true},
      {"a pod's claim gets the pod's own volume",
       [](auto& w) { w.engine.put_object(make_claim("unbound", "pv-ebs-0", "class")); }, true},
      {"a pod's claim is gone", [](auto& w) { w.engine.remove_object(make_claim("unbound", "")); }, true},
      {"the claim's class is gone", [](auto& w) { w.engine.remove_object(make_class("class", kEbs)); }, true},
      {"a pod's volume is gone", [](auto& w) { w.engine.remove_object(csi_volume("pv-ebs-1", kEbs, "")); },
       true},
      {"its own volume is gone", [](auto& w) { w.engine.remove_object(csi_volume("pv-ebs-0", kEbs, "")); },
       true},
      {"its own claim gets another volume",
       [](auto& w) { w.engine.put_object(make_claim("ebs-0", "pv-ebs-1")); }, true},
      {"its own claim is labelled",
       [](auto& w) {
         w.engine.put_object(
             make_claim("ebs-0", "pv-ebs-0", nullptr, [](Claim& c) { c.metadata.labels["a"] = "b"; }));
       },
       false},
      {"another claim", [](auto& w) { w.engine.put_object(make_claim("new", "", "class")); }, false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    LimitsWorld world;
    world.engine.put_object(make_csi_node("n", {{kEbs, 2}}));
    world.there({claim("ebs-1")});
    world.there({claim("unbound")});
    CHECK(world.judge({claim("ebs-0")}) == kFull);
    CHECK(tried_after(world, [&](Engine&) { row.event(world); }) == row.tried);
  }
}

TEST_CASE("a claim that is missing is waited for by its pod alone") {
  LimitsWorld world;
  CHECK(world.judge({claim("new")}) ==
        "0/1 nodes are available: 1 looking up PVC default/new: persistentvolumeclaim \"new\" not found.");
  CHECK(!tried_after(world, [](Engine& e) { e.put_object(make_claim("other", "", "class")); }));
  CHECK(tried_after(world, [](Engine& e) { e.put_object(make_claim("new", "", "class")); }));
}

TEST_CASE("VolumeLimitScaling: a driver that the cluster knows has to be at the node") {
  const std::string why =
      "0/1 nodes are available: 1 ebs.csi.aws.com CSI driver is not installed on the node.";
  struct Row {
    const char* name;
    bool gate, known;
    std::vector<std::pair<const char*, int>> drivers;  // of the CSINode; empty: there is none
    bool fits;
  };
  const Row rows[] = {
      {"not known", true, false, {}, true},
      {"no CSINode", true, true, {}, false},
      {"another driver", true, true, {{kGce, -1}}, false},
      {"it is there", true, true, {{kEbs, -1}}, true},
      {"the gate is off", false, true, {}, true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const std::vector<FeatureGate> known{gate_off("VolumeLimitScaling")};
    FeatureGates gates(known);
    if (row.gate) REQUIRE(gates.set("VolumeLimitScaling=true").has_value());
    World world(volume_plugin("NodeVolumeLimits"), {}, plugin_table(), gates);
    world.engine.put_node(make_node("n"));
    world.engine.put_object(make_class("class", kEbs));
    world.engine.put_object(make_claim("unbound", "", "class"));
    if (row.known) world.engine.put_object(make_object<api::CsiDriver>(kEbs));
    if (!row.drivers.empty()) world.engine.put_object(make_csi_node("n", row.drivers));
    world.engine.put_pod(make_pod("p", "1", "1Mi", volumes({claim("unbound")})));
    CHECK(world.one().message() == (row.fits ? "" : why));
    if (!row.fits)
      CHECK(tried_after(world, [](Engine& e) {
        e.put_object(make_csi_node("n", {{kEbs, -1}, {kGce, -1}}));
      }));
  }
}

TEST_CASE("claims and drivers in the worst order cost a pod no more than others") {
  CHECK(koord::test::growth(500, [&](std::size_t count) {
          LimitsWorld world;
          std::vector<VolumeEdit> own;
          for (std::size_t i = 0; i < count; ++i) {
            const std::string driver = fmt::format("d-{:06}", count - i);
            world.bound(driver, csi_volume("pv-" + driver, driver.c_str(), driver));
            own.push_back(claim(driver));
            own.push_back(claim(driver));  // again
          }
          REQUIRE(world.judge(std::move(own)).empty());
        }) < koord::test::kMostGrowth);
}

}  // namespace
}  // namespace koord::scheduling::test
