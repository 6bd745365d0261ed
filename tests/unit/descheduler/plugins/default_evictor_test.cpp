// DefaultEvictor: sigs' rows of its filters (46 and 10), protections (8 and 3), profiles with selectors of
// their own (1) and validation (18); its reinitialization (1 row) is about informers' indexes, of which there
// are none here.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "evictions/pod_evictions.hpp"
#include "framework/node_fit.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/event_recorder.hpp"
#include "plugins/default_evictor/filters.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "unit/descheduler/plugins/rows.hpp"
#include "unit/descheduler/write_watch.hpp"

namespace koord::descheduler {

extern const PluginEntry kDefaultEvictor;

namespace default_evictor {

namespace {

struct Row {
  const char* name;
  std::vector<std::string> pods;  // the first is asked about
  std::string args;
  bool goes = false;
  std::vector<std::string> nodes = {};
  std::vector<std::string> budgets = {};                           // of pods with app=NAME
  std::vector<std::pair<std::string, std::string>> claims = {};    // and their storage classes
  std::vector<std::pair<std::string, std::int32_t>> classes = {};  // priority classes
  std::vector<std::string> namespaces = {};                        // "NAME LABEL=VALUE"
};

DefaultEvictorArgs args_of(const std::string& json) {
  DefaultEvictorArgs args;
  if (const auto read = api::decode_strict(json, api::schema<DefaultEvictorArgs>(), &args); !read)
    throw std::runtime_error(read.error().message());
  return args;
}

/// Why the first pod stays, by the filters, and by those just before the eviction.
struct Answers {
  std::string at_all, now;
};
Answers ask(const Row& row) {
  CHECK(test::why_refused(kDefaultEvictor, row.args).empty());
  SnapshotObjects objects;
  for (const std::string& node : row.nodes) objects.nodes.push_back(test::node_of(node));
  for (const std::string& pod : row.pods) objects.pods.push_back(test::pod_of(pod));
  const PodPtr asked = objects.pods.front();
  for (const std::string& app : row.budgets) {
    auto budget = std::make_shared<api::PodDisruptionBudget>();
    budget->metadata.name = app;
    budget->metadata.namespace_ = "default";
    budget->spec.selector.ensure().match_labels["app"] = app;
    objects.budgets.push_back(budget);
  }
  for (const auto& [name, value] : row.classes) {
    auto made = std::make_shared<api::PriorityClass>();
    made->metadata.name = name;
    made->value = value;
    objects.priority_classes.push_back(made);
  }
  for (const std::string& text : row.namespaces) {
    auto ns = std::make_shared<api::Namespace>();
    ns->metadata.name = text.substr(0, text.find(' '));
    const std::string label = text.substr(text.find(' ') + 1);
    ns->metadata.labels[label.substr(0, label.find('='))] = label.substr(label.find('=') + 1);
    objects.namespaces.push_back(ns);
  }
  FakePass pass(std::move(objects), test::kRowsNow);
  BasicNodeFit fit(pass.snapshot());
  pass.fit = [&](const api::Pod& pod, const NodeView& node) { return fit.fits(pod, node); };
  Filters filters(args_of(row.args), {.snapshot = [&] { return &pass.snapshot(); },
                                      .pass = [&] { return &pass; },
                                      .claim =
                                          [&](std::string_view, std::string_view name) {
                                            std::shared_ptr<api::PersistentVolumeClaim> found;
                                            for (const auto& [its, storage] : row.claims) {
                                              if (its != name) continue;
                                              found = std::make_shared<api::PersistentVolumeClaim>();
                                              found->spec.storage_class_name = storage;
                                            }
                                            return found;
                                          }});
  return {filters.why_not(*asked), filters.why_not_now(*asked)};
}

const std::string kEvict = " annotation:descheduler.alpha.kubernetes.io/evict=true";
const std::string kStay = " annotation:descheduler.alpha.kubernetes.io/prefer-no-eviction=";
const std::string kCritical = " prio=2000000000";
const std::string kLocal = " local";
const std::string kThreshold = R"("priorityThreshold":{"value":800})";
const std::string kPvc =
    R"( {"spec":{"volumes":[{"name":"pvc","persistentVolumeClaim":{"claimName":"foo"}}]}})";
const std::string kPvcs =
    R"( {"spec":{"volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"protected"}},)"
    R"({"name":"b","persistentVolumeClaim":{"claimName":"unprotected"}}]}})";

