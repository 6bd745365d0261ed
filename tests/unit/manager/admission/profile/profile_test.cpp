// Profiles: what a pod that is made gets of them. Upstream's table (13 rows) and the reservations' (8), the
// order, the dice, and profiles that nobody should write.
#include "admission/profile/profile.hpp"

#include <catch2/catch.hpp>

#include "admission/handler_rig.hpp"
#include "admission/pod/pod_handlers.hpp"
#include "admission/reservation/reservation_handler.hpp"

namespace koord::manager {
namespace {

using testing::Answer;
using testing::Asked;
using testing::HandlerRig;
using testing::over;
using testing::read;
using testing::same_document;

constexpr std::string_view kPod = R"({
  "metadata":{"namespace":"default","name":"test-pod-1","labels":{"koordinator-colocation-pod":"true"}},
  "spec":{
    "initContainers":[{"name":"test-init-container-a","resources":{
      "limits":{"cpu":"500m","memory":"1Gi"},"requests":{"cpu":"500m","memory":"1Gi"}}}],
    "containers":[{"name":"test-container-a","unknown":[1],"resources":{
      "limits":{"cpu":"1","memory":"4Gi"},"requests":{"cpu":"1","memory":"4Gi"}}}],
    "overhead":{"cpu":"1","memory":"2Gi"},"schedulerName":"nonExistSchedulerName","priority":5999}})";
constexpr std::string_view kProfile = R"({
  "metadata":{"name":"test-profile"},
  "spec":{
    "namespaceSelector":{"matchLabels":{"enable-koordinator-colocation":"true"}},
    "selector":{"matchLabels":{"koordinator-colocation-pod":"true"}},
    "labels":{"testLabelA":"valueA"},"annotations":{"testAnnotationA":"valueA"},
    "schedulerName":"koordinator-scheduler","qosClass":"BE","priorityClassName":"koordinator-batch",
    "koordinatorPriority":1111,
    "patch":{"metadata":{"labels":{"test-patch-label":"patch-a"},"annotations":{"test-patch-annotation":"patch-b"}}}}})";
/// What the profile changes of the pod, as a merge patch; resources aside.
constexpr std::string_view kApplied = R"({
  "metadata":{"labels":{"testLabelA":"valueA","test-patch-label":"patch-a","koordinator.sh/qosClass":"BE",
                        "koordinator.sh/priority":"1111"},
              "annotations":{"testAnnotationA":"valueA","test-patch-annotation":"patch-b"}},
  "spec":{"schedulerName":"koordinator-scheduler","priorityClassName":"koordinator-batch",
          "preemptionPolicy":"fakePreemptionPolicy"}})";
