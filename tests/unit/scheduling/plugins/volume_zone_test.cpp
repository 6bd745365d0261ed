// VolumeZone: where the labels of PersistentVolumes let pods go.
#include "volume_world.hpp"

namespace koord::scheduling::test {
namespace {

constexpr const char *kZone = "topology.kubernetes.io/zone", *kRegion = "topology.kubernetes.io/region",
                     *kOldZone = "failure-domain.beta.kubernetes.io/zone",
                     *kOldRegion = "failure-domain.beta.kubernetes.io/region";
constexpr const char* kElsewhere = "0/1 nodes are available: 1 node(s) had no available volume zone.";

using Labels = std::vector<std::pair<const char*, const char*>>;

template <class T>
std::shared_ptr<const T> labelled(const std::string& name, const Labels& labels) {
  return make_object<T>(name, [&](T& object) {
    for (const auto& [key, value] : labels) object.metadata.labels[key] = value;
  });
}
std::shared_ptr<const api::Node> node(const std::string& name, const Labels& labels) {
  return make_node(name, "4", "8Gi", [&](api::Node& n) {
    for (const auto& [key, value] : labels) n.metadata.labels[key] = value;
  });
}

struct ZoneWorld : World {
  ZoneWorld() : World(volume_plugin("VolumeZone")) {}
  std::string judge(std::vector<VolumeEdit> own) {
    engine.put_pod(make_pod("p", "1", "1Gi", volumes(std::move(own))));
    return one().message();
  }
};

TEST_CASE("a volume's labels of zone and region are the node's, in old words or new") {
  struct Row {
    const char* name;
    Labels volume, node;
    bool fits;
  };
  const Row rows[] = {
      {"no labels on either", {}, {}, true},
      {"no labels on the node", {{kOldZone, "us-west1-a"}}, {}, true},
      {"no labels that count", {{kOldZone, "us-west1-a"}}, {{"a", "b"}}, true},
      {"no labels on the volume", {{"a", "b"}}, {{kZone, "us-west1-a"}}, true},
      {"old zone", {{kOldZone, "us-west1-a"}}, {{kOldZone, "us-west1-a"}, {"a", "b"}}, true},
      {"old region", {{kOldRegion, "us-west1"}, {"a", "b"}}, {{kOldRegion, "us-west1"}}, true},
      {"another old region", {{kOldRegion, "us-west1"}}, {{kOldRegion, "no_us-west1"}}, false},
      {"another old zone", {{kOldZone, "us-west1-a"}}, {{kOldZone, "no_us-west1-a"}}, false},
      {"zone", {{kZone, "us-west1-a"}}, {{kZone, "us-west1-a"}}, true},
      {"region", {{kRegion, "us-west1"}}, {{kRegion, "us-west1"}}, true},
      {"another region", {{kRegion, "us-west1"}}, {{kRegion, "no_us-west1"}}, false},
      {"another zone", {{kZone, "us-west1-a"}}, {{kZone, "no_us-west1-a"}}, false},
      {"the node has no region",
       {{kZone, "us-west1-a"}, {kRegion, "us-west1"}},
       {{kZone, "us-west1-a"}},
       false},
      {"new on the volume, old on the node", {{kZone, "us-west1-a"}}, {{kOldZone, "us-west1-a"}}, false},
      {"old on the volume, new on the node", {{kOldZone, "us-west1-a"}}, {{kZone, "us-west1-a"}}, true},
      {"old and new differ", {{kOldZone, "us-west1-a"}}, {{kZone, "us-west1-b"}}, false},
      {"the node's old one counts first",
       {{kOldZone, "us-west1-a"}},
       {{kOldZone, "us-west1-b"}, {kZone, "us-west1-a"}},
       false},
      {"old region, new region", {{kOldRegion, "us-west1"}}, {{kRegion, "us-west1"}}, true},
      {"one of two zones", {{kOldZone, "us-west1-c__us-west1-a"}}, {{kOldZone, "us-west1-a"}}, true},
      {"the other one", {{kZone, "us-west1-c__us-west1-a"}}, {{kZone, "us-west1-c"}}, true},
      {"neither", {{kZone, "us-west1-c__us-west1-a"}}, {{kZone, "us-west1-b"}}, false},
      {"a zone without a name says nothing", {{kZone, "us-west1-c__"}}, {{kZone, "us-west1-b"}}, true},
      {"an empty label says nothing", {{kZone, ""}}, {{kZone, "us-west1-b"}}, true},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ZoneWorld world;
    // What others are labelled with is nobody's business.
    world.engine.put_node(make_node("full", "0", "0", [](api::Node& n) {
      n.metadata.labels[kZone] = "us-west1-a";
      n.spec.unschedulable = true;
    }));
    world.engine.put_node(node("n", row.node));
    world.engine.put_object(labelled<api::PersistentVolume>("v", row.volume));
    world.engine.put_object(make_claim("c", "v"));
    const std::string said = world.judge({claim("c")});
    CHECK((said.empty() == row.fits));
    if (!row.fits)
      CHECK(said ==
            "0/2 nodes are available: 1 node(s) had no available volume zone, 1 node(s) were unschedulable.");
  }
}

TEST_CASE("each of a pod's volumes has its say, and zones that come later count") {
  ZoneWorld world;
  world.engine.put_node(node("a", {{kZone, "a"}, {kRegion, "r"}}));
  world.engine.put_object(labelled<api::PersistentVolume>("in-a", {{kZone, "a"}}));
  world.engine.put_object(labelled<api::PersistentVolume>("in-a-or-b", {{kZone, "a__b"}}));
  world.engine.put_object(labelled<api::PersistentVolume>("in-b", {{kZone, "b"}}));
  world.engine.put_object(labelled<api::PersistentVolume>("in-r", {{kRegion, "r"}}));
  for (const char* name : {"in-a", "in-a-or-b", "in-b", "in-r"})
    world.engine.put_object(make_claim(name, name));
  CHECK(world.judge({claim("in-a-or-b"), claim("in-b"), claim("in-r")}) == kElsewhere);
  world.clock.advance(std::chrono::seconds(20));
  world.engine.put_node(node("b", {{kZone, "b"}, {kRegion, "s"}}));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  world.clock.advance(std::chrono::seconds(20));
  world.engine.put_node(node("b", {{kZone, "b"}, {kRegion, "r"}}));
  CHECK(world.one().node() == "b");
  world.engine.put_pod(make_pod("q", "1", "1Gi", volumes({claim("in-a-or-b"), claim("in-a"), ephemeral()})));
  CHECK(world.one().node() == "a");
}

TEST_CASE("claims that have no volume yet") {
  struct Row {
    const char* name;
    std::string message;
  };
  const Row rows[] = {
      {"", "PersistentVolumeClaim had no name"},
      {"no-such-claim", "persistentvolumeclaim \"no-such-claim\" not found"},
      {"lost", "persistentvolume \"no-such-volume\" not found"},
      {"no-class", "PersistentVolumeClaim had no pv name and storageClass name"},
      {"no-such-class", "storageclass.storage.k8s.io \"no-such-class\" not found"},
      {"no-mode", "VolumeBindingMode not set for StorageClass \"no-mode\""},
      {"now", "PersistentVolume had no name"},
      {"wait", ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ZoneWorld world;
    world.engine.put_node(node("n", {{kZone, "a"}}));
    world.engine.put_object(make_class("no-mode", "p", nullptr));
    world.engine.put_object(make_class("now", "p", "Immediate"));
    world.engine.put_object(make_class("wait", "p"));
    world.engine.put_object(make_claim("lost", "no-such-volume"));
    world.engine.put_object(make_claim("no-class", ""));
    for (const char* name : {"no-such-class", "no-mode", "now", "wait"})
      world.engine.put_object(make_claim(name, "", name));
    CHECK(world.judge({claim(row.name)}) ==
          (row.message.empty() ? "" : fmt::format("0/1 nodes are available: {}.", row.message)));
  }
}

TEST_CASE("what brings a volume or a zone has a pod tried again, nothing else") {
  struct Row {
    const char* name;
    const char* own;  // of a volume in zone b, or one that is not there yet
    std::function<void(Engine&)> event;
    bool tried;
  };
  const auto volume = [](const char* name, const Labels& labels) {
    return [=](Engine& e) { e.put_object(labelled<api::PersistentVolume>(name, labels)); };
  };
  const auto node_is = [](const Labels& labels) { return [=](Engine& e) { e.put_node(node("n", labels)); }; };
  const auto put_claim = [](const char* name, const char* volume, const char* ns = "default") {
    return [=](Engine& e) {
      e.put_object(make_claim(name, volume, "new", [&](Claim& c) { c.metadata.namespace_ = ns; }));
    };
  };
  const auto put_class = [](const char* name, const char* mode) {
    return [=](Engine& e) { e.put_object(make_class(name, "p", mode)); };
  };
  const Row rows[] = {
      {"its claim", "new", put_claim("new", ""), true},
      {"its claim has a volume", "in-b", put_claim("in-b", "in-a"), true},
      {"another claim", "new", put_claim("newer", ""), false},
      {"another namespace's", "new", put_claim("new", "", "team"), false},
      {"its volume is in another zone", "in-b", volume("in-b", {{kZone, "a"}}), true},
      {"its volume is labelled", "in-b", volume("in-b", {{kZone, "b"}, {"c", "d"}}), false},
      {"its volume", "lost", volume("no-such-volume", {{kZone, "a"}}), true},
      {"another volume", "lost", volume("another", {{kZone, "a"}}), false},
      {"its class, which waits", "classless", put_class("new", "WaitForFirstConsumer"), true},
      {"its class, which does not wait", "classless", put_class("new", "Immediate"), false},
      {"another class", "classless", put_class("newer", "WaitForFirstConsumer"), false},
      {"a node", "in-b",
       [](Engine& e) {
         e.put_node(node("m", {{kZone, "b"}}));
       },
       true},
      {"the node's zone", "in-b", node_is({{kZone, "b"}}), true},
      {"the node's region", "in-b", node_is({{kZone, "a"}, {kRegion, "r"}}), true},
      {"another label of the node", "in-b", node_is({{kZone, "a"}, {"c", "d"}}), false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ZoneWorld world;
    world.engine.put_node(node("n", {{kZone, "a"}}));
    world.engine.put_object(labelled<api::PersistentVolume>("in-a", {{kZone, "a"}}));
    world.engine.put_object(labelled<api::PersistentVolume>("in-b", {{kZone, "b"}}));
    world.engine.put_object(make_claim("in-b", "in-b"));
    world.engine.put_object(make_claim("lost", "no-such-volume"));
    world.engine.put_object(make_claim("classless", "", "new"));
    CHECK(!world.judge({claim(row.own)}).empty());
    CHECK(tried_after(world, row.event) == row.tried);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