std::string protects(const std::string& storage) {
  return R"({"podProtections":{"extraEnabled":["PodsWithPVC"],"config":{"PodsWithPVC":{)"
         R"("protectedStorageClasses":[{"name":")" +
         storage + R"("}]}}}})";
}
std::string enables(const std::string& name) {
  return R"({"podProtections":{"extraEnabled":[")" + name + R"("]}})";
}
std::string disables(const std::string& name) {
  return R"({"podProtections":{"defaultDisabled":[")" + name + R"("]}})";
}
std::string started(const std::string& time) { return R"( {"status":{"startTime":")" + time + R"("}})"; }

}  // namespace

TEST_CASE("DefaultEvictor lets go whom sigs' lets go: 46 rows") {
  const std::string ten = started("2023-11-14T22:03:20Z"), sixty = started("2023-11-14T21:13:20Z");
  const std::string rs = " owner=ReplicaSet/r", two_of = " owner=ReplicaSet/same";
  const std::vector<Row> rows = {
      {"failed, no owner", {"p node1 bare phase=Failed"}, "{}"},
      {"no owner, failed ones may go", {"p node1 bare"}, R"({"evictFailedBarePods":true})"},
      {"failed, no owner, failed ones may go",
       {"p node1 bare phase=Failed"},
       R"({"evictFailedBarePods":true})",
       true},
      {"owned", {"p1 node1"}, "{}", true},
      {"owned, annotation", {"p2 node1" + kEvict}, "{}", true},
      {"prefers to stay", {"p2 node1" + kStay}, "{}", true},
      {"prefers to stay, which is heeded", {"p2 node1" + kStay}, R"({"noEvictionPolicy":"Mandatory"})"},
      {"ReplicaSet", {"p3 node1" + rs}, "{}", true},
      {"ReplicaSet, annotation", {"p4 node1" + rs + kEvict}, "{}", true},
      {"StatefulSet", {"p18 node1 owner=StatefulSet/s"}, "{}", true},
      {"StatefulSet, annotation", {"p19 node1 owner=StatefulSet/s" + kEvict}, "{}", true},
      {"local storage", {"p5 node1" + kLocal}, "{}"},
      {"local storage may go", {"p6 node1" + kLocal}, R"({"evictLocalStoragePods":true})", true},
      {"local storage, annotation", {"p7 node1" + kLocal + kEvict}, "{}", true},
      {"DaemonSet", {"p8 node1 owner=DaemonSet/d"}, "{}"},
      {"DaemonSet, annotation", {"p9 node1 owner=DaemonSet/d" + kEvict}, "{}", true},
      {"mirror pod", {"p10 node1 mirror"}, "{}"},
      {"mirror pod, annotation", {"p11 node1 mirror" + kEvict}, "{}", true},
      {"system critical", {"p12 node1" + kCritical}, "{}"},
      {"system critical, annotation", {"p13 node1" + kCritical + kEvict}, "{}", true},
      {"above the threshold", {"p14 node1 prio=900"}, "{" + kThreshold + "}"},
      {"above the threshold, annotation", {"p15 node1 prio=900" + kEvict}, "{" + kThreshold + "}", true},
      {"system critical may go", {"p16 node1" + kCritical}, R"({"evictSystemCriticalPods":true})", true},
      {"system critical may go, annotation",
       {"p16 node1" + kCritical + kEvict},
       R"({"evictSystemCriticalPods":true})",
       true},
      {"above the threshold, system critical may go",
       {"p17 node1 prio=900"},
       R"({"evictSystemCriticalPods":true,)" + kThreshold + "}",
       true},
      {"the same, annotation",
       {"p17 node1 prio=900" + kEvict},
       R"({"evictSystemCriticalPods":true,)" + kThreshold + "}",
       true},
      {"node fit is asked later",
       {"p1 node1"},
       R"({"nodeFit":true})",
       true,
       {"node2 taint:hardware=gpu:NoSchedule", "node3 taint:hardware=gpu:NoSchedule"}},
      {"minReplicas 2 of 2", {"p1 node1" + two_of, "p2 node1" + two_of}, R"({"minReplicas":2})", true},
      {"minReplicas 3 of 2", {"p1 node1" + two_of, "p2 node1" + two_of}, R"({"minReplicas":3})"},
      {"minReplicas, several owners",
       {"p1 node1" + two_of + " owner=Pod/q", "p2 node1"},
       R"({"minReplicas":2})",
       true},
      {"too young", {"p1 node1" + ten}, R"({"minPodAge":"50m"})"},
      {"old enough", {"p1 node1" + sixty}, R"({"minPodAge":"50m"})", true},
      {"no age is asked for", {"p1 node1" + sixty}, "{}", true},
      {"no budget", {"p1 node1 label:app=foo"}, R"({"ignorePodsWithoutPDB":true})"},
      {"a budget", {"p1 node1 label:app=foo"}, R"({"ignorePodsWithoutPDB":true})", true, {}, {"foo"}},
      {"claims stay", {"p15 node1" + kPvc}, R"({"ignorePvcPods":true})"},
      {"claims may go", {"p15 node1" + kPvc}, "{}", true},
      {"local storage is not protected", {"p18 node1" + kLocal}, disables("PodsWithLocalStorage"), true},
      {"DaemonSets are not protected", {"p19 node1 owner=DaemonSet/d"}, disables("DaemonSetPods"), true},
      {"claims are protected", {"p20 node1" + kPvc}, enables("PodsWithPVC")},
      {"pods without budgets are protected", {"p21 node1"}, enables("PodsWithoutPDB")},
      {"resource claims are protected",
       {R"(p20 node1 {"spec":{"resourceClaims":[{"name":"c","resourceClaimName":"r"}]}})"},
       enables("PodsWithResourceClaims")},
      {"a protected storage class",
       {"p23 node1" + kPvc},
       protects("standard"),
       false,
       {},
       {},
       {{"foo", "standard"}}},
      {"another storage class",
       {"p24 node1" + kPvc},
       protects("protected"),
       true,
       {},
       {},
       {{"foo", "unprotected"}}},
      {"a claim that is not known", {"p25 node1" + kPvc}, protects("protected")},
      {"a protected storage class and another",
       {"p26 node1" + kPvcs},
       protects("protected"),
       false,
       {},
       {},
       {{"protected", "protected"}, {"unprotected", "unprotected"}}},
  };
  CHECK(rows.size() == 46);
  for (const Row& row : rows) {
    const std::string why = ask(row).at_all;
    INFO(row.name << ": " << why);
    CHECK(why.empty() == row.goes);
  }
}