constexpr std::string_view kBatch = R"({"spec":{
    "initContainers":[{"name":"test-init-container-a","resources":{
      "limits":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"1Gi"},
      "requests":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"1Gi"}}}],
    "containers":[{"name":"test-container-a","unknown":[1],"resources":{
      "limits":{"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"4Gi"},
      "requests":{"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"4Gi"}}}],
    "overhead":{"cpu":null,"memory":null,"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"2Gi"}}})";

class ProfileRig : public HandlerRig {
 public:
  ProfileRig() {
    set_class("koordinator-batch", 5999);
    set_class("koordinator-prod", 9500);
  }

  Answer make_pod(std::string_view pod) {
    PodMutating::Options all = options;
    all.without_extended_resources = all.without_device_resources = true;
    PodMutating handler(
        {.log = log(),
         .profiles = [this] { return profiles; },
         .namespaces = [this](std::string_view name) { return name == "default" ? ns : nullptr; },
         .classes = classes(),
         .dice = [this] { return dice; },
         .options = all});
    return ask(handler, {.object = pod});
  }
  Answer make_reservation(std::string_view reservation) {
    ReservationMutating handler({.log = log(),
                                 .profiles = [this] { return profiles; },
                                 .classes = classes(),
                                 .dice = [this] { return dice; }});
    return ask(handler, {.resource = "reservations", .object = reservation, .ns = ""});
  }
  void add(std::string_view profile) { profiles.push_back(read<api::ClusterColocationProfile>(profile)); }

  PriorityClasses classes() {
    return [this](std::string_view name) -> std::shared_ptr<const api::PriorityClass> {
      const auto found = classes_.find(name);
      return found != classes_.end() ? found->second : nullptr;
    };
  }

  ProfileSet::Sources profiles;
  std::shared_ptr<const api::Namespace> ns = read<api::Namespace>(
      R"({"metadata":{"name":"default","labels":{"enable-koordinator-colocation":"true"}}})");
  int dice = 0;
  PodMutating::Options options;

 private:
  void set_class(const std::string& name, int value) {
    api::PriorityClass made;
    made.metadata.name = name;
    made.value = value;
    made.preemption_policy = "fakePreemptionPolicy";
    classes_[name] = std::make_shared<const api::PriorityClass>(made);
  }
  std::map<std::string, std::shared_ptr<const api::PriorityClass>, std::less<>> classes_;
};

TEST_CASE("A pod gets what its profile says, and the resources of its class: upstream's table") {
  struct Row {
    std::string_view name, pod, profile, expected;
    bool applied = true, translated = true, skip_gate = false;
    int dice = 0;
  };
  const std::string_view only_limits =
      R"({"spec":{"initContainers":null,"overhead":null,"containers":[{"name":"a","resources":{"limits":{"cpu":"1","memory":"4Gi"}}}]}})";
  const std::string_view only_requests =
      R"({"spec":{"initContainers":null,"overhead":null,"containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"4Gi"}}}]}})";
  const std::string_view to_load = R"({"metadata":{"labels":{"label-key-to-load":"test-label-value"}}})";
  const Row rows[] = {
      {"mutating pod", "", "", ""},
      {"set default request to the limit", only_limits, "",
       R"({"spec":{"initContainers":null,"overhead":null,"containers":[{"name":"a","resources":{
         "limits":{"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"4Gi"},
         "requests":{"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"4Gi"}}}]}})"},
      {"keep limit unset", only_requests, "",
       R"({"spec":{"initContainers":null,"overhead":null,"containers":[{"name":"a","resources":{
         "requests":{"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"4Gi"}}}]}})"},
      {"percent 100", "", R"({"spec":{"probability":100}})", "", true, true, false, 99},
      {"percent 0", "", R"({"spec":{"probability":0}})", "", false},
      {"percent 50, rand=70", "", R"({"spec":{"probability":50}})", "", false, true, false, 70},
      {"percent 50, rand=30", "", R"({"spec":{"probability":"50%"}})", "", true, true, false, 30},
      {"skip update resource by profile annotation", "",
       R"({"metadata":{"annotations":{"config.koordinator.sh/skip-update-resources":"true"}}})", "", true,
       false},
      {"skip update resource by the gate", "",
       R"({"spec":{"annotations":{"config.koordinator.sh/skip-update-resources":"true"}}})",
       R"({"metadata":{"annotations":{"config.koordinator.sh/skip-update-resources":"true"}}})", true, false,
       true},
      {"labels according to labels", to_load,
       R"({"spec":{"labelKeysMapping":{"label-key-to-load":"label-key-to-store"}}})",
       R"({"metadata":{"labels":{"label-key-to-store":"test-label-value"}}})"},
      {"labels according to labels 1", to_load,
       R"({"spec":{"schedulerName":null,"labels":{"koordinator.sh/scheduler-name":"koordinator-scheduler"},
         "labelKeysMapping":{"label-key-to-load":"label-key-to-store",
                             "label-key-to-load-not-exist":"label-key-to-store-not-exist"}}})",
       R"({"metadata":{"labels":{"label-key-to-store":"test-label-value","label-key-to-store-not-exist":"",
         "koordinator.sh/scheduler-name":"koordinator-scheduler"}},"spec":{"schedulerName":"nonExistSchedulerName"}})"},
      {"annotations according to annotations",
       R"({"metadata":{"annotations":{"annotation-key-to-load":"v"}}})",
       R"({"spec":{"annotationKeysMapping":{"annotation-key-to-load":"annotation-key-to-store"}}})",
       R"({"metadata":{"annotations":{"annotation-key-to-store":"v"}}})"},
      {"labels and suffixes",
       R"({"metadata":{"labels":{"label-key-to-load":"test-label-value","label-key-1":"label-value-1"}}})",
       R"({"spec":{"schedulerName":null,"labels":{"koordinator.sh/scheduler-name":"koordinator-scheduler"},
         "labelKeysMapping":{"label-key-to-load":"label-key-to-store",
                             "label-key-to-load-not-exist":"label-key-to-store-not-exist"},
         "labelSuffixes":{"label-key-1":"suffix","label-key-to-store":"suffix-0","suffix-label-key-1":"suffix-1"}}})",
       R"({"metadata":{"labels":{"label-key-1":"label-value-1suffix","label-key-to-store":"test-label-valuesuffix-0",
         "label-key-to-store-not-exist":"","koordinator.sh/scheduler-name":"koordinator-scheduler"}},
         "spec":{"schedulerName":"nonExistSchedulerName"}})"},
  };
  static_assert(std::size(rows) == 13);
  for (const Row& row : rows) {
    CAPTURE(row.name);
    ProfileRig rig;
    rig.options.keep_resources = row.skip_gate;
    rig.dice = row.dice;
    rig.add(over(kProfile, row.profile));
    const std::string pod = over(kPod, row.pod);
    std::string expected = row.translated ? over(pod, kBatch) : pod;
    if (row.applied) expected = over(expected, kApplied);
    expected = over(expected, row.expected);
    const Answer answer = rig.make_pod(pod);
    CHECK(answer.verdict.allowed);
    CAPTURE(answer.object, expected);
    CHECK(same_document(answer.object, expected));
  }
}

