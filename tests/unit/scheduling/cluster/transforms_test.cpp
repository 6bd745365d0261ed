// What Koordinator makes of nodes and pods, with the rows of its own tests, and what the engine then sees.
#include "koord/scheduling/cluster/transforms.hpp"

#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

struct Complaints {
  std::vector<std::string> all;
  Transforms::Complain take() {
    return [this](std::string_view kind, const api::ObjectMeta& object, std::string_view what) {
      all.push_back(fmt::format("{} {}: {}", kind, object.name, what));
    };
  }
};

std::shared_ptr<const api::Node> node_of(std::string_view json) {
  return std::make_shared<api::Node>(api::decode<api::Node>(json).value());
}
std::shared_ptr<const api::Pod> pod_of(std::string_view json) {
  return std::make_shared<api::Pod>(api::decode<api::Pod>(json).value());
}

TEST_CASE("a node has what its reservation leaves") {
  struct Case {
    const char* name;
    const char* annotation;
    const char* cpu;
    const char* memory;
    const char* complaint = "";
  };
  const Case cases[] = {
      {"nothing", "{}", "10", "10Gi"},
      {"CPU by quantity", R"({"resources":{"cpu":"1"}})", "9", "10Gi"},
      {"by quantity, with the default policy", R"({"resources":{"cpu":"1"},"applyPolicy":"Default"})", "9",
       "10Gi"},
      {"cores", R"({"reservedCPUs":"0-1"})", "8", "10Gi"},
      {"cores, with the default policy", R"({"reservedCPUs":"0-1","applyPolicy":"Default"})", "8", "10Gi"},
      {"cores count before the quantity", R"({"reservedCPUs":"0-1","resources":{"cpu":"1"}})", "8", "10Gi"},
      {"memory", R"({"resources":{"memory":"2Gi"}})", "10", "8Gi"},
      {"memory and CPU", R"({"resources":{"memory":"2Gi","cpu":"1"}})", "9", "8Gi"},
      {"memory and a core", R"({"resources":{"memory":"1Gi"},"reservedCPUs":"2"})", "9", "9Gi"},
      {"batch memory stays: the manager has subtracted it",
       R"({"resources":{"kubernetes.io/batch-memory":"1Gi"}})", "10", "10Gi"},
      {"batch CPU too", R"({"resources":{"kubernetes.io/batch-cpu":"1"}})", "10", "10Gi"},
      {"cores alone", R"({"reservedCPUs":"0-3","applyPolicy":"ReservedCPUsOnly"})", "10", "10Gi"},
      {"more than there is", R"({"resources":{"cpu":"11"}})", "0", "10Gi"},
      {"null", "null", "10", "10Gi"},
      {"no JSON", "{", "10", "10Gi", "the text ends too early"},
      {"no quantity", R"({"resources":{"cpu":"much"}})", "10", "10Gi", "quantities must match"},
      {"no cores", R"({"reservedCPUs":"a"})", "10", "10Gi", "reservedCPUs: "},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Complaints complaints;
    Transforms transforms({}, complaints.take());
    const auto node = make_node("n", "10", "10Gi", [&](api::Node& n) {
      n.status.allocatable["kubernetes.io/batch-cpu"] = api::Quantity::must("1");
      n.status.allocatable["kubernetes.io/batch-memory"] = api::Quantity::must("1Gi");
      n.metadata.annotations["node.koordinator.sh/reservation"] = c.annotation;
    });
    for (int again = 0; again < 2; ++again) {
      const auto seen = transforms.node(node);
      auto expected = node->status.allocatable;
      expected["cpu"] = api::Quantity::must(c.cpu);
      expected["memory"] = api::Quantity::must(c.memory);
      CHECK(api::encode(*seen) == api::encode([&] {
              api::Node n = *node;
              n.status.allocatable = expected;
              return n;
            }()));
    }
    // Once for the object, however often it comes.
    REQUIRE(complaints.all.size() == (*c.complaint != '\0' ? 1 : 0));
    if (*c.complaint != '\0') CHECK_THAT(complaints.all[0], Catch::Contains(c.complaint));
  }
  const auto plain = make_node("plain");
  CHECK(Transforms().node(plain) == plain);  // not even copied
}