TEST_CASE("just before an eviction DefaultEvictor asks what sigs' asks: 10 rows") {
  const std::string taint = " taint:hardware=gpu:NoSchedule", east = " label:datacenter=east";
  const std::string fit = R"({"nodeFit":true})";
  const std::string selector =
      R"({"nodeFit":true,"namespaceLabelSelector":{"matchLabels":{"kubernetes.io/metadata.name":"test"}}})";
  const std::string small = " cpu=1000 memory=2000 pods=13";
  const auto nodes = [&](const std::string& what) {
    return std::vector<std::string>{"node2" + small + what, "node3" + small + what};
  };
  const std::vector<std::string> namespaces = {"default kubernetes.io/metadata.name=default",
                                               "test kubernetes.io/metadata.name=test"};
  const std::vector<Row> rows = {
      {"all other nodes are tainted", {"p1 node1 cpu=400"}, fit, false, nodes(taint)},
      {"which is tolerated", {"p1 node1 cpu=400 tolerates:hardware=gpu:NoSchedule"}, fit, true, nodes(taint)},
      {"another selector", {"p1 node1 cpu=400 select:datacenter=fail"}, fit, false, nodes(east)},
      {"their selector", {"p1 node1 cpu=400 select:datacenter=east"}, fit, true, nodes(east)},
      {"too much CPU",
       {"p1 node1 cpu=12 memory=8 select:datacenter=east"},
       fit,
       false,
       {"node2-TEST cpu=10 memory=16 pods=10" + east, "node3-TEST cpu=10 memory=16 pods=10" + east}},
      {"enough memory on one",
       {"p1 node1 cpu=12 memory=8 select:datacenter=east", "a node2 cpu=20 memory=10 label:test=true",
        "b node3 cpu=20 memory=10 label:test=true"},
       fit,
       true,
       {"node2 cpu=100 memory=16 pods=10" + east, "node3 cpu=100 memory=20 pods=10" + east}},
      {"too little memory on both",
       {"p1 node1 cpu=12 memory=8 select:datacenter=east", "a node2 cpu=10 memory=10 label:test=true",
        "b node3 cpu=10 memory=10 label:test=true"},
       fit,
       false,
       {"node2 cpu=100 memory=16 pods=10" + east, "node3 cpu=100 memory=16 pods=10" + east}},
      {"another selector, but no node fit",
       {"p1 node1 cpu=400 select:datacenter=fail"},
       "{}",
       true,
       nodes(east)},
      {"a namespace that is selected",
       {"p1 node1 cpu=400 ns=test select:datacenter=east"},
       selector,
       true,
       nodes(east),
       {},
       {},
       {},
       namespaces},
      {"a namespace that is not",
       {"p1 node1 cpu=400 select:datacenter=east"},
       selector,
       false,
       nodes(east),
       {},
       {},
       {},
       namespaces},
  };
  CHECK(rows.size() == 10);
  for (const Row& row : rows) {
    const std::string why = ask(row).now;
    INFO(row.name << ": " << why);
    CHECK(why.empty() == row.goes);
  }
}