constexpr std::string_view kReservation = R"({
  "metadata":{"name":"test-reservation-1","labels":{"koordinator-colocation-reservation":"true"}},
  "spec":{"owners":[{"object":{"name":"x"}}],"template":{"spec":{
    "containers":[{"name":"a","resources":{"limits":{"cpu":"1","memory":"4Gi"},"requests":{"cpu":"1","memory":"4Gi"}}}],
    "overhead":{"cpu":"1","memory":"2Gi"},"schedulerName":"nonExistSchedulerName"}}}})";

TEST_CASE(
    "A reservation gets the same on itself, and the scheduler and priority in its template: upstream's "
    "table") {
  const std::string profile =
      over(kProfile, R"({"spec":{"priorityClassName":"koordinator-prod","qosClass":"LS",
      "selector":{"matchLabels":{"koordinator-colocation-pod":null,"koordinator-colocation-reservation":"true"}}}})");
  constexpr std::string_view kGets = R"({
    "metadata":{"labels":{"testLabelA":"valueA","test-patch-label":"patch-a","koordinator.sh/qosClass":"LS",
                          "koordinator.sh/priority":"1111"},
                "annotations":{"testAnnotationA":"valueA","test-patch-annotation":"patch-b"}},
    "spec":{"template":{"spec":{"schedulerName":"koordinator-scheduler","priorityClassName":"koordinator-prod",
            "priority":9500,"preemptionPolicy":"fakePreemptionPolicy"}}}})";
  const std::string_view advanced =
      R"({"metadata":{"labels":{"label-key-to-load":"v"},"annotations":{"from":"w"}}})";
  struct Row {
    std::string_view reservation, profile, expected;
    bool applied = true;
    int dice = 0;
  };
  const Row rows[] = {
      {"", "", ""},
      {R"({"metadata":{"labels":null}})", R"({"spec":{"selector":{"matchLabels":null}}})", ""},
      {"", R"({"spec":{"probability":100}})", "", true, 99},
      {"", R"({"spec":{"probability":0}})", "", false},
      {"", R"({"spec":{"probability":50}})", "", true, 30},
      {advanced,
       R"({"spec":{"labelKeysMapping":{"label-key-to-load":"to"},"annotationKeysMapping":{"from":"to"}}})",
       R"({"metadata":{"labels":{"to":"v"},"annotations":{"to":"w"}}})"},
      {advanced,
       R"({"spec":{"labelKeysMapping":{"label-key-to-load":"to"},"labelSuffixes":{"to":"suffix","none":"s"}}})",
       R"({"metadata":{"labels":{"to":"vsuffix"}}})"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.reservation, row.profile);
    ProfileRig rig;
    rig.dice = row.dice;
    rig.add(over(profile, row.profile));
    const std::string reservation = over(kReservation, row.reservation);
    const Answer answer = rig.make_reservation(reservation);
    CHECK(answer.verdict.allowed);
    CHECK(same_document(answer.object, over(over(reservation, row.applied ? kGets : ""), row.expected)));
  }
  ProfileRig rig;
  rig.add(over(profile, R"({"spec":{"priorityClassName":"unknown-priority-class"}})"));
  const Answer failed = rig.make_reservation(kReservation);
  CHECK_FALSE(failed.verdict.allowed);
  CHECK(failed.verdict.code == 500);
  CHECK(failed.verdict.message == R"(PriorityClass.scheduling.k8s.io "unknown-priority-class" not found)");
  // Its patch merges the template's lists as a pod's.
  ProfileRig patched;
  patched.add(R"({"metadata":{"name":"p"},"spec":{"patch":{"spec":{"template":{"spec":{"containers":[
    {"name":"a","image":"i"}]}}}}}})");
  CHECK(same_document(
      patched.make_reservation(kReservation).object,
      over(kReservation, R"({"spec":{"template":{"spec":{"containers":[{"name":"a","image":"i","resources":{
        "limits":{"cpu":"1","memory":"4Gi"},"requests":{"cpu":"1","memory":"4Gi"}}}]}}}})")));
}