TEST_CASE("a node's old names are the present ones") {
  struct Case {
    const char* name;
    const char* before;
    const char* after;
  };
  const Case cases[] = {
      {"none", R"({"cpu":"32","memory":"64Gi"})", R"({"cpu":"32","memory":"64Gi"})"},
      {"batch", R"({"cpu":"32","koordinator.sh/batch-cpu":"1k","koordinator.sh/batch-memory":"10Gi"})",
       R"({"cpu":"32","kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"10Gi"})"},
      {"both", R"({"koordinator.sh/batch-cpu":"1k","kubernetes.io/batch-cpu":"2k"})",
       R"({"koordinator.sh/batch-cpu":"1k","kubernetes.io/batch-cpu":"2k"})"},
      {"devices",
       R"({"kubernetes.io/gpu-core":"100","kubernetes.io/gpu-memory":"10Gi","kubernetes.io/gpu-memory-ratio":"100",
           "kubernetes.io/gpu":"100","kubernetes.io/rdma":"100","kubernetes.io/fpga":"100"})",
       R"({"koordinator.sh/fpga":"100","koordinator.sh/gpu":"100","koordinator.sh/gpu-core":"100",
           "koordinator.sh/gpu-memory":"10Gi","koordinator.sh/gpu-memory-ratio":"100","koordinator.sh/rdma":"100"})"},
      {"devices under both",
       R"({"kubernetes.io/gpu-core":"100","koordinator.sh/gpu-core":"50","kubernetes.io/gpu":"1"})",
       R"({"kubernetes.io/gpu-core":"100","koordinator.sh/gpu-core":"50","koordinator.sh/gpu":"1"})"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const auto with = [](const char* list) {
      return node_of(fmt::format(
          R"({{"metadata":{{"name":"n"}},"status":{{"allocatable":{0},"capacity":{0}}}}})", list));
    };
    Transforms transforms;
    const auto once = transforms.node(with(c.before));
    CHECK(api::encode(*once) == api::encode(*with(c.after)));
    CHECK(transforms.node(once) == once);
  }
}

TEST_CASE("what a reservation keeps of a node with old names") {
  // Koordinator loses the batch resources of such a node: it adds zeros under the present names first.
  const auto seen = Transforms().node(node_of(R"({"metadata":{"name":"n","annotations":{
      "node.koordinator.sh/reservation":"{\"resources\":{\"cpu\":\"1\",\"kubernetes.io/gpu\":\"1\"}}"}},
      "status":{"allocatable":{"cpu":"4","koordinator.sh/batch-cpu":"1k","kubernetes.io/gpu":"2"}}})"));
  CHECK(seen->status.allocatable == api::ResourceList{{"cpu", api::Quantity::must("3")},
                                                      {"kubernetes.io/batch-cpu", api::Quantity::must("1k")},
                                                      {"koordinator.sh/gpu", api::Quantity::must("1")}});
}

/// A pod of Koordinator's tests: `list` in its container and its init container, half of it as overhead.
std::string pod_with(std::string_view meta, std::string_view list, std::string_view overhead,
                     std::string_view spec = "") {
  return fmt::format(R"({{"metadata":{{"name":"p","uid":"u",{0}}},"spec":{{{3}
      "containers":[{{"name":"main","resources":{{"requests":{1},"limits":{1}}}}}],
      "initContainers":[{{"name":"init","resources":{{"requests":{1}}}}}],"overhead":{2}}}}})",
                     meta, list, overhead, spec);
}