TEST_CASE("protections follow from what is enabled and disabled: sigs' 8 rows") {
  const Protections defaults;
  const auto of = [](const std::string& disabled, const std::string& extra) {
    return args_of(R"({"podProtections":{"defaultDisabled":[)" + disabled + R"(],"extraEnabled":[)" + extra +
                   "]}}")
        .protections();
  };
  const auto but = [&](std::initializer_list<bool Protections::*> changed) {
    Protections made = defaults;
    for (auto member : changed) made.*member = !(made.*member);
    return made;
  };
  CHECK(of("", "") == defaults);
  CHECK(of(R"("PodsWithLocalStorage")", "") == but({&Protections::local_storage}));
  CHECK(of(R"("DaemonSetPods","SystemCriticalPods")", "") ==
        but({&Protections::daemon_sets, &Protections::system_critical}));
  CHECK(of("", R"("PodsWithPVC")") == but({&Protections::pvc}));
  CHECK(of("", R"("PodsWithPVC","PodsWithoutPDB")") ==
        but({&Protections::pvc, &Protections::without_budget}));
  CHECK(of(R"("FailedBarePods","DaemonSetPods")", R"("PodsWithPVC")") ==
        but({&Protections::failed_bare_pods, &Protections::daemon_sets, &Protections::pvc}));
  CHECK(of("", R"("PodsWithResourceClaims")") == but({&Protections::resource_claims}));
  CHECK(of(R"("FailedBarePods","DaemonSetPods")", R"("PodsWithPVC","PodsWithResourceClaims")") ==
        but({&Protections::failed_bare_pods, &Protections::daemon_sets, &Protections::pvc,
             &Protections::resource_claims}));
}