TEST_CASE("Profiles are applied in the order of their names, selectors see the pod as it came") {
  ProfileRig rig;
  rig.add(R"({"metadata":{"name":"b"},"spec":{"labels":{"k":"b","only":"b"}}})");
  rig.add(R"({"metadata":{"name":"a"},"spec":{"labels":{"k":"a","chain":"yes"}}})");
  rig.add(
      R"({"metadata":{"name":"c"},"spec":{"selector":{"matchLabels":{"chain":"yes"}},"labels":{"k":"c"}}})");
  const json::Document pod = json::parse(rig.make_pod("{}").object).value();
  CHECK(json::text_at(pod, "metadata", "labels", "k") == "b");
  CHECK(json::text_at(pod, "metadata", "labels", "only") == "b");
  CHECK(json::find(pod, "spec") == nullptr);
}

TEST_CASE("One profile that is for the pod and keeps resources keeps them, whatever the dice say of it") {
  for (const bool second : {false, true}) {
    ProfileRig rig;
    rig.dice = 99;
    rig.add(R"({"metadata":{"name":"a"},"spec":{"labels":{"a":"1"}}})");
    if (second)
      rig.add(R"({"metadata":{"name":"z","annotations":{"config.koordinator.sh/skip-update-resources":""}},
                  "spec":{"probability":"50%","labels":{"z":"1"}}})");
    CHECK(same_document(rig.make_pod(kPod).object, over(second ? std::string(kPod) : over(kPod, kBatch),
                                                        R"({"metadata":{"labels":{"a":"1"}}})")));
  }
}

TEST_CASE("A patch merges a pod's lists as the API server does, what koord does not describe included") {
  ProfileRig rig;
  rig.options.keep_resources = true;
  rig.add(R"({"metadata":{"name":"p"},"spec":{"patch":{"spec":{
    "containers":[{"name":"test-container-a","env":[{"name":"B","value":"2"}]},{"name":"side","image":"i"}],
    "initContainers":[{"name":"test-init-container-a","$patch":"delete"}],
    "tolerations":[{"key":"t"}],"dnsConfig":{"nameservers":["10.0.0.1"]},"overhead":null}}}})");
  const std::string_view pod =
      R"({"spec":{"tolerations":[{"key":"u"}],"dnsConfig":{"searches":["a"],"nameservers":["10.0.0.2"]},
    "containers":[{"name":"test-container-a","env":[{"name":"A","value":"1"}],"x":{"y":[null,1.5]}}]}})";
  const json::Document made = json::parse(rig.make_pod(over(kPod, pod)).object).value();
  const json::Value& spec = *json::find(made, "spec");
  CHECK(
      json::to_text(*json::find(spec, "containers")) ==
      R"([{"name":"test-container-a","env":[{"name":"B","value":"2"},{"name":"A","value":"1"}],"x":{"y":[null,1.5]}},)"
      R"({"name":"side","image":"i"}])");
  CHECK(json::to_text(*json::find(spec, "initContainers")) == "[]");
  CHECK(json::to_text(*json::find(spec, "tolerations")) == R"([{"key":"t"}])");
  CHECK(json::to_text(*json::find(spec, "dnsConfig")) == R"({"searches":["a"],"nameservers":["10.0.0.1"]})");
  CHECK(json::find(spec, "overhead") == nullptr);
}

