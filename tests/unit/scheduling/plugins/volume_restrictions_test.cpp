// VolumeRestrictions: disks that pods on a node cannot share, and claims that one pod alone may have.
#include "volume_world.hpp"

namespace koord::scheduling::test {
namespace {

constexpr const char* kDisk = "0/1 nodes are available: 1 node(s) had no available disk.";
constexpr const char* kOncePod =
    "0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
    "access "
    "mode already in-use by another pod.";

VolumeEdit gce(const char* name, bool read_only = false) {
  return [=](api::Volume& v) {
    v.gce_persistent_disk.ensure().pd_name = name;
    v.gce_persistent_disk->read_only = read_only;
  };
}
VolumeEdit aws(const char* id, bool read_only = false) {
  return [=](api::Volume& v) {
    v.aws_elastic_block_store.ensure().volume_id = id;
    v.aws_elastic_block_store->read_only = read_only;
  };
}
VolumeEdit iscsi(const char* iqn, bool read_only = false) {
  return [=](api::Volume& v) {
    v.iscsi.ensure().iqn = iqn;
    v.iscsi->read_only = read_only;
  };
}
VolumeEdit rbd(std::vector<std::string> monitors, const char* pool, const char* image,
               bool read_only = false) {
  return [=](api::Volume& v) {
    api::RbdVolumeSource& r = v.rbd.ensure();
    for (const std::string& m : monitors) r.monitors.push_back(m);
    r.pool = pool;
    r.image = image;
    r.read_only = read_only;
  };
}

std::shared_ptr<const Claim> with_mode(const std::string& name, const char* mode) {
  return make_claim(name, "", nullptr, [&](Claim& c) { c.spec.access_modes = {mode}; });
}

struct RestrictionsWorld : World {
  explicit RestrictionsWorld(bool preempts = false) : World(volume_plugin("VolumeRestrictions", preempts)) {
    engine.put_node(make_node("n"));
  }
};

TEST_CASE("pods on one node do not share a disk, unless it is one that all of them only read") {
  struct Row {
    const char* name;
    VolumeEdit there, own;
    bool fits;
  };
  const VolumeEdit nothing = [](api::Volume&) {};
  const Row rows[] = {
      {"one has none", gce("foo"), nothing, true},
      {"the other has none", nothing, gce("foo"), true},
      {"GCE: the same", gce("foo"), gce("foo"), false},
      {"GCE: another", gce("foo"), gce("bar"), true},
      {"GCE: both read", gce("foo", true), gce("foo", true), true},
      {"GCE: one writes", gce("foo", true), gce("foo"), false},
      {"AWS: the same", aws("foo"), aws("foo"), false},
      {"AWS: another", aws("foo"), aws("bar"), true},
      {"AWS: both read", aws("foo", true), aws("foo", true), false},
      {"iSCSI: the same", iscsi("iqn.1"), iscsi("iqn.1"), false},
      {"iSCSI: another", iscsi("iqn.1"), iscsi("iqn.2"), true},
      {"iSCSI: both read", iscsi("iqn.1", true), iscsi("iqn.1", true), true},
      {"RBD: the same", rbd({"a", "b"}, "foo", "bar"), rbd({"a", "b"}, "foo", "bar"), false},
      {"RBD: one monitor is the same", rbd({"a", "b"}, "foo", "bar"), rbd({"c", "b"}, "foo", "bar"), false},
      {"RBD: other monitors", rbd({"a", "b"}, "foo", "bar"), rbd({"c", "d"}, "foo", "bar"), true},
      {"RBD: another pool", rbd({"a"}, "foo", "bar"), rbd({"a"}, "fob", "bar"), true},
      {"RBD: another image", rbd({"a"}, "foo", "bar"), rbd({"a"}, "foo", "baz"), true},
      {"RBD: both read", rbd({"a"}, "foo", "bar", true), rbd({"a"}, "foo", "bar", true), true},
      {"disks of two kinds", gce("foo"), aws("foo"), true},
      {"a claim", claim("foo"), gce("foo"), true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    RestrictionsWorld world;
    world.engine.put_pod(make_pod("there", "1", "1Gi", on_node("n", volumes({row.there}))));
    world.engine.put_pod(make_pod("p", "1", "1Gi", volumes({row.own})));
    CHECK(world.one().message() == (row.fits ? "" : kDisk));
  }
}

TEST_CASE("a claim that one pod may have has no second one, wherever") {
  struct Row {
    const char* name;
    std::vector<VolumeEdit> own;
    std::vector<const char*> claims;  // that there are, by their access mode
    std::vector<VolumeEdit> there;
    const char* message;
  };
  const Row rows[] = {
      {"no volumes", {}, {}, {}, ""},
      {"no claim of the name",
       {claim("once-1")},
       {},
       {},
       "0/1 nodes are available: persistentvolumeclaim \"once-1\" not found."},
      {"others have others", {claim("once-1")}, {"once-1", "many"}, {claim("many")}, ""},
      {"it is in use", {claim("once-1")}, {"once-1", "many"}, {claim("once-1"), claim("many")}, kOncePod},
      {"two are",
       {claim("once-1"), claim("once-2")},
       {"once-1", "once-2"},
       {claim("once-1"), claim("once-2")},
       kOncePod},
      {"one of two is", {claim("many"), claim("once-2")}, {"many", "once-2"}, {claim("once-2")}, kOncePod},
      {"one for many is", {claim("many")}, {"many"}, {claim("many")}, ""},
      {"an ephemeral one is its pod's own", {ephemeral()}, {}, {}, ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    RestrictionsWorld world;
    for (const char* name : row.claims)
      world.engine.put_object(
          with_mode(name, std::string_view(name).starts_with("once") ? "ReadWriteOncePod" : "ReadWriteMany"));
    world.engine.put_pod(make_pod("there", "1", "1Gi", on_node("n", volumes(row.there))));
    world.engine.put_pod(make_pod("p", "1", "1Gi", volumes(row.own)));
    CHECK(world.one().message() == row.message);
  }
}

TEST_CASE(
    "a claim in use keeps its next pod from all nodes; on a node that is gone, or in another namespace, "
    "it is not in use") {
  RestrictionsWorld world;
  world.engine.put_node(make_node("m"));
  world.engine.put_object(with_mode("once", "ReadWriteOncePod"));
  world.engine.put_pod(make_pod("there", "1", "1Gi", on_node("m", volumes({claim("once")}))));
  world.engine.put_pod(make_pod("p", "1", "1Gi", volumes({claim("once")})));
  CHECK(world.one().message() ==
        "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
        "access mode already in-use by another pod.");
  world.clock.advance(std::chrono::seconds(20));
  world.engine.remove_node("m");
  CHECK(world.one().node() == "n");

  RestrictionsWorld other;
  other.engine.put_object(with_mode("once", "ReadWriteOncePod"));
  other.engine.put_pod(make_pod("there", "1", "1Gi", on_node("n", volumes({claim("once")}, [](api::Pod& p) {
                                                               p.metadata.namespace_ = "team";
                                                             }))));
  other.engine.put_pod(make_pod("p", "1", "1Gi", volumes({claim("once")})));
  CHECK(other.one().node() == "n");
}

TEST_CASE("who has the disk or the claim is a victim, if it is of a lower priority") {
  struct Row {
    const char* name;
    VolumeEdit own;
    std::vector<std::pair<const char*, int>> there;  // pods with the same volume, by node and priority
    std::string victims, message;
  };
  const std::string none =
      "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
      "access mode already in-use by another pod. preemption: 0/2 nodes are available: ";
  const Row rows[] = {
      {"disk", gce("d"), {{"n", 5}, {"m", 20}}, "there-0", ""},
      {"claim", claim("once"), {{"n", 5}}, "there-0", ""},
      {"claim, of a pod that matters more",
       claim("once"),
       {{"n", 20}},
       "",
       none + "2 No preemption victims found for incoming pod."},
      // kube-scheduler counts a claim once, whoever has it, and would have the weaker one of two removed in
      // vain.
      {"claim, of two pods of which one matters more",
       claim("once"),
       {{"n", 5}, {"n", 20}},
       "",
       none + "1 No preemption victims found for incoming pod, 1 node(s) unavailable due to "
              "PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod."},
      {"claim, of pods on two nodes",
       claim("once"),
       {{"n", 5}, {"m", 5}},
       "",
       none + "2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
              "in-use by another pod."},
      {"claim, of two pods that matter less", claim("once"), {{"n", 5}, {"n", 6}}, "there-1 there-0", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    RestrictionsWorld world(true);
    world.engine.put_node(make_node("m"));
    world.engine.put_object(with_mode("once", "ReadWriteOncePod"));
    for (std::size_t i = 0; i < row.there.size(); ++i) {
      const auto& [node, priority] = row.there[i];
      world.engine.put_pod(
          make_pod(fmt::format("there-{}", i), "1", "1Gi",
                   on_node(node, volumes({row.own}, [&](api::Pod& p) { p.spec.priority = priority; }))));
    }
    world.engine.put_pod(
        make_pod("p", "1", "1Gi", volumes({row.own}, [](api::Pod& p) { p.spec.priority = 10; })));
    const Decision d = world.one();
    std::vector<std::string> victims;
    for (const auto& v : d.preemption().victims) victims.push_back(v.pod->metadata.name);
    CHECK(fmt::format("{}", fmt::join(victims, " ")) == row.victims);
    if (!row.message.empty()) CHECK(d.message() == row.message);
  }
}

TEST_CASE("the pod that gets a claim by preemption waits on no other node for it") {
  // As the nominated pod has it there, another one that wants the claim less does not get it on that node.
  RestrictionsWorld world(true);
  world.engine.put_object(with_mode("once", "ReadWriteOncePod"));
  const auto wants = [](int priority) {
    return volumes({claim("once"), gce("d")}, [=](api::Pod& p) { p.spec.priority = priority; });
  };
  world.engine.put_pod(make_pod("there", "1", "1Gi", on_node("n", wants(5))));
  world.engine.put_pod(make_pod("p", "1", "1Gi", wants(10)));
  const Decision d = world.one();
  REQUIRE(d.preemption().victims.size() == 1);
  world.engine.preempted(*d.pod, true);
  world.engine.put_pod(make_pod("q", "1", "1Gi", wants(7)));
  world.engine.remove_pod(*d.preemption().victims[0].pod);
  for (const Decision& next : world.run())
    CHECK((next.kind() == Decision::Kind::bind) == (next.pod->metadata.name == "p"));
}

TEST_CASE("what goes that a pod waited for has it tried again, nothing else") {
  struct Row {
    const char* name;
    std::vector<VolumeEdit> own, there;
    std::function<void(Engine&)> event;
    bool tried;
  };
  const auto gone = [](std::vector<VolumeEdit> of, const char* ns = "default") {
    return [=](Engine& engine) {
      const auto pod = make_pod("goes", "1", "1Gi",
                                on_node("n", volumes(of, [&](api::Pod& p) { p.metadata.namespace_ = ns; })));
      engine.put_pod(pod);
      engine.remove_pod(*pod);
    };
  };
  const auto comes = [](const char* name, const char* ns = "default") {
    return [=](Engine& engine) {
      engine.put_object(make_claim(name, "", nullptr, [&](Claim& c) { c.metadata.namespace_ = ns; }));
    };
  };
  const auto node_comes = [](Engine& engine) { engine.put_node(make_node("m")); };
  const Row rows[] = {
      {"a pod with the disk", {gce("d")}, {gce("d")}, gone({gce("d")}), true},
      {"a pod with another disk", {gce("d")}, {gce("d")}, gone({gce("e")}), false},
      {"AWS", {aws("d")}, {aws("d")}, gone({aws("d")}), true},
      {"another AWS", {aws("d")}, {aws("d")}, gone({aws("e")}), false},
      {"RBD", {rbd({"a"}, "p", "i")}, {rbd({"a"}, "p", "i")}, gone({rbd({"a"}, "p", "i")}), true},
      {"RBD of others", {rbd({"a"}, "p", "i")}, {rbd({"a"}, "p", "i")}, gone({rbd({"c"}, "p", "i")}), false},
      {"iSCSI", {iscsi("d")}, {iscsi("d")}, gone({iscsi("d")}), true},
      {"another iSCSI", {iscsi("d")}, {iscsi("d")}, gone({iscsi("e")}), false},
      // kube-scheduler takes that for nobody's business.
      {"a pod of another namespace with the disk", {gce("d")}, {gce("d")}, gone({gce("d")}, "team"), true},
      {"a pod with the claim", {claim("once")}, {claim("once")}, gone({claim("once")}), true},
      {"a pod with another claim", {claim("once")}, {claim("once")}, gone({claim("many")}), false},
      {"its namesake's claim", {claim("once")}, {claim("once")}, gone({claim("once")}, "team"), false},
      {"a node, and a disk is taken", {gce("d")}, {gce("d")}, node_comes, true},
      {"a node, and a claim is in use", {claim("once")}, {claim("once")}, node_comes, false},
      {"the claim that is missing", {claim("new")}, {}, comes("new"), true},
      {"another claim", {claim("new")}, {}, comes("newer"), false},
      {"another namespace's claim", {claim("new")}, {}, comes("new", "team"), false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    RestrictionsWorld world;
    world.engine.put_object(with_mode("once", "ReadWriteOncePod"));
    world.engine.put_pod(make_pod("there", "1", "1Gi", on_node("n", volumes(row.there))));
    // Of the same class, and with no business here.
    world.engine.put_pod(make_pod("first", "1", "1Gi", volumes({claim("nobody's")})));
    world.engine.put_pod(make_pod("p", "1", "1Gi", volumes(row.own)));
    for (const Decision& d : world.run()) CHECK(d.kind() == Decision::Kind::unschedulable);
    CHECK(tried_after(world, row.event) == row.tried);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