TEST_CASE("protected storage classes: sigs' 3 rows") {
  using Names = std::vector<std::string>;
  CHECK(args_of("{}").protected_storage_classes().empty());
  CHECK(args_of(R"({"podProtections":{"config":{}}})").protected_storage_classes().empty());
  CHECK(args_of(R"({"podProtections":{"config":{"PodsWithPVC":{"protectedStorageClasses":)"
                R"([{"name":"sc1"},{"name":"sc2"}]}}}})")
            .protected_storage_classes() == Names{"sc1", "sc2"});
}

TEST_CASE("two profiles select namespaces of their own") {
  const std::vector<std::string> namespaces = {"ns-prod env=prod", "ns-test env=test",
                                               "ns-backend team=backend"};
  const auto goes = [&](const std::string& ns, const std::string& selector) {
    return ask({"",
                {"p node1 ns=" + ns},
                R"({"namespaceLabelSelector":{"matchLabels":{)" + selector + "}}}",
                false,
                {},
                {},
                {},
                {},
                namespaces})
        .now.empty();
  };
  for (const std::string ns : {"ns-prod", "ns-test", "ns-backend"}) {
    CHECK(goes(ns, R"("env":"prod")") == (ns == "ns-prod"));
    CHECK(goes(ns, R"("team":"backend")") == (ns == "ns-backend"));
  }
}

TEST_CASE("DefaultEvictor's arguments are refused in sigs' words: 18 rows") {
  struct Refused {
    std::string args, words;
  };
  const std::string extra_options =
      ". Valid options are: [PodsWithPVC PodsWithoutPDB PodsWithResourceClaims]";
  const std::string default_options =
      ". Valid options are: [PodsWithLocalStorage SystemCriticalPods FailedBarePods DaemonSetPods]";
  const std::string policy = R"(noEvictionPolicy accepts only ["Preferred" "Mandatory"] values)";
  const std::string deprecated =
      "cannot use Deprecated fields alongside PodProtections.ExtraEnabled or PodProtections.DefaultDisabled";
  const auto bad_extra = [&](const std::string& name) {
    return Refused{enables(name),
                   "invalid pod protection policy in ExtraEnabled: \"" + name + "\"" + extra_options};
  };
  const auto bad_default = [&](const std::string& name) {
    return Refused{disables(name),
                   "invalid pod protection policy in DefaultDisabled: \"" + name + "\"" + default_options};
  };
  const std::vector<Refused> rows = {
      {R"({"priorityThreshold":{"value":1,"name":"priority-name"}})",
       "priority threshold misconfigured, only one of priorityThreshold fields can be set"},
      {R"({"noEvictionPolicy":"invalid-no-eviction-policy"})", policy},
      {R"({"podProtections":{"defaultDisabled":[],"extraEnabled":[]}})", ""},
      {R"({"podProtections":{"defaultDisabled":["DaemonSetPods","PodsWithLocalStorage"],)"
       R"("extraEnabled":["PodsWithPVC"]}})",
       ""},
      {enables("PodsWithPVC"), ""},
      {R"({"evictLocalStoragePods":true,"podProtections":{"defaultDisabled":["DaemonSetPods"]}})",
       deprecated},
      {R"({"evictDaemonSetPods":true,"podProtections":{"extraEnabled":["PodsWithPVC"]}})", deprecated},
      {R"({"minReplicas":1})", ""},
      bad_extra("InvalidPolicy"),
      bad_extra("PodsWithPVCC"),
      bad_extra("DaemonSetPods"),
      bad_default("InvalidPolicy"),
      bad_default("PodsWithLocalStorag"),
      bad_default("PodsWithPVC"),
      {enables(R"(PodsWithPVC","PodsWithPVC)"), "PodProtections.ExtraEnabled contains duplicate entries"},
      {disables(R"(PodsWithLocalStorage","PodsWithLocalStorage)"),
       "PodProtections.DefaultDisabled contains duplicate entries"},
      {R"({"noEvictionPolicy":"invalid-no-eviction-policy","podProtections":{"extraEnabled":["PodsWithPVC",)"
       R"("PodsWithPVC"],"defaultDisabled":["PodsWithLocalStorage","PodsWithLocalStorage","PodsWithoutPDB"]}})",
       "[" + policy + ", invalid pod protection policy in DefaultDisabled: \"PodsWithoutPDB\"" +
           default_options +
           ", PodProtections.DefaultDisabled contains duplicate entries, "
           "PodProtections.ExtraEnabled contains duplicate entries]"},
      {R"({"podProtections":{"extraEnabled":["PodsWithPVC"],"config":{"PodsWithPVC":{"protectedStorageClasses":)"
       R"([{"name":""},{"name":"protected-storage-class-0"},{"name":""},{"name":"protected-storage-class-1"}]}}}})",
       "[PodProtections.Config.PodsWithPVC.ProtectedStorageClasses[0] name cannot be empty, "
       "PodProtections.Config.PodsWithPVC.ProtectedStorageClasses[2] name cannot be empty]"},
      // Where sigs fails at the start, or in each pass.
      {R"({"priorityThreshold":{"value":2000000001}})",
       "priority threshold can't be greater than 2000000000"},
  };
  for (const Refused& row : rows) {
    INFO(row.args);
    CHECK(test::why_refused(kDefaultEvictor, row.args) == row.words);
  }
  const auto bad_selector = [](const std::string& field) {
    return test::why_refused(kDefaultEvictor,
                             "{\"" + field + R"(":{"matchExpressions":[{"key":"a","operator":"Maybe"}]}})");
  };
  CHECK_THAT(bad_selector("labelSelector"),
             Catch::StartsWith("could not get selector from label selector: "));
  CHECK_THAT(bad_selector("namespaceLabelSelector"),
             Catch::StartsWith("unable to convert namespaceLabelSelector to label selector: "));
  CHECK_THAT(test::why_refused(kDefaultEvictor, R"({"nodeSelector":"a=b=c"})"),
             Catch::StartsWith("nodeSelector: "));
  CHECK_FALSE(test::why_refused(kDefaultEvictor, R"({"evictLocalStorage":true})").empty());
  CHECK_FALSE(test::why_refused(kDefaultEvictor, R"({"minReplicas":-1})").empty());
}