TEST_CASE("Absent and empty selectors are for all pods; resources change only if a profile is for the pod") {
  const std::string batch = over(kPod, kBatch);
  struct Row {
    std::string_view profile;
    bool translated;
  };
  for (const Row& row : {
           Row{R"({"spec":{}})", true},
           Row{R"({"spec":{"selector":{},"namespaceSelector":{}}})", true},
           Row{R"({"spec":{"selector":{"matchLabels":{"x":"y"}}}})", false},
           Row{R"({"spec":{"namespaceSelector":{"matchLabels":{"x":"y"}}}})", false},
           Row{R"({"spec":{"selector":{"matchExpressions":[{"key":"x","operator":"DoesNotExist"}]}}})", true},
       }) {
    CAPTURE(row.profile);
    ProfileRig rig;
    rig.add(over(R"({"metadata":{"name":"p"}})", row.profile));
    CHECK(same_document(rig.make_pod(kPod).object, row.translated ? batch : std::string(kPod)));
  }
  ProfileRig none;
  CHECK(none.make_pod(kPod).object == over(kPod, ""));
}

TEST_CASE("Of a hundred throws of the dice a profile is for as many as its probability says") {
  // Upstream's is for one more.
  for (const int percent : {0, 1, 50, 99, 100}) {
    CAPTURE(percent);
    int applied = 0;
    const Profile profile(read<api::ClusterColocationProfile>(
        fmt::format(R"({{"metadata":{{"name":"p"}},"spec":{{"probability":"{}%"}}}})", percent)));
    for (int dice = 0; dice < 100; ++dice)
      if (!profile.spares([&] { return dice; })) ++applied;
    CHECK(applied == percent);
  }
}

TEST_CASE("A profile that cannot be applied stops no other, and the log names it once") {
  struct Row {
    std::string_view bad, why;
  };
  for (
      const Row& row : {
          Row{R"({"spec":{"selector":{"matchExpressions":[{"key":"x","operator":"Near"}]},"labels":{"bad":"1"}}})",
              "selector: "},
          Row{R"({"spec":{"namespaceSelector":{"matchExpressions":[{"key":"x","operator":"In"}]},"labels":{"bad":"1"}}})",
              "namespaceSelector: "},
          Row{R"({"spec":{"probability":"many","labels":{"bad":"1"}}})", "probability: "},
          Row{R"({"spec":{"patch":"text","labels":{"bad":"1"}}})", "patch: no object"},
          Row{R"({"spec":{"patch":{"spec":{"containers":[{"image":"x"}]}},"labels":{"bad":"1"}}})",
              "lacks the merge key name"},
          Row{R"({"spec":{"patch":{"spec":{"containers":7}},"labels":{"bad":"1"}}})",
              "what the patch makes is no pod: spec.containers: an array is expected"},
          Row{R"({"spec":{"patch":{"metadata":{"labels":{"x":7}}},"labels":{"bad":"1"}}})",
              "what the patch makes is no pod: metadata.labels.x: a string is expected"},
          Row{R"({"spec":{"patch":{"spec":{"$patch":"explode"}},"labels":{"bad":"1"}}})",
              "unknown $patch directive"},
      }) {
    CAPTURE(row.bad);
    ProfileRig rig;
    rig.add(R"({"metadata":{"name":"a"},"spec":{"labels":{"good":"1"}}})");
    rig.add(over(R"({"metadata":{"name":"bad","resourceVersion":"7"}})", row.bad));
    rig.add(R"({"metadata":{"name":"z"},"spec":{"labels":{"also":"1"}}})");
    PodMutating handler({.log = rig.log(),
                         .profiles = [&] { return rig.profiles; },
                         .namespaces = [&](std::string_view) { return rig.ns; },
                         .classes = rig.classes(),
                         .dice = [] { return 0; }});
    for (int i = 0; i < 3; ++i) {
      const Answer answer = rig.ask(handler, {.object = kPod});
      CHECK(answer.verdict.allowed);
      const json::Document pod = json::parse(answer.object).value();
      CHECK(json::text_at(pod, "metadata", "labels", "good") == "1");
      CHECK(json::text_at(pod, "metadata", "labels", "also") == "1");
      CHECK(json::find(pod, "metadata", "labels", "bad") == nullptr);
    }
    const auto lines = rig.lines.lines();
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0], Catch::Contains("profile=bad") && Catch::Contains(std::string(row.why)));
  }
}

