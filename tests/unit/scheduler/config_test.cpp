// KubeSchedulerConfiguration: defaults, strictness, what is wrong with a file, and the order of plugins.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include "koord/scheduling/config/extension_point.hpp"

#include "koord/runtime/config.hpp"
#include "koord/runtime/write_config.hpp"
#include "options/flags.hpp"
#include "support/tsv.hpp"
#include "world.hpp"

namespace koord::scheduler::test {
namespace {

using namespace scheduling::test;

const std::string kHead = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

Result<scheduling::KubeSchedulerConfiguration> read(const std::string& text) {
  Result<scheduling::KubeSchedulerConfiguration> config{scheduling::KubeSchedulerConfiguration()};
  json::LineMap lines;
  auto done = runtime::read_config(kHead + text, "f.yaml",
                                   api::schema<scheduling::KubeSchedulerConfiguration>(), &*config, &lines);
  if (!done) return std::move(done).error();
  if (auto completed = scheduling::complete(*config, scheduling::plugin_table()); !completed)
    return runtime::located(completed.error(), "f.yaml", lines);
  if (auto valid = validate(*config, scheduling::plugin_table()); !valid)
    return runtime::located(valid.error(), "f.yaml", lines);
  return config;
}

TEST_CASE("an empty file is kube-scheduler") {
  auto c = read("");
  REQUIRE(c.has_value());
  REQUIRE(c->profiles.size() == 1);
  CHECK(*c->profiles[0].scheduler_name == "default-scheduler");
  CHECK(c->leader_election.resource_name == "kube-scheduler");
  CHECK(c->leader_election.resource_namespace == "kube-system");
  CHECK(c->leader_election.lease_duration.value == std::chrono::seconds(15));
  CHECK(c->client_connection.qps == 50);
  CHECK(c->client_connection.burst == 100);
  CHECK(*c->pod_max_backoff_seconds == 10);
  CHECK(*c->parallelism == 16);
}

TEST_CASE("without a file koord runs the profile of Koordinator's manifests") {
  scheduling::Configuration own;
  own.config = scheduling::own_defaults();
  REQUIRE(scheduling::finish(own, scheduling::plugin_table()).has_value());
  const std::vector<std::string> arguments{"--config=" + koord::test::golden("scheduler/manifest-v1.8.yaml")};
  const std::vector<runtime::FlagOwner> owners{{"scheduler", flags()}};
  auto line = runtime::parse_flags(arguments, {"", {}}, owners);
  REQUIRE(line.has_value());
  auto shipped = read_configuration(line->roles.find("scheduler")->second);
  REQUIRE(shipped.has_value());
  CHECK(api::encode(own.config.profiles[0]) == api::encode(shipped->config.profiles[0]));
}

TEST_CASE("Koordinator's semantics are on with any file, unless a flag says otherwise") {
  char folder[] = "/tmp/koord-plain-config-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string plain = std::string(folder) + "/config";
  std::ofstream(plain) << kHead;
  const auto read_with = [&](std::vector<std::string> arguments) {
    arguments.push_back("--config=" + plain);
    const std::vector<runtime::FlagOwner> owners{{"scheduler", flags()}};
    auto line = runtime::parse_flags(arguments, {"", {}}, owners);
    REQUIRE(line.has_value());
    auto configuration = read_configuration(line->roles.find("scheduler")->second);
    REQUIRE(configuration.has_value());
    return std::move(*configuration);
  };
  const auto pre_binds = [](const scheduling::Configuration& c) {
    std::string all;
    for (const scheduling::PluginRef& p : c.config.profiles[0].plugins->pre_bind.enabled) all += p.name;
    return all;
  };
  const scheduling::Configuration usual = read_with({});
  CHECK(usual.koordinators);
  CHECK(pre_binds(usual) == "DefaultPreBind");
  const scheduling::Configuration kube = read_with({"--koordinator-semantics=false"});
  CHECK_FALSE(kube.koordinators);
  CHECK(pre_binds(kube).empty());
  std::filesystem::remove_all(folder);
}

TEST_CASE("without a file koord is itself alone") {
  auto c = scheduling::own_defaults();
  REQUIRE(scheduling::complete(c, scheduling::plugin_table()).has_value());
  REQUIRE(validate(c, scheduling::plugin_table()).has_value());
  CHECK(*c.profiles[0].scheduler_name == "koord-scheduler");
  CHECK(c.leader_election.resource_name == "koord-scheduler");
  CHECK(c.leader_election.resource_namespace == "koordinator-system");
}

struct Bad {
  const char* name;
  std::string text;
  std::string message;  // is part of the error
};

TEST_CASE("mistakes are named") {
  const Bad kCases[] = {
      {"unknown field", "parallelism: 16\nparallel: 1\n", "f.yaml:4"},
      {"unknown nested field", "profiles:\n- schedulerName: a\n  plugin: {}\n", "f.yaml:5"},
      {"duplicate key", "parallelism: 1\nparallelism: 2\n", "f.yaml:4"},
      {"bad YAML", "profiles: [\n", "f.yaml:"},
      {"brackets", "profiles: " + std::string(400'000, '[') + "\n", "f.yaml:3: nested too deeply"},
      {"brackets in arguments",
       "profiles:\n- pluginConfig: [{name: NodeAffinity, args: {a: " + std::string(100, '[') +
           std::string(100, ']') + "}}]\n",
       "f.yaml:4: nested too deeply"},
      {"parallelism", "parallelism: 0\n",
       "parallelism: Invalid value: 0: should be an integer value greater than zero"},
      {"percentage", "percentageOfNodesToScore: 101\n",
       "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"},
      {"initial backoff", "podInitialBackoffSeconds: 0\n",
       "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"},
      {"maximal backoff", "podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 4\n",
       "must be greater than or equal to PodInitialBackoffSeconds"},
      {"name twice", "profiles:\n- schedulerName: a\n- schedulerName: a\n",
       "profiles[1].schedulerName: Duplicate value: profiles[0].schedulerName"},
      {"no name", "profiles:\n- schedulerName: a\n- {}\n", "profiles[1].schedulerName: Required value"},
      {"removed plugin", "profiles:\n- plugins: {filter: {enabled: [{name: EBSLimits}]}}\n",
       "profiles[0].plugins.filter.enabled[0]: Invalid value: \"EBSLimits\": was invalid in version"},
      {"two queue sorts",
       "profiles:\n- plugins: {queueSort: {enabled: [{name: PrioritySort}, {name: Other}]}}\n",
       "only one queue sort plugin can be enabled"},
      {"unknown argument",
       "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args:\n      ignored: []\n",
       "f.yaml:7: .profiles[0].pluginConfig[0].args.ignored: "},
      {"mistyped argument",
       "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args:\n      scoringStrategy:\n"
       "        resources:\n        - name: cpu\n          weight: much\n",
       "f.yaml:10: .profiles[0].pluginConfig[0].args.scoringStrategy.resources[0].weight: "},
      {"arguments of another kind",
       "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: {kind: NodeAffinityArgs}\n",
       "f.yaml:6: .profiles[0].pluginConfig[0].args.kind: "},
      {"argument out of range",
       "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args:\n      scoringStrategy:\n"
       "        type: MostAllocated\n        resources:\n        - name: cpu\n          weight: 101\n",
       "f.yaml:11: profiles[0].pluginConfig[0].args.scoringStrategy.resources[0].weight: Invalid value: 101"},
      {"args twice",
       "profiles:\n- pluginConfig: [{name: NodeAffinity, args: {}}, {name: NodeAffinity, args: {}}]\n",
       "profiles[0].pluginConfig[1]: Duplicate value: \"NodeAffinity\""},
      {"weight",
       "profiles:\n- pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, "
       "resources: [{name: cpu, weight: 101}]}}}]\n",
       "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range "
       "(0, "
       "100]"},
      {"strategy",
       "profiles:\n- pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Best}}}]\n",
       "Unsupported value: \"Best\": supported values: \"LeastAllocated\", \"MostAllocated\""},
      {"shape",
       "profiles:\n- pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: "
       "RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 50, score: 1}, "
       "{utilization: 50, score: 2}]}}}}]\n",
       "shape[1].utilization: Invalid value: 50: values must be sorted in increasing order"},
      {"balanced weight",
       "profiles:\n- pluginConfig: [{name: NodeResourcesBalancedAllocation, args: {resources: [{name: cpu, "
       "weight: 2}]}}]\n",
       "resources[0].weight: Invalid value: 2: must be 1"},
      {"lock", "leaderElection: {resourceLock: endpoints}\n", "resourceLock value must be \"leases\""},
      {"lease", "leaderElection: {leaseDuration: 5s}\n", "must be greater than `RenewDeadline`"},
      {"a weight of an extender", "extenders: [{urlPrefix: \"http://a\", prioritizeVerb: p}]\n",
       "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"},
      {"a weight of another, with all that an extender may say",
       "extenders: [{urlPrefix: \"https://a\", filterVerb: f, preemptVerb: v, prioritizeVerb: p, bindVerb: "
       "b, weight: -1,"
       " enableHTTPS: true, httpTimeout: 3s, nodeCacheCapable: true, ignorable: true,"
       " managedResources: [{name: example.com/a, ignoredByScheduler: true}],"
       " tlsConfig: {insecure: true, serverName: a, certFile: c, keyFile: k, caFile: f, certData: Yw==, "
       "keyData: aw==,"
       " caData: Zg==}}]\n",
       "extenders[0].weight: Invalid value: -1: must have a positive weight applied to it"},
      {"two extenders that bind",
       "extenders: [{urlPrefix: \"http://a\", bindVerb: b}, {urlPrefix: \"http://b\", bindVerb: b}]\n",
       "extenders: Invalid value: \"found 2 extenders implementing bind\": only one extender can implement "
       "bind"},
      {"a resource of two extenders",
       "extenders: [{urlPrefix: \"http://a\", managedResources: [{name: example.com/a}]},"
       " {urlPrefix: \"http://b\", managedResources: [{name: example.com/a}]}]\n",
       "extenders[1].managedResources[0].name: Invalid value: \"example.com/a\": duplicate extender managed "
       "resource name"},
      {"a resource that is none of an extender's",
       "extenders: [{urlPrefix: \"http://a\", managedResources: [{name: kubernetes.io/foo}]}]\n",
       "extenders[0].managedResources[0].name: Invalid value: \"kubernetes.io/foo\": is an invalid extended "
       "resource name"},
      {"a resource with a bad name",
       "extenders: [{urlPrefix: \"http://a\", managedResources: [{name: \"example.com/a/b\"}]}]\n",
       "extenders[0].managedResources[0].name: Invalid value: \"example.com/a/b\": a valid label key must"},
  };
  for (const Bad& c : kCases) {
    INFO(c.name);
    auto config = read(c.text);
    REQUIRE_FALSE(config.has_value());
    CHECK_THAT(config.error().message(), Catch::Matchers::Contains(c.message));
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : " ") + name;
  return all;
}

template <class Points>
std::string names(const scheduling::Profile& profile, const Points& points) {
  std::vector<std::string> all;
  for (const auto& point : points) all.emplace_back(profile.plugin_name(point.index));
  return joined(all);
}

Result<scheduling::Profile> built(const std::string& text, scheduling::Engine& engine) {
  auto c = read(text);
  if (!c) return std::move(c).error();
  auto profiles = scheduling::build_profiles(*c, scheduling::plugin_table(), engine.context());
  if (!profiles) return std::move(profiles).error();
  return std::move(profiles->front());
}

TEST_CASE("the order of filters and the weights of scores") {
  struct Order {
    std::string text, filters, scores;
  };
  const std::string kLast =
      " NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
      "InterPodAffinity "
      "DynamicResources";
  const std::string kFilters = "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts" + kLast;
  const std::string kScores =
      "TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 "
      "InterPodAffinity=2 DynamicResources=2 "
      "NodeResourcesBalancedAllocation=1 ImageLocality=1";
  const Order kCases[] = {
      {"", kFilters, kScores},
      {"profiles:\n- plugins: {filter: {enabled: [{name: NodePorts}]}}\n",
       "NodePorts NodeUnschedulable NodeName TaintToleration NodeAffinity" + kLast, kScores},
      {"profiles:\n- plugins: {preFilter: {disabled: [{name: '*'}]}, "
       "filter: {disabled: [{name: '*'}], enabled: [{name: NodeName}]}}\n",
       "NodeName", kScores},
      {"profiles:\n- plugins: {multiPoint: {disabled: [{name: NodeAffinity}]}}\n",
       "NodeUnschedulable NodeName TaintToleration NodePorts" + kLast,
       "TaintToleration=3 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 InterPodAffinity=2 "
       "DynamicResources=2 "
       "NodeResourcesBalancedAllocation=1 "
       "ImageLocality=1"},
      {"profiles:\n- plugins: {multiPoint: {enabled: [{name: NodeAffinity, weight: 7}]}}\n", kFilters,
       "TaintToleration=3 NodeAffinity=7 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 "
       "InterPodAffinity=2 DynamicResources=2 "
       "NodeResourcesBalancedAllocation=1 "
       "ImageLocality=1"},
      {"profiles:\n- plugins: {score: {disabled: [{name: TaintToleration}], enabled: [{name: "
       "NodeResourcesFit, "
       "weight: 5}]}}\n",
       kFilters,
       "NodeResourcesFit=5 NodeAffinity=2 VolumeBinding=1 PodTopologySpread=2 InterPodAffinity=2 "
       "DynamicResources=2 "
       "NodeResourcesBalancedAllocation=1 "
       "ImageLocality=1"},
  };
  for (const Order& c : kCases) {
    INFO(c.text);
    ManualClock clock;
    scheduling::Engine engine(clock, {});
    auto profile = built(c.text, engine);
    REQUIRE(profile.has_value());
    std::string scores;
    for (const auto& s : profile->scores)
      scores += (scores.empty() ? "" : " ") + std::string(profile->plugin_name(s.index)) + "=" +
                std::to_string(s.weight);
    CHECK(names(*profile, profile->filters) == c.filters);
    CHECK(scores == c.scores);
  }
}

TEST_CASE("what a configuration leaves out at preFilter and preScore is left out") {
  const auto world = [](const std::string& plugins) {
    auto config = read(fmt::format("profiles:\n- plugins: {{{}}}\n", plugins));
    REQUIRE(config.has_value());
    auto made = std::make_unique<World>(*config);
    made->engine.put_node(make_node("m"));
    made->engine.put_node(make_node("n"));
    return made;
  };
  const auto pod = make_pod("p", "1", "1Mi", [](api::Pod& p) {
    auto& required = p.spec.affinity.ensure().node_affinity.ensure().required.ensure();
    auto& field = required.node_selector_terms.emplace_back().match_fields.emplace_back();
    field.key = "metadata.name";
    field.operator_ = "In";
    field.values = {"gone"};
  });
  const auto told = [&](const std::string& plugins) {
    const auto w = world(plugins);
    w->engine.put_pod(pod);
    return w->one().message();
  };
  CHECK(told("") == "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity].");
  CHECK(told("preFilter: {disabled: [{name: NodeAffinity}]}") ==
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.");
  // The filter alone is left out: the nodes are narrowed down, their labels are not looked at.
  CHECK(told("filter: {disabled: [{name: NodeAffinity}]}") ==
        "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity].");
  const auto w = world("filter: {disabled: [{name: NodeAffinity}]}");
  w->engine.put_pod(changed(pod, [](api::Pod& p) {
    p.spec.affinity->node_affinity->required->node_selector_terms[0].match_fields[0].values = {"n"};
    p.spec.node_selector["none"] = "has it";
  }));
  CHECK(w->one().node() == "n");

  // A pod that asks for nothing is excused by PreScore.
  const auto scored = [&](const std::string& plugins) {
    const auto v = world(plugins);
    return v->engine.evaluate(v->engine.profiles()[0], make_pod("p", "", "")).score(0);
  };
  CHECK(scored("preScore: {disabled: [{name: NodeResourcesBalancedAllocation}]}") == scored("") + 100);

  ManualClock clock;
  scheduling::Engine engine(clock, {});
  const auto wrong = built("profiles:\n- plugins: {preFilter: {enabled: [{name: NodeName}]}}\n", engine);
  REQUIRE(wrong.has_error());
  CHECK_THAT(wrong.error().message(),
             Catch::Matchers::Contains("plugin \"NodeName\" does not extend PreFilterPlugin plugin"));
}

TEST_CASE("profiles that cannot be made") {
  const Bad kCases[] = {
      {"unknown", "profiles:\n- plugins: {filter: {enabled: [{name: Nonsense}]}}\n",
       "\"Nonsense\" does not exist"},
      {"wrong point", "profiles:\n- plugins: {filter: {enabled: [{name: PrioritySort}]}}\n",
       "plugin \"PrioritySort\" does not extend FilterPlugin plugin"},
      {"preparation that upstream's has not",
       "profiles:\n- plugins: {preScore: {enabled: [{name: DynamicResources}]}}\n",
       "plugin \"DynamicResources\" does not extend PreScorePlugin plugin"},
      {"twice", "profiles:\n- plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}\n",
       "plugin \"NodeName\" already registered as \"FilterPlugin\""},
      {"no queue sort", "profiles:\n- plugins: {queueSort: {disabled: [{name: '*'}]}}\n",
       "only one queue sort plugin required for profile with scheduler name \"default-scheduler\", but got "
       "0"},
      {"no binder", "profiles:\n- plugins: {bind: {disabled: [{name: '*'}]}}\n",
       "at least one bind plugin is needed for profile with scheduler name \"default-scheduler\""},
  };
  for (const Bad& c : kCases) {
    INFO(c.name);
    ManualClock clock;
    scheduling::Engine engine(clock, {});
    auto profile = built(c.text, engine);
    REQUIRE_FALSE(profile.has_value());
    CHECK_THAT(profile.error().message(), Catch::Matchers::Contains(c.message));
  }
}

TEST_CASE("the profiles that Koordinator ships are run as far as koord has their plugins") {
  struct Shipped {
    const char* file;
    std::string missing;
    const char* last_filters;
    const char* post_filters;
  };
  const Shipped kFiles[] = {
      {"scheduler/chart-v1.8.0.yaml", "",
       "Reservation LoadAwareScheduling NodeNUMAResource DeviceShare SchedulingHint",
       "DynamicResources Reservation Coscheduling ElasticQuota"},
      {"scheduler/manifest-v1.8.yaml", "",
       "LoadAwareScheduling NodeNUMAResource DeviceShare Reservation SchedulingHint",
       "DynamicResources Reservation Coscheduling ElasticQuota DefaultPreemption"},
  };
  for (const Shipped& shipped : kFiles) {
    INFO(shipped.file);
    const std::vector<std::string> arguments{"--config=" + koord::test::golden(shipped.file)};
    const std::vector<runtime::FlagOwner> owners{{"scheduler", flags()}};
    auto line = runtime::parse_flags(arguments, {"", {}}, owners);
    REQUIRE(line.has_value());
    auto read = read_configuration(line->roles.find("scheduler")->second);
    if (!read) FAIL(read.error().message());
    const scheduling::KubeSchedulerConfiguration& config = read->config;
    CHECK(config.leader_election.resource_namespace == "koordinator-system");
    CHECK(read->koordinators);
    REQUIRE(config.profiles.size() == 1);
    CHECK(*config.profiles[0].scheduler_name == "koord-scheduler");
    ManualClock clock;
    scheduling::Engine engine(clock, {});
    auto profiles = scheduling::build_profiles(config, scheduling::plugin_table(), engine.context());
    if (!profiles) FAIL(profiles.error().message());
    const scheduling::Profile* profile = &profiles->front();
    CHECK(joined(profile->missing) == shipped.missing);
    // The chart's leaves it to Coscheduling to look for victims, of pods that are alone, too.
    CHECK(names(*profile, profile->post_filters) == shipped.post_filters);
    CHECK(names(*profile, profile->filters) ==
          std::string("NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit "
                      "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
                      "InterPodAffinity DynamicResources ") +
              shipped.last_filters);
    CHECK(names(*profile, profile->scores) ==
          "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
          "DynamicResources NodeResourcesBalancedAllocation "
          "ImageLocality LoadAwareScheduling NodeNUMAResource DeviceShare Reservation Coscheduling");
    CHECK(names(*profile, profile->binds) == "Reservation DefaultBinder");
    // Batch resources count in the score, as the file says, and /configz shows it.
    CHECK(api::encode(config).find("kubernetes.io/batch-cpu") != std::string::npos);
  }
}

TEST_CASE("the configuration that is written is read as it was") {
  auto config = read("parallelism: 3\nprofiles:\n- schedulerName: a\n- schedulerName: b\n");
  REQUIRE(config.has_value());
  char folder[] = "/tmp/koord-write-config-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string file = std::string(folder) + "/config";
  REQUIRE(runtime::write_config(api::encode(*config), file).has_value());
  const std::vector<std::string> arguments{"--config=" + file, "--koordinator-semantics=false"};
  const auto line =
      runtime::parse_flags(arguments, {"", {}}, std::vector<runtime::FlagOwner>{{"scheduler", flags()}});
  REQUIRE(line.has_value());
  const auto again = read_configuration(line->roles.find("scheduler")->second);
  std::filesystem::remove_all(folder);
  if (!again) FAIL(again.error().message());
  CHECK(api::encode(again->config) == api::encode(*config));

  CHECK(runtime::write_config(api::encode(*config), "/dev/null").has_value());
  const auto bad = runtime::write_config(api::encode(*config), "/none/such");
  REQUIRE(bad.has_error());
  CHECK(bad.error().message() == "/none/such.new: No such file or directory");
}

TEST_CASE("each extension point has its place on a pod's way") {
  std::vector<std::string> points, way;
  for (const scheduling::ExtensionPoint& p : scheduling::extension_points()) points.push_back(p.label());
  for (const scheduling::CyclePoint& w : scheduling::cycle_points())
    if (!w.koordinators) way.emplace_back(w.name);
  CHECK(way == points);
}

}  // namespace
}  // namespace koord::scheduler::test