TEST_CASE("a priority threshold by the name of a class holds; a class that is not there lets nobody go") {
  const std::string args = R"({"priorityThreshold":{"name":"high"}})";
  const auto stays = [&](const std::string& pod, std::vector<std::pair<std::string, std::int32_t>> classes) {
    return ask({"", {pod}, args, false, {}, {}, {}, std::move(classes)}).at_all;
  };
  CHECK(stays("p node1 prio=99", {{"high", 100}}).empty());
  CHECK(stays("p node1 prio=100", {{"high", 100}}) ==
        "pod has higher priority than specified priority class threshold");
  CHECK(stays("p node1 prio=1", {}) == "there is no PriorityClass high");
}

TEST_CASE("what is not known speaks against a pod") {
  CHECK_FALSE(ask({"", {"p node1"}, R"({"minPodAge":"1m"})"}).at_all.empty());  // it has not started
  CHECK_FALSE(
      ask({"", {"p node1 ns=gone"}, R"({"namespaceLabelSelector":{"matchLabels":{"a":"b"}}})"}).now.empty());
  CHECK_FALSE(ask({"", {"p node1" + kPvc}, protects("a"), false, {}, {}, {{"foo", ""}}}).at_all.empty());
}

TEST_CASE("a namespace selector of expressions alone is heeded") {
  const std::string args = R"({"namespaceLabelSelector":{"matchExpressions":[{"key":"env","operator":"In",)"
                           R"("values":["prod"]}]}})";
  const auto why = [&](const std::string& ns) {
    return ask({"", {"p node1 ns=x"}, args, false, {}, {}, {}, {}, {"x env=" + ns}}).now;
  };
  CHECK(why("prod").empty());
  CHECK_FALSE(why("test").empty());
}

