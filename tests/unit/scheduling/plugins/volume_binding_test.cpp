// VolumeBinding on upstream's tables: which nodes will do for a pod's claims.
#include "plugins/volume_binding_world.hpp"
#include "support/growth.hpp"

namespace koord::scheduling::test {
namespace {

struct FilterRow {
  const char* name;
  Texts pod;  // its claims
  std::vector<std::shared_ptr<const Claim>> claims;
  std::vector<std::shared_ptr<const Volume>> volumes;
  Texts said;  // of nodes a, b and c; or once
  std::vector<std::shared_ptr<const api::CsiStorageCapacity>> pools = {};
};

const FilterRow kFilter[] = {
    {"no claims", {}, {}, {}, {"", "", ""}},
    {"all bound", {"p"}, {having("p", "v")}, {volume("v", "wait")}, {"", "", ""}},
    {"no such claim", {"p"}, {}, {}, {R"(persistentvolumeclaim "p" not found)"}},
    {"some of them are missing",
     {"p", "q"},
     {having("p", "v")},
     {},
     {R"(persistentvolumeclaim "q" not found)"}},
    {"a claim of another binder is not bound",
     {"p"},
     {asking("p", "now")},
     {},
     {"pod has unbound immediate PersistentVolumeClaims"}},
    {"the same of one without a class",
     {"p"},
     {asking("p", "")},
     {},
     {"pod has unbound immediate PersistentVolumeClaims"}},
    {"the same of a class that is not there",
     {"p"},
     {asking("p", "gone")},
     {},
     {"pod has unbound immediate PersistentVolumeClaims"}},
    {"one asks for a volume by name and waits for the binder",
     {"p"},
     {asking("p", "wait", "1Gi", [](Claim& c) { c.spec.volume_name = "v"; })},
     {volume("v", "wait")},
     {"pod has unbound immediate PersistentVolumeClaims"}},
    {"bound and immediate",
     {"p", "q"},
     {asking("p", "now"), having("q", "v")},
     {volume("v", "wait")},
     {"pod has unbound immediate PersistentVolumeClaims"}},
    {"a claim that is going",
     {"p"},
     {having("p", "v", [](Claim& c) { c.metadata.deletion_timestamp.emplace(); })},
     {volume("v", "wait")},
     {R"(persistentvolumeclaim "p" is being deleted)"}},
    {"lost",
     {"p"},
     {having("p", "v", [](Claim& c) { c.status.phase = "Lost"; })},
     {},
     {R"(persistentvolumeclaim "p" bound to non-existent persistentvolume "v")"}},
    {"its volume is not there", {"p"}, {having("p", "v")}, {}, {kMissing, kMissing, kMissing}},
    {"bound elsewhere",
     {"p"},
     {having("p", "v")},
     {volume("v", "wait", "5Gi", at("b"))},
     {kConflict, "", kConflict}},
    {"the first claim that will not do says why",
     {"p", "q"},
     {having("p", "v"), having("q", "gone")},
     {volume("v", "wait", "5Gi", at("b"))},
     {kConflict, kMissing, kConflict}},
    {"no volume", {"p"}, {asking("p", "wait")}, {}, {kNone, kNone, kNone}},
    {"bound and unbound, neither will do",
     {"p", "q"},
     {having("p", "v"), asking("q", "wait")},
     {volume("v", "wait", "5Gi", at("b", for_claim("p", "uid-p")))},
     {fmt::format("{} + {}", kConflict, kNone), kNone, fmt::format("{} + {}", kConflict, kNone)}},
    {"a volume at one node",
     {"p"},
     {asking("p", "wait")},
     {volume("v", "wait", "5Gi", at("b"))},
     {kNone, "", kNone}},
    {"a volume for all nodes", {"p"}, {asking("p", "wait")}, {volume("v", "wait")}, {"", "", ""}},
    {"two claims, two volumes",
     {"p", "q"},
     {asking("p", "wait"), asking("q", "wait")},
     {volume("v", "wait", "5Gi", at("a")), volume("w", "wait", "5Gi", at("a")),
      volume("x", "wait", "5Gi", at("b"))},
     {"", kNone, kNone}},
    {"the larger claim is left the larger volume",
     {"p", "q"},
     {asking("p", "wait", "10Gi"), asking("q", "wait", "5Gi")},
     {volume("v", "wait", "10Gi", at("a")), volume("w", "wait", "5Gi", at("a"))},
     {"", kNone, kNone}},
    {"one volume for all and one at a node",
     {"p", "q"},
     {asking("p", "wait"), asking("q", "wait")},
     {volume("v", "wait"), volume("w", "wait", "5Gi", at("a"))},
     {"", kNone, kNone}},
    {"by several labels",
     {"p"},
     {asking("p", "wait")},
     {volume("v", "wait", "5Gi", on({{"kubernetes.io/hostname", {"a", "b"}}, {"gone", {"x"}}}))},
     {kNone, kNone, kNone}},
    {"by other conditions",
     {"p"},
     {asking("p", "wait")},
     {volume("v", "wait", "5Gi",
             at("a",
                [](Volume& v) {
                  auto& r = v.spec.node_affinity->required->node_selector_terms.emplace_back()
                                .match_expressions.emplace_back();
                  r.key = "kubernetes.io/hostname";
                  r.operator_ = "NotIn";
                  r.values = {"a", "b"};
                }))},
     {"", kNone, ""}},
    {"too small", {"p"}, {asking("p", "wait", "6Gi")}, {volume("v", "wait")}, {kNone, kNone, kNone}},
    {"of another class", {"p"}, {asking("p", "wait")}, {volume("v", "hdd")}, {kNone, kNone, kNone}},
    {"of another mode",
     {"p"},
     {asking("p", "wait", "1Gi", [](Claim& c) { c.spec.volume_mode = "Block"; })},
     {volume("v", "wait")},
     {kNone, kNone, kNone}},
    {"a filesystem is what is meant",
     {"p"},
     {asking("p", "wait", "1Gi", [](Claim& c) { c.spec.volume_mode = "Filesystem"; })},
     {volume("v", "wait")},
     {"", "", ""}},
    {"of other access modes",
     {"p"},
     {asking("p", "wait", "1Gi",
             [](Claim& c) {
               c.spec.access_modes = {"ReadWriteOnce", "ReadOnlyMany"};
             })},
     {volume("v", "wait", "5Gi", [](Volume& v) { v.spec.access_modes = {"ReadWriteOnce"}; })},
     {kNone, kNone, kNone}},
    {"not selected",
     {"p"},
     {asking("p", "wait", "1Gi", [](Claim& c) { c.spec.selector.ensure().match_labels["tier"] = "fast"; })},
     {volume("v", "wait"),
      volume("w", "wait", "5Gi", at("c", [](Volume& v) { v.metadata.labels["tier"] = "fast"; }))},
     {kNone, kNone, ""}},
    {"of another attributes class",
     {"p"},
     {asking("p", "wait", "1Gi", [](Claim& c) { c.spec.volume_attributes_class_name = "gold"; })},
     {volume("v", "wait"),
      volume("w", "wait", "5Gi", at("a", [](Volume& v) { v.spec.volume_attributes_class_name = "gold"; }))},
     {"", kNone, kNone}},
    {"not available yet",
     {"p"},
     {asking("p", "wait")},
     {volume("v", "wait", "5Gi", [](Volume& v) { v.status.phase = "Pending"; })},
     {kNone, kNone, kNone}},
    {"going",
     {"p"},
     {asking("p", "wait")},
     {volume("v", "wait", "5Gi", [](Volume& v) { v.metadata.deletion_timestamp.emplace(); })},
     {kNone, kNone, kNone}},
    {"somebody else's",
     {"p"},
     {asking("p", "wait")},
     {volume("v", "wait", "5Gi", for_claim("q", "uid-q"))},
     {kNone, kNone, kNone}},
    {"of a claim of its name that is gone",
     {"p"},
     {asking("p", "wait")},
     {volume("v", "wait", "5Gi", for_claim("p", "uid-older"))},
     {kNone, kNone, kNone}},
    {"kept for it by its name, available or not",
     {"p"},
     {asking("p", "wait")},
     {volume("v", "wait", "5Gi",
             at("a",
                [](Volume& v) {
                  for_claim("p", "")(v);
                  v.status.phase = "Pending";
                })),
      volume("w", "wait")},
     {"", kNone, kNone}},
    {"made when it is asked for", {"p"}, {asking("p", "made")}, {}, {"", "", ""}},
    {"made where its class allows it", {"p"}, {asking("p", "elsewhere")}, {}, {kNone, "", kNone}},
    {"there or made",
     {"p"},
     {asking("p", "elsewhere")},
     {volume("v", "elsewhere", "5Gi", at("a"))},
     {"", "", kNone}},
    {"being made for a node", {"p"}, {asking("p", "made", "1Gi", selected("b"))}, {}, {kNone, "", kNone}},
    {"being made for a node that is gone",
     {"p"},
     {asking("p", "made", "1Gi", selected("z"))},
     {},
     {kNone, kNone, kNone}},
    {"being made for two nodes",
     {"p", "q"},
     {asking("p", "made", "1Gi", selected("b")), asking("q", "made", "1Gi", selected("a"))},
     {},
     {kNone, kNone, kNone}},
    {"being made: no other volume will do",
     {"p"},
     {asking("p", "made", "1Gi", selected("b"))},
     {volume("v", "made", "5Gi", at("a"))},
     {kNone, "", kNone}},
    {"nobody makes it", {"p", "q"}, {asking("p", "made"), asking("q", "wait")}, {}, {kNone, kNone, kNone}},
    {"storage: everywhere",
     {"p"},
     {asking("p", "counted")},
     {},
     {"", "", ""},
     {pool("s", "counted", "", "1Gi")}},
    {"storage: at a node",
     {"p"},
     {asking("p", "counted")},
     {},
     {kSpace, "", kSpace},
     {pool("s", "counted", "b", "1Gi")}},
    {"storage: none", {"p"}, {asking("p", "counted")}, {}, {kSpace, kSpace, kSpace}},
    {"storage: of another class",
     {"p"},
     {asking("p", "counted")},
     {},
     {kSpace, kSpace, kSpace},
     {pool("s", "made", "", "1Gi")}},
    {"storage: not enough",
     {"p"},
     {asking("p", "counted")},
     {},
     {kSpace, "", kSpace},
     {pool("s", "counted", "a", "1Mi"), pool("t", "counted", "b", "2Gi")}},
    {"storage: not for one volume",
     {"p"},
     {asking("p", "counted")},
     {},
     {kSpace, kSpace, kSpace},
     {pool("s", "counted", "", "1Gi", "1Mi")}},
    {"storage: not said",
     {"p"},
     {asking("p", "counted")},
     {},
     {kSpace, kSpace, kSpace},
     {pool("s", "counted", "", "")}},
    {"storage: nothing",
     {"p"},
     {asking("p", "counted")},
     {},
     {kSpace, kSpace, kSpace},
     {pool("s", "counted", "", "0")}},
    {"storage: a volume of no size",
     {"p"},
     {asking("p", "counted", "1Gi", [](Claim& c) { c.spec.resources.requests = {}; })},
     {},
     {"", "", ""}},
    {"storage: what is there needs none",
     {"p"},
     {asking("p", "counted")},
     {volume("v", "counted", "5Gi", at("c"))},
     {kSpace, kSpace, ""}},
};

TEST_CASE("a pod goes where its claims have volumes or can have them") {
  for (const FilterRow& row : kFilter) {
    INFO(row.name);
    Scene scene;
    scene.put_all(row.claims);
    scene.put_all(row.volumes);
    scene.put_all(row.pools);
    CHECK(scene.verdicts(make_pod("pod", "", "", claims(row.pod))) == row.said);
  }
}

TEST_CASE("an ephemeral claim has to be there, and the pod's own") {
  Scene scene;
  const auto pod = make_pod("db", "", "", volumes({ephemeral()}));
  CHECK(scene.verdicts(pod) ==
        Texts{R"(waiting for ephemeral volume controller to create the persistentvolumeclaim "db-v0")"});
  scene.put(having("db-v0", "v"));
  CHECK(scene.verdicts(pod) ==
        Texts{"PVC default/db-v0 was not created for pod default/db (pod is not owner)"});
  scene.put(having("db-v0", "v", [&](Claim& c) {
    auto& owner = c.metadata.owner_references.emplace_back();
    owner.uid = Symbol(pod->metadata.uid);
    owner.controller = true;
  }));
  scene.put(volume("v", "wait"));
  CHECK(scene.verdicts(pod) == Texts{"", "", ""});
}

TEST_CASE("what is wrong with classes and selectors is an error, and no reason of the pod's") {
  Scene scene;
  scene.put(make_class("odd", "driver", nullptr));
  scene.put(asking("p", "odd"));
  CHECK(
      scene.verdicts(make_pod("x", "", "", claims({"p"}))) ==
      Texts{R"(running PreFilter plugin "VolumeBinding": VolumeBindingMode not set for StorageClass "odd")"});
  scene.put(asking("q", "wait", "1Gi", [](Claim& c) {
    c.spec.selector.ensure().match_expressions.emplace_back().operator_ = "Near";
    c.spec.selector->match_expressions[0].key = "k";
  }));
  const Texts said = scene.verdicts(make_pod("y", "", "", claims({"q"})));
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("error creating internal label selector for claim: default/q: ") != std::string::npos);
}

TEST_CASE("volumes of plugins that moved to CSI drivers are where the drivers say") {
  struct Case {
    const char *name, *zone, *migrated;
    std::string said;
  };
  for (const Case& c : {Case{"in its zone", "us-east-1", "kubernetes.io/gce-pd", ""},
                        Case{"the node does not know the driver", "us-east-1", "", ""},
                        Case{"no CSINode", "us-east-2", nullptr, ""},
                        Case{"another plugin's", "us-east-2", "kubernetes.io/aws-ebs", ""},
                        Case{"in another zone", "us-east-2", "x,kubernetes.io/gce-pd", kConflict}}) {
    INFO(c.name);
    Scene scene;
    for (const char* name : {"a", "b", "c"}) scene.world.engine.remove_node(name);
    if (c.migrated != nullptr) scene.put(make_csi_node("n", {}, c.migrated));
    scene.world.engine.put_node(make_node(
        "n", "4", "8Gi", [&](api::Node& n) { n.metadata.labels["topology.gke.io/zone"] = c.zone; }));
    scene.put(having("p", "v"));
    scene.put(volume("v", "wait", "5Gi", [](Volume& v) {
      v.metadata.labels["failure-domain.beta.kubernetes.io/zone"] = "us-east-1";
      v.spec.gce_persistent_disk.ensure().pd_name = "disk";
    }));
    CHECK(scene.verdicts(make_pod("x", "", "", claims({"p"}))) == Texts{c.said});
  }
}

TEST_CASE("volumes and pools that come in the worst order cost no more than others") {
  CHECK(koord::test::growth(300, [&](std::size_t count) {
          Scene scene;
          for (std::size_t i = count; i > 0; --i) {
            const std::string name = fmt::format("{:06}", i);
            scene.put(pool(name.c_str(), "wait", "a", "1Gi"));
            scene.put(volume(name, "wait", std::to_string(i).c_str(), at("a")));
            scene.put(volume("for-" + name, "wait", "5Gi", for_claim("one", "uid-one")));
          }
        }) < koord::test::kMostGrowth);
}

}  // namespace
}  // namespace koord::scheduling::test