TEST_CASE("A pod whose namespace is not known yet is refused, where a profile asks for it") {
  ProfileRig rig;
  rig.add(kProfile);
  rig.ns = nullptr;
  const Answer answer = rig.make_pod(kPod);
  CHECK_FALSE(answer.verdict.allowed);
  CHECK(answer.verdict.code == 500);
  CHECK_THAT(answer.verdict.message, Catch::Contains("\"test-profile\"") && Catch::Contains("not known yet"));
  CHECK(rig.make_pod(R"({"metadata":{"labels":{"other":"1"}}})").verdict.allowed);
}

TEST_CASE("A priority class that there is not refuses the pod; one without a policy takes the pod's") {
  ProfileRig rig;
  rig.add(R"({"metadata":{"name":"p"},"spec":{"priorityClassName":"nothing"}})");
  const Answer answer = rig.make_pod(kPod);
  CHECK(answer.verdict.code == 500);
  CHECK(answer.verdict.message == R"(PriorityClass.scheduling.k8s.io "nothing" not found)");

  api::PriorityClass plain;
  plain.metadata.name = "plain";
  plain.value = 7;
  const Profile profile(read<api::ClusterColocationProfile>(
      R"({"metadata":{"name":"p"},"spec":{"priorityClassName":"plain"}})"));
  json::Document pod = json::parse(R"({"spec":{"preemptionPolicy":"Never"}})").value();
  REQUIRE(profile
              .apply(pod, pod.arena(), {},
                     [&](std::string_view) { return std::make_shared<const api::PriorityClass>(plain); })
              .has_value());
  CHECK(json::to_text(pod) == R"({"spec":{"priorityClassName":"plain","priority":7}})");
}

TEST_CASE("Of a pod that exists a profile changes what may be changed") {
  const Profile profile(read<api::ClusterColocationProfile>(kProfile));
  json::Document pod = json::parse(kPod).value();
  REQUIRE(profile.apply(pod, pod.arena(), {.scheduling = false}, [](std::string_view) { return nullptr; })
              .has_value());
  CHECK(same_document(json::to_text(pod),
                      over(over(kPod, kApplied), R"({"spec":{"schedulerName":"nonExistSchedulerName",
      "priorityClassName":null,"preemptionPolicy":null}})")));
}

TEST_CASE("Profiles are read again when they are others") {
  ProfileSet set;
  int told = 0;
  const auto tell = [&](const Profile&) { ++told; };
  auto a = read<api::ClusterColocationProfile>(R"({"metadata":{"name":"a"}})");
  auto bad = read<api::ClusterColocationProfile>(R"({"metadata":{"name":"b"},"spec":{"probability":"x"}})");
  set.set({bad, a}, tell);
  const auto* const before = set.profiles()[0].get();
  CHECK(before->name() == "a");
  set.set({a, bad}, tell);
  auto other = read<api::ClusterColocationProfile>(R"({"metadata":{"name":"b"}})");
  set.set({other, a}, tell);
  CHECK(told == 1);
  CHECK(set.profiles()[0].get() == before);
  CHECK(set.profiles()[1]->defect().empty());
  set.set({}, tell);
  CHECK(set.profiles().empty());
}

}  // namespace
}  // namespace koord::manager
