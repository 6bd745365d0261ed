// VolumeBinding after its filter: scores, its arguments, what is assumed of volumes and claims, and which
// events help.
#include "plugins/volume_binding_world.hpp"

namespace koord::scheduling::test {
namespace {

// Scores

struct ScoreRow {
  const char* name;
  Texts pod;
  std::vector<std::shared_ptr<const Claim>> claims;
  std::vector<std::shared_ptr<const Volume>> volumes;
  std::vector<std::shared_ptr<const api::CsiStorageCapacity>> pools;
  const char* shape;
  std::vector<std::int64_t> scores;  // of the feasible ones of a, b and c
};

constexpr const char* kOwn =
    R"([{"utilization":0,"score":0},{"utilization":50,"score":3},{"utilization":100,"score":5}])";

const ScoreRow kScores[] = {
    {"volumes of about the size",
     {"p"},
     {asking("p", "wait", "50Gi")},
     {volume("a0", "wait", "200Gi", at("a")), volume("b0", "wait", "100Gi", at("b")),
      volume("b1", "wait", "300Gi", at("b"))},
     {},
     kFuller,
     {25, 50}},
    {"of two claims",
     {"p", "q"},
     {asking("p", "wait", "50Gi"), asking("q", "hdd", "100Gi")},
     {volume("a0", "wait", "200Gi", at("a")), volume("a1", "hdd", "200Gi", at("a")),
      volume("b0", "wait", "100Gi", at("b")), volume("b1", "hdd", "100Gi", at("b"))},
     {},
     kFuller,
     {38, 75}},
    {"a line of one's own",
     {"p"},
     {asking("p", "wait", "50Gi")},
     {volume("a0", "wait", "200Gi", at("a")), volume("b0", "wait", "100Gi", at("b"))},
     {},
     kOwn,
     {15, 30}},
    {"storage",
     {"p"},
     {asking("p", "counted", "10Gi")},
     {},
     {pool("a", "counted", "a", "100Gi"), pool("b", "counted", "b", "50Gi"),
      pool("c", "counted", "c", "10Gi")},
     kFuller,
     {10, 20, 100}},
    {"storage counts where no volume is there",
     {"p", "q"},
     {asking("p", "counted", "10Gi"), asking("q", "wait", "50Gi")},
     {volume("a0", "wait", "100Gi", at("a")), volume("b0", "wait", "100Gi", at("b")),
      volume("c0", "wait", "100Gi", at("c"))},
     {pool("a", "counted", "a", "100Gi"), pool("b", "counted", "b", "50Gi"),
      pool("c", "counted", "c", "10Gi")},
     kFuller,
     {50, 50, 50}},
    {"several claims take of the same",
     {"p", "q"},
     {asking("p", "counted", "50Gi"), asking("q", "counted", "50Gi")},
     {},
     {pool("a", "counted", "a", "100Gi")},
     kFuller,
     {100}},
    {"the emptier the better, if nothing is said",
     {"p"},
     {asking("p", "counted", "10Gi")},
     {},
     {pool("a", "counted", "a", "100Gi"), pool("b", "counted", "b", "20Gi"),
      pool("c", "counted", "c", "10Gi")},
     nullptr,
     {90, 50, 0}},
    {"bound claims have no say",
     {"p"},
     {having("p", "v")},
     {volume("v", "wait", "5Gi", at("b"))},
     {},
     kFuller,
     {}},
};

TEST_CASE("with the gate nodes are scored by how much of their storage is taken") {
  for (const ScoreRow& row : kScores) {
    INFO(row.name);
    Scene scene(with_shape(row.shape), scoring_gate());
    scene.put_all(row.claims);
    scene.put_all(row.volumes);
    scene.put_all(row.pools);
    std::vector<std::int64_t> scores;
    for (const auto& [node, score] : scene.scores(make_pod("pod", "", "", claims(row.pod))))
      scores.push_back(score);
    CHECK(scores == row.scores);
  }
}

TEST_CASE("the arguments of VolumeBinding are checked in Kubernetes' words") {
  struct Case {
    const char *name, *args;
    bool gate;
    const char* error;
  };
  const Case cases[] = {
      {"no timeout", R"({"bindTimeoutSeconds":0})", false, ""},
      {"a timeout", R"({"bindTimeoutSeconds":10})", false, ""},
      {"a negative one", R"({"bindTimeoutSeconds":-10})", false,
       "bindTimeoutSeconds: Invalid value: -10: invalid BindTimeoutSeconds, should not be a negative value"},
      {"a shape without the gate", R"({"shape":[{"utilization":1,"score":1}]})", false,
       "shape: Invalid value: [{\"Utilization\":1,\"Score\":1}]: unexpected field `shape`, remove it or turn "
       "on the "
       "feature gate StorageCapacityScoring"},
      {"not ascending", R"({"shape":[{"utilization":3,"score":3},{"utilization":1,"score":1}]})", true,
       "shape[1].utilization: Invalid value: 1: values must be sorted in increasing order"},
      {"out of range",
       R"({"shape":[{"utilization":-1,"score":1},{"utilization":10,"score":-1},{"utilization":20,"score":11},{"utilization":101,"score":1}]})",
       true,
       "[shape[0].utilization: Invalid value: -1: not in valid range [0, 100], shape[1].score: Invalid "
       "value: -1: not "
       "in valid range [0, 10], shape[2].score: Invalid value: 11: not in valid range [0, 10], "
       "shape[3].utilization: Invalid value: 101: not in valid range [0, 100]]"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    KubeSchedulerConfiguration config = volume_plugin("VolumeBinding");
    config.profiles[0].plugin_config.push_back({"VolumeBinding", {c.args}, {}});
    std::string said;
    REQUIRE(complete(config, plugin_table()).has_value());
    if (const Result<> valid = validate(config, plugin_table()); !valid) said = valid.error().message();
    try {
      World world(config, {}, plugin_table(), c.gate ? scoring_gate() : FeatureGates());
    } catch (const std::runtime_error& error) {
      said += error.what();
    }
    INFO(said);
    CHECK((*c.error == '\0' ? said.empty() : said.find(c.error) != std::string::npos));
  }
}

// Reserve

TEST_CASE("what is decided for one pod is taken for the next, until it is written or given back") {
  Scene scene;
  World& world = scene.world;
  scene.put(volume("v", "wait", "5Gi", at("b")));
  for (const char* name : {"p", "q"}) {
    scene.put(asking(name, "wait"));
    world.engine.put_pod(make_pod(name, "", "", claims({name})));
  }
  const std::vector<Decision> decisions = world.run();
  REQUIRE(decisions.size() == 2);
  CHECK(decisions[0].kind() == Decision::Kind::bind);
  CHECK(decisions[0].node() == "b");
  CHECK(decisions[0].as<Decision::Bind>()->pre_binds.size() == 1);
  CHECK(decisions[1].message() == fmt::format("0/3 nodes are available: 3 {}.", kNone));

  SECTION("its binding fails: the other pod gets the volume as soon as it is tried") {
    CHECK(world.engine.binding_failed(*decisions[0].pod));
    scene.put(volume("v", "wait", "5Gi", at("b", [](Volume& v) { v.metadata.resource_version = "2"; })));
    world.clock.advance(std::chrono::seconds(20));
    const auto again = world.run();
    REQUIRE(!again.empty());
    CHECK(again[0].kind() == Decision::Kind::bind);
  }
  SECTION("the API server has it: it stays taken, whatever becomes of the pod") {
    scene.put(volume("v", "wait", "5Gi", at("b", [](Volume& v) {
                       for_claim("p", "uid-p")(v);
                       v.metadata.resource_version = "2";
                     })));
    CHECK(world.engine.binding_failed(*decisions[0].pod));
    world.clock.advance(std::chrono::seconds(20));
    for (const Decision& d : world.run())
      CHECK((d.kind() == Decision::Kind::bind) == (d.pod->metadata.name == "p"));
  }
}

TEST_CASE("a claim whose volume is to be made keeps its node until that is given back") {
  Scene scene;
  World& world = scene.world;
  scene.put(asking("p", "made"));
  const auto one = make_pod("one", "", "", claims({"p"})), two = make_pod("two", "", "", claims({"p"}));
  world.engine.put_pod(one);
  const Decision first = world.one();
  REQUIRE(first.kind() == Decision::Kind::bind);
  world.engine.put_pod(two);
  const Decision second = world.one();
  CHECK(second.node() == first.node());
  CHECK(scene.verdicts(make_pod("x", "", "", claims({"p"}))) == Texts{first.node() == "a" ? "" : kNone,
                                                                      first.node() == "b" ? "" : kNone,
                                                                      first.node() == "c" ? "" : kNone});
  world.engine.binding_failed(*two);
  world.engine.binding_failed(*one);
  CHECK(scene.verdicts(make_pod("x", "", "", claims({"p"}))) == Texts{"", "", ""});
}

TEST_CASE("who has all of his volumes waits for nothing") {
  Scene scene;
  scene.put(having("p", "v"));
  scene.put(volume("v", "wait", "5Gi", at("b")));
  scene.world.engine.put_pod(make_pod("x", "", "", claims({"p"})));
  const Decision d = scene.world.one();
  CHECK(d.node() == "b");
  CHECK(d.as<Decision::Bind>()->pre_binds.empty());
  // Pods without claims cost nothing after the choice of a node: nobody is told how their bindings end.
  CHECK(d.tells_end());
  scene.world.engine.put_pod(make_pod("without"));
  CHECK_FALSE(scene.world.one().tells_end());
}

// Events

TEST_CASE("pods are tried again when their claims, volumes or storage change for the better") {
  struct Case {
    const char* name;
    const char* storage_class;  // of the claim of the pod that waits
    std::function<void(Scene&)> before, event;
    bool again;
  };
  const auto capacity = [](const char* size) {
    return [=](Scene& s) { s.put(pool("s", "counted", "", size)); };
  };
  const auto nothing = [](Scene&) {};
  const Case cases[] = {
      {"the claim changes", "wait", nothing, [](Scene& s) { s.put(asking("p", "made")); }, true},
      {"another claim changes", "wait", nothing, [](Scene& s) { s.put(asking("q", "made")); }, false},
      {"a claim of its name elsewhere", "wait", nothing,
       [](Scene& s) { s.put(asking("p", "made", "1Gi", [](Claim& c) { c.metadata.namespace_ = "other"; })); },
       false},
      {"a volume comes", "wait", nothing, [](Scene& s) { s.put(volume("v", "wait")); }, true},
      {"a class comes", "wait", nothing, [](Scene& s) { s.put(make_class("new", "driver")); }, true},
      {"a class changes its parameters", "wait", nothing,
       [](Scene& s) {
         s.put(make_object<api::StorageClass>("made", [](api::StorageClass& c) { c.provisioner = "other"; }));
       },
       false},
      {"a class allows more", "wait", nothing, [](Scene& s) { s.put(make_class("elsewhere", "driver")); },
       true},
      {"a node comes", "wait", nothing, [](Scene& s) { s.world.engine.put_node(make_node("d")); }, true},
      {"a node gets a label", "wait", nothing,
       [](Scene& s) {
         s.world.engine.put_node(
             make_node("a", "4", "8Gi", [](api::Node& n) { n.metadata.labels["x"] = "y"; }));
       },
       true},
      {"storage comes", "counted", nothing, capacity("1Gi"), true},
      {"there is more of it", "counted", capacity("1Mi"), capacity("2Mi"), true},
      {"there is less of it", "counted", capacity("2Mi"), capacity("1Mi"), false},
      {"a node has drivers now", "wait", nothing, [](Scene& s) { s.put(make_csi_node("a", {})); }, true},
      {"a plugin moves to a driver", "wait", [](Scene& s) { s.put(make_csi_node("a", {})); },
       [](Scene& s) { s.put(make_csi_node("a", {}, "kubernetes.io/gce-pd")); }, true},
      {"a driver's limits change", "wait", [](Scene& s) { s.put(make_csi_node("a", {})); },
       [](Scene& s) {
         s.put(make_csi_node("a", {{"driver", 3}}));
       },
       false},
      // As upstream has it: of drivers that the pod names itself.
      {"a driver stops counting", "counted", nothing,
       [](Scene& s) { s.put(driver("counting-driver", false)); }, false},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Scene scene;
    scene.put(asking("p", c.storage_class));
    c.before(scene);
    scene.world.engine.put_pod(make_pod("x", "", "", claims({"p"})));
    REQUIRE(scene.world.one().kind() == Decision::Kind::unschedulable);
    CHECK(tried_after(scene.world, [&](Engine&) { c.event(scene); }) == c.again);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