TEST_CASE("what becomes of a pod") {
  struct Case {
    const char* name;
    TransformGates gates;
    std::string before, after;
  };
  const char* const kNow =
      R"({"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100","kubernetes.io/batch-cpu":"1k",
          "kubernetes.io/batch-memory":"1Gi"})";
  const char* const kOld =
      R"({"kubernetes.io/gpu-core":"100","kubernetes.io/gpu-memory-ratio":"100","koordinator.sh/batch-cpu":"1k",
          "koordinator.sh/batch-memory":"1Gi"})";
  const char* const kOverheadNow = R"({"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"2Gi"})";
  const char* const kOverheadOld =
      R"({"koordinator.sh/batch-cpu":"500","koordinator.sh/batch-memory":"2Gi"})";
  const auto allocated = [](std::string_view domain) {
    return fmt::format(
        R"("annotations":{{"scheduling.koordinator.sh/device-allocated":)"
        R"("{{\"gpu\":[{{\"minor\":1,\"resources\":{{\"{0}/gpu-core\":\"60\",\"{0}/gpu-memory\":\"8Gi\"}}}}]}}"}})",
        domain);
  };
  const char* const kLsr = R"("labels":{"koordinator.sh/qosClass":"LSR"})";
  const char* const kReplace =
      R"("annotations":{"pod.koordinator.sh/replace-resources":"cpu:,memory:example.io/memory"})";
  const char* const kPlain = R"({"cpu":"2","example.io/gpu":"1","memory":"4Gi"})";
  const auto spec = [&](std::string_view meta, std::string_view fields) {
    return pod_with(meta, kNow, kOverheadNow, fields);
  };
  const Case cases[] = {
      {"the present names",
       {},
       pod_with(allocated("koordinator.sh"), kNow, kOverheadNow),
       pod_with(allocated("koordinator.sh"), kNow, kOverheadNow)},
      {"old names",
       {},
       pod_with(allocated("kubernetes.io"), kOld, kOverheadOld),
       pod_with(allocated("koordinator.sh"), kNow, kOverheadNow)},
      {"priority and policy",
       {.priority = true, .preemption_policy = true},
       spec(
           R"("labels":{"koordinator.sh/qosClass":"LSR","scheduling.koordinator.sh/preemption-policy":"Never"})",
           ""),
       spec(
           R"("labels":{"koordinator.sh/qosClass":"LSR","scheduling.koordinator.sh/preemption-policy":"Never"})",
           R"("priority":9500,"preemptionPolicy":"Never",)")},
      {"the policy alone",
       {.preemption_policy = true},
       spec(kLsr, ""),
       spec(kLsr, R"("preemptionPolicy":"Never",)")},
      {"a policy that may preempt",
       {.preemption_policy = true},
       spec(R"("labels":{"scheduling.koordinator.sh/preemption-policy":"PreemptLowerPriority"})", ""),
       spec(R"("labels":{"scheduling.koordinator.sh/preemption-policy":"PreemptLowerPriority"})",
            R"("preemptionPolicy":"PreemptLowerPriority",)")},
      {"no priority by the class of a number",
       {.priority = true},
       spec(kLsr, R"("priority":5001,)"),
       spec(kLsr, R"("priority":5001,)")},
      {"by the label of its class",
       {.priority = true},
       spec(R"("labels":{"koordinator.sh/priority-class":"koord-mid"})", R"("priority":0,)"),
       spec(R"("labels":{"koordinator.sh/priority-class":"koord-mid"})", R"("priority":7500,)")},
      {"best effort is batch",
       {.priority = true},
       spec(R"("labels":{"koordinator.sh/qosClass":"BE"})", ""),
       spec(R"("labels":{"koordinator.sh/qosClass":"BE"})", R"("priority":5500,)")},
      {"resources under other names",
       {.replace_resources = true},
       pod_with(kReplace, kPlain, R"({"cpu":"1","memory":"1Gi"})"),
       pod_with(kReplace, R"({"example.io/gpu":"1","example.io/memory":"4Gi"})",
                R"({"example.io/memory":"1Gi"})")},
      {"not without the gate",
       {},
       pod_with(kReplace, kPlain, R"({"cpu":"1","memory":"1Gi"})"),
       pod_with(kReplace, kPlain, R"({"cpu":"1","memory":"1Gi"})")},
      {"CPU under another name is in milli; what says nothing is passed over",
       {.replace_resources = true},
       pod_with(R"("annotations":{"pod.koordinator.sh/replace-resources":"a,b:c:d, cpu : example.io/cpu ,"})",
                kPlain, "{}"),
       pod_with(R"("annotations":{"pod.koordinator.sh/replace-resources":"a,b:c:d, cpu : example.io/cpu ,"})",
                R"({"example.io/cpu":"2k","example.io/gpu":"1","memory":"4Gi"})", "{}")},
      {"the label says which scheduler",
       {},
       spec(R"("labels":{"scheduling.koordinator.sh/scheduler-name":"koord-scheduler"})",
            R"("schedulerName":"default-scheduler",)"),
       spec(
           R"("annotations":{"internal.scheduling.koordinator.sh/original-scheduler-name":"default-scheduler"},
               "labels":{"scheduling.koordinator.sh/scheduler-name":"koord-scheduler"})",
           R"("schedulerName":"koord-scheduler",)")},
      {"no label",
       {},
       spec(kLsr, R"("schedulerName":"default-scheduler",)"),
       spec(kLsr, R"("schedulerName":"default-scheduler",)")},
      {"the label says the same",
       {},
       spec(R"("labels":{"scheduling.koordinator.sh/scheduler-name":"default-scheduler"})",
            R"("schedulerName":"default-scheduler",)"),
       spec(R"("labels":{"scheduling.koordinator.sh/scheduler-name":"default-scheduler"})",
            R"("schedulerName":"default-scheduler",)")},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Complaints complaints;
    Transforms transforms(c.gates, complaints.take());
    const auto before = pod_of(c.before);
    const auto once = transforms.pod(before);
    CHECK(api::encode(*once) == api::encode(*pod_of(c.after)));
    CHECK((once == before) == (c.before == c.after));
    CHECK(transforms.pod(once) == once);
    CHECK(complaints.all.empty());
  }
}