TEST_CASE("node fit looks at the ready nodes that its selector chooses") {
  const std::string args = "{\"nodeFit\":true,\"nodeSelector\":\"zone in (a, b)\"}";
  const auto goes = [&](const std::vector<std::string>& nodes) {
    return ask({"", {"p node1"}, args, false, nodes}).now.empty();
  };
  CHECK(goes({"node1", "node2 label:zone=a"}));
  CHECK_FALSE(goes({"node1", "node2 label:zone=c"}));
  CHECK_FALSE(goes({"node1", "node2 label:zone=a notready"}));
  CHECK_FALSE(goes({"node1 label:zone=a"}));  // its own
}

TEST_CASE("a pass after another is seen as it is") {
  Filters* asked = nullptr;
  const Snapshot* now = nullptr;
  Filters filters(args_of(R"({"minReplicas":2})"),
                  {.snapshot = [&] { return now; }, .pass = [] { return nullptr; }, .claim = {}});
  asked = &filters;
  const PodPtr p = test::pod_of("p node1 owner=ReplicaSet/r"), q = test::pod_of("q node1 owner=ReplicaSet/r");
  CHECK_FALSE(asked->why_not(*p).empty());  // between passes
  for (const bool both : {true, false, true}) {
    SnapshotObjects objects;
    objects.pods = both ? std::vector{p, q} : std::vector{p};
    const Snapshot snapshot(std::move(objects), test::kRowsNow);
    now = &snapshot;
    CHECK(asked->why_not(*p).empty() == both);
  }
}

TEST_CASE("DefaultEvictor asks with policy/v1 and tells of it; what is refused is told of by nobody") {
  koord::test::Loop loop;
  koord::test::FakeTransport server(loop.clock);
  unsigned status = 201;
  server.answer = [&](const net::Request& request) -> Result<net::Response> {
    net::Response response;
    response.status = request.target.ends_with("/eviction") ? status : 201;
    response.body = status < 300 ? "{}" : R"({"kind":"Status","code":403,"message":"no"})";
    return response;
  };
  kube::Client client(server, loop.clock, {});
  test::WriteWatch watch;
  watch.watch(client);
  watch.guard(server);
  CapturedLog captured;
  const Logger log(captured, loop.clock);
  const FeatureGates gates;
  PodEvictions evictions(
      {.clock = loop.clock, .log = log, .client = client, .may_write = [] { return true; }});
  kube::EventRecorder events(loop.executor(), client, loop.clock,
                             {.controller = "test", .instance = "test-host"});
  PluginContext context{.profile = "test", .clock = loop.clock, .log = log, .gates = gates};
  context.evictions = &evictions;
  context.events = &events;
  const auto evictor =
      kDefaultEvictor.make_evictor(std::make_shared<const DefaultEvictorArgs>(), context).value();
  const auto evict = [&](const std::string& pod) {
    return koord::test::run_task(loop,
                                 evictor->evict(test::pod_of(pod), {.plugin = "A", .reason = "a reason"}));
  };
  CHECK(evict("p node1").has_value());
  status = 403;
  CHECK_FALSE(evict("q node1").has_value());
  koord::test::run_task(loop, events.stop());
  std::vector<std::string> sent;
  for (const net::Request& request : server.requests)
    sent.push_back(request.target.substr(request.target.rfind('/') + 1));
  CHECK(std::ranges::count(sent, "eviction") == 2);
  REQUIRE(std::ranges::count(sent, "events") == 1);
  const auto& event = *std::ranges::find_if(
      server.requests, [](const net::Request& request) { return request.target.ends_with("/events"); });
  CHECK_THAT(event.body, Catch::Contains(R"("reason":"Descheduled")") &&
                             Catch::Contains(R"("action":"Evicting")") &&
                             Catch::Contains(R"("note":"pod evicted by a reason")"));
}

}  // namespace default_evictor
}  // namespace koord::descheduler