TEST_CASE("annotations that cannot be read change nothing and are named once") {
  Complaints complaints;
  Transforms transforms({.replace_resources = true}, complaints.take());
  const char* const kBad[] = {"{", "[]", R"({"gpu":1})", R"({"gpu":[1]})", R"({"gpu":[{"resources":"a"}]})"};
  for (const char* text : kBad) {
    INFO(text);
    const auto pod = make_pod(text, "1", "1Gi", [&](api::Pod& p) {
      p.metadata.annotations["scheduling.koordinator.sh/device-allocated"] = text;
    });
    complaints.all.clear();
    CHECK(transforms.pod(pod) == pod);
    CHECK(transforms.pod(pod) == pod);
    CHECK(complaints.all.size() == 1);
    transforms.gone(pod->metadata);
    CHECK(transforms.pod(pod) == pod);
    CHECK(complaints.all.size() == 2);
  }
  const auto huge = make_pod("huge", "1", "1Gi", [&](api::Pod& p) {
    p.metadata.annotations["pod.koordinator.sh/replace-resources"] = std::string(70'000, 'a');
  });
  complaints.all.clear();
  CHECK(transforms.pod(huge) == huge);
  CHECK(complaints.all ==
        std::vector<std::string>{"Pod huge: pod.koordinator.sh/replace-resources: longer than 64 KiB"});
  // What stands as a pod is called what it is.
  const auto placeholder = changed(huge, [](api::Pod& p) { p.metadata.name = p.metadata.uid = "booking:b"; });
  complaints.all.clear();
  transforms.pod(placeholder);
  CHECK(complaints.all.at(0).starts_with("booking booking:b: "));
  // However many there are, they are bounded.
  for (int i = 0; i < 10'000; ++i)
    transforms.pod(make_pod(fmt::format("bad-{}", i), "1", "1Gi", [&](api::Pod& p) {
      p.metadata.annotations["scheduling.koordinator.sh/device-allocated"] = "{";
    }));
  CHECK(complaints.all.size() < 5000);
}

TEST_CASE("an engine that transforms decides with what comes out") {
  World world;
  world.engine.set_transforms(Transforms());
  world.engine.put_node(make_node("n", "4", "8Gi", [](api::Node& n) {
    n.metadata.annotations["node.koordinator.sh/reservation"] = R"({"resources":{"cpu":"3"}})";
    n.status.allocatable["koordinator.sh/batch-cpu"] = api::Quantity::must("1k");
  }));
  world.engine.put_pod(make_pod("too-large", "1500m"));
  CHECK(world.one().message() == "0/1 nodes are available: 1 Insufficient cpu.");
  const auto asks = [](const char* name) {
    return
        [name](api::Pod& p) { p.spec.containers[0].resources.requests[name] = api::Quantity::must("600"); };
  };
  // Under either name they ask for the same.
  world.engine.put_pod(make_pod("batch", "", "", asks("kubernetes.io/batch-cpu")));
  CHECK(world.one().node() == "n");
  world.engine.put_pod(make_pod("old", "", "", asks("koordinator.sh/batch-cpu")));
  CHECK(world.one().message() == "0/1 nodes are available: 1 Insufficient kubernetes.io/batch-cpu.");
}

TEST_CASE("a label gives a pod to another scheduler while it waits") {
  World world;
  world.engine.set_transforms(Transforms());
  const auto meant_for = [](const char* name) {
    return [name](api::Pod& p) { p.metadata.labels["scheduling.koordinator.sh/scheduler-name"] = name; };
  };
  const auto pod = make_pod("p");
  world.engine.put_pod(changed(pod, meant_for("another")));
  CHECK(world.engine.pods() == 0);
  world.engine.put_pod(pod);
  CHECK(world.engine.pods() == 1);
  world.engine.put_pod(changed(pod, meant_for("another")));
  CHECK(world.engine.pods() == 0);
  CHECK(world.run().empty());
  world.engine.put_node(make_node("n"));
  world.engine.put_pod(changed(pod, [&](api::Pod& p) {
    p.spec.scheduler_name = "another";
    meant_for("default-scheduler")(p);
  }));
  CHECK(world.one().node() == "n");
}

}  // namespace
}  // namespace koord::scheduling::test
