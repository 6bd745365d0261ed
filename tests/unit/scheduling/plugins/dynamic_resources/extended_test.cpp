// DRAExtendedResource: pods that ask for devices by a resource's name get claims where no device plugin
// offers it.
#include <algorithm>

#include "plugins/dynamic_resources/extended_rig.hpp"
#include "plugins/dynamic_resources/plugin_rows.hpp"
#include "plugins/scored_alone.hpp"
#include "scheduling/extended_resources/extended_resources.hpp"

namespace koord::scheduling::test {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kMapped =
    R"(PATCH pods/my-pod/status {"status":{"extendedResourceClaimStatus":{"requestMappings":[{"containerName":"con0","resourceName":"example.com/gpu","requestName":"container-0-request-1"}],"resourceClaimName":"my-pod-extended-resources-1"}}})";

std::string of_gpus(const std::string& devices, const std::string& user = kPod) {
  std::string said;
  for (const char each : devices)
    said += fmt::format("{}container-0-request-1=instance-{}@worker", said.empty() ? "" : " ", each);
  return said + "; " + user;
}

TEST_CASE("a pod gets a claim of its own for an extended resource that a class backs") {
  ExtendedRig rig;
  rig.put_class(backing_class());
  rig.machine(kNode, 3);
  CHECK(rig.attempt(gpu_pod("2")) == "bound to worker");
  REQUIRE(rig.writes.size() == 4);
  CHECK(
      rig.writes[0] ==
      R"(POST {"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"generateName":"my-pod-extended-resources-","namespace":"default","annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"my-pod","uid":"1234","controller":true}]},"spec":{"devices":{"requests":[{"name":"container-0-request-1","exactly":{"deviceClassName":"my-resource-class","allocationMode":"ExactCount","count":2}}]}}})");
  CHECK(rig.writes[1] == fmt::format("PUT {}", kOwn));
  CHECK(rig.writes[2] == fmt::format("PUT {}/status", kOwn));
  CHECK(rig.writes[3] == kMapped);
  CHECK(rig.has(kOwn) == of_gpus("12"));
  // They are taken once: one of three is left.
  CHECK(rig.attempt(gpu_pod("2", "more")) == none_fits("cannot allocate all claims"));
  CHECK(rig.attempt(gpu_pod("1", "less")) == "bound to worker");
  CHECK(rig.has("less-extended-resources-2") == "container-0-request-1=instance-3@worker; less");
}

struct WhereCase {
  const char* name;
  const char* gates;
  const char* resource;  // that the class is named for
  int devices;
  const char* listed;  // by the node
  const char* asked;
  const char* says;
  int created;
};

TEST_CASE("who gives the resource on a node") {
  const std::string lacking = "1 Insufficient example.com/gpu. ";
  const std::string none = "0/1 nodes are available: ";
  const char *on = "DRAExtendedResource=true", *bound = "bound to worker",
             *insufficient =
                 "0/1 nodes are available: 1 Insufficient example.com/gpu. no new claims to deallocate",
             *too_few = "0/1 nodes are available: 1 Insufficient example.com/gpu. still not schedulable";
  const std::vector<WhereCase> cases = {
      {"devices", on, kGpu, 2, "", kGpu, bound, 1},
      {"the device plugin, which is asked first", on, kGpu, 2, "2", kGpu, bound, 0},
      {"a device plugin that has none left", on, kGpu, 2, "0", kGpu, bound, 1},
      {"without the gate devices are claims' alone", "", kGpu, 2, "", kGpu, insufficient, 0},
      {"a class of another name", on, "example.com/other", 2, "", kGpu, insufficient, 0},
      {"by the class's own name", on, "example.com/other", 2, "",
       "deviceclass.resource.kubernetes.io/my-resource-class", bound, 1},
      {"a device plugin that has too few", on, kGpu, 4, "1", kGpu, too_few, 0},
  };
  for (const WhereCase& c : cases) {
    INFO(c.name);
    ExtendedRig rig({.gates = c.gates});
    rig.put_class(backing_class(c.resource));
    rig.machine(kNode, c.devices, c.listed);
    CHECK(rig.attempt(gpu_pod("2", kPod, c.asked)) == c.says);
    CHECK(rig.created == c.created);
  }
}

TEST_CASE("full device plugins send pods to nodes with claims, and back") {
  ExtendedRig rig;
  rig.put_class(backing_class());
  rig.machine(kNode, 1);
  rig.machine("plugged", 0, "1");
  Lines said;
  for (const char* name : {"a", "b", "c"}) said.push_back(rig.attempt(gpu_pod("1", name)));
  std::ranges::sort(said);
  CHECK(said[1] == "bound to plugged");
  CHECK(said[2] == "bound to worker");
  CHECK(said[0] ==
        "0/2 nodes are available: 1 Insufficient example.com/gpu, 1 cannot allocate all claims. still not "
        "schedulable");
  CHECK(rig.created == 1);
}

TEST_CASE("claims that the pod names come beside") {
  ExtendedRig rig;
  rig.put_class(backing_class());
  const auto both = [](const std::string& name) {
    return changed(claim_pod({kClaim}, false, name, name == kPod ? kPodUid : "uid-" + name),
                   [](api::Pod& pod) {
                     pod.spec.containers[0].name = "con0";
                     ask(pod, kGpu, "1");
                   });
  };
  rig.put_claim(claim_json(one_request()));
  SECTION("both are devices") {
    rig.machine(kNode, 2);
    CHECK(rig.attempt(both(kPod)) == "bound to worker");
    CHECK(rig.has() == "req-1=instance-1@worker; my-pod");
    CHECK(rig.has(kOwn) == of_gpus("2"));
  }
  SECTION("there are too few for both") {
    rig.machine(kNode, 1);
    CHECK(rig.attempt(both(kPod)) == none_fits("cannot allocate all claims"));
  }
  SECTION("the device plugin has the resource: no claim is made for it") {
    rig.machine(kNode, 1, "1");
    CHECK(rig.attempt(both(kPod)) == "bound to worker");
    CHECK(rig.has() == "req-1=instance-1@worker; my-pod");
    CHECK(rig.created == 0);
  }
}

TEST_CASE("devices are taken from Reserve on, and free when the attempt fails before anything is created") {
  ExtendedRig rig;
  rig.put_class(backing_class());
  rig.machine(kNode, 1);
  rig.world.engine.put_pod(gpu_pod());
  const Decision first = rig.world.one();
  REQUIRE(first.node() == kNode);
  CHECK(rig.attempt(gpu_pod("1", "other")) == none_fits("cannot allocate all claims"));
  rig.refuse = [](const std::string& write) -> std::optional<Result<net::Response>> {
    if (!write.starts_with("POST")) return std::nullopt;
    return koord::test::status_response(500, "InternalError", "a full disk");
  };
  CHECK(rig.carry_out(first) == "failed: create claim for extended resources default/: a full disk");
  CHECK(rig.claims.empty());
  rig.refuse = nullptr;
  // Who waited for the device is told.
  CHECK(rig.later() == "bound to worker");
}

struct FailCase {
  const char* name;
  const char* refused;  // the write's beginning
  const char* says;
};

TEST_CASE("what is created for a pod goes with its attempt, and its devices are taken until it has gone") {
  const std::vector<FailCase> cases = {
      {"the finalizer", "PUT my-pod-extended-resources-1",
       "failed: add finalizer to claim default/my-pod-extended-resources-1: it may not"},
      {"the allocation", "PUT my-pod-extended-resources-1/status",
       "failed: add allocation and reservation to claim default/my-pod-extended-resources-1: it may not"},
      {"the pod's status", "PATCH",
       "failed: update pod default/my-pod ExtendedResourceClaimStatus: it may not"},
  };
  for (const FailCase& c : cases) {
    for (const bool told : {true, false}) {
      INFO(c.name << (told ? ", the claim is told of at once" : ", the claim is told of late"));
      ExtendedRig rig;
      rig.put_class(backing_class());
      rig.machine(kNode, 1);
      rig.tells_at_once = told;
      bool refuses = true;
      rig.refuse = [&](const std::string& write) -> std::optional<Result<net::Response>> {
        const bool this_one =
            c.refused == std::string("PATCH") ? write.starts_with("PATCH pods") : write == c.refused;
        if (!refuses || !this_one) return std::nullopt;
        return koord::test::status_response(403, "Forbidden", "it may not");
      };
      rig.lead();
      CHECK(rig.attempt(gpu_pod()) == c.says);
      refuses = false;
      // Nothing has run on the other thread yet: the claim is there, and so is what it has.
      CHECK(rig.attempt(gpu_pod("1", "other")) == none_fits("cannot allocate all claims"));
      rig.loop.settle();
      CHECK(rig.claims.empty());
      rig.tell();
      Lines said{rig.later(), rig.later()};
      std::ranges::sort(said);
      CHECK(said == Lines{none_fits("cannot allocate all claims"), "bound to worker"});
    }
  }
}

TEST_CASE("a failed binding deletes the claim, and the next attempt makes another") {
  ExtendedRig rig;
  rig.put_class(backing_class());
  rig.machine(kNode, 1);
  rig.lead();
  CHECK(rig.attempt(gpu_pod(), false) == "failed: the binding");
  rig.loop.settle();
  CHECK(rig.claims.empty());
  CHECK(rig.later() == "bound to worker");
  CHECK(rig.has("my-pod-extended-resources-2") == of_gpus("1"));
}

TEST_CASE("a claim that an attempt has left behind is deleted first, whatever it has") {
  const std::string own =
      R"({"metadata":{"name":"left","namespace":"default","uid":"uid-left","annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"my-pod","uid":"1234","controller":true}],"finalizers":["resource.kubernetes.io/delete-protection"]},)"
      R"("spec":{"devices":{"requests":[)" +
      one_request() + "]}},\"status\":";
  const std::string status = GENERATE(std::string("{}"), allocated(), allocated("", "", kept_for()));
  INFO(status);
  ExtendedRig rig;
  rig.put_class(backing_class());
  rig.machine(kNode, 1);
  rig.put_claim(own + status + "}");
  rig.lead();
  CHECK(rig.attempt(gpu_pod()) ==
        none_fits("cannot schedule extended resource claim", "deletion of ResourceClaim completed"));
  CHECK(rig.claims.size() == 1);
  rig.loop.settle();
  CHECK(rig.claims.empty());
  CHECK(rig.writes == Lines{"PUT left", "DELETE left"});
  CHECK(rig.later() == "bound to worker");
}

TEST_CASE("another pod's claim, or one that a person made, is nobody's leftover") {
  ExtendedRig rig;
  rig.put_class(backing_class());
  rig.machine(kNode, 2);
  rig.put_claim(
      R"({"metadata":{"name":"other","namespace":"default","uid":"uid-other","annotations":{"resource.kubernetes.io/extended-resource-claim":"true"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"my-pod","uid":"9","controller":true}]}})");
  rig.put_claim(
      R"({"metadata":{"name":"hand","namespace":"default","uid":"uid-hand","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"my-pod","uid":"1234","controller":true}]}})");
  CHECK(rig.attempt(gpu_pod()) == "bound to worker");
}

TEST_CASE("init containers use what the others keep") {
  ExtendedRig rig;
  rig.put_class(backing_class());
  rig.machine(kNode, 2);
  CHECK(rig.attempt(changed(gpu_pod("2"), [](api::Pod& pod) {
    api::Container& init = pod.spec.init_containers.emplace_back();
    init.name = "init";
    init.resources.requests[kGpu] = api::Quantity::must("1");
  })) == "bound to worker");
  CHECK(rig.has(kOwn) ==
        "container-1-request-1=instance-1@worker container-1-request-1=instance-2@worker; my-pod");
  CHECK(
      rig.writes.back().find(
          R"({"containerName":"init","resourceName":"example.com/gpu","requestName":"container-1-request-1"})") !=
      std::string::npos);
}

struct EventCase {
  const char* name;
  std::function<void(ExtendedRig&)> happens;
  const char* says;  // "" : it is not tried again
};

TEST_CASE("a pod that waits is tried again when a class backs what it asks for") {
  const std::string lacking = none_fits("Insufficient example.com/gpu", "no new claims to deallocate");
  const std::vector<EventCase> cases = {
      {"a class comes", [](ExtendedRig& rig) { rig.put_class(backing_class()); }, "bound to worker"},
      {"a class of another name comes",
       [](ExtendedRig& rig) { rig.put_class(backing_class("example.com/x", "new")); }, ""},
      {"a class gets the name", [](ExtendedRig& rig) { rig.put_class(backing_class(kGpu, "other")); },
       "bound to worker"},
      {"a class changes otherwise",
       [](ExtendedRig& rig) {
         rig.put_class(class_json(R"({"extendedResourceName":"example.com/other","selectors":[]})", "other"));
       },
       ""},
      {"a node without the resource comes", [](ExtendedRig& rig) { rig.machine("new", 1); }, ""},
  };
  for (const EventCase& c : cases) {
    INFO(c.name);
    ExtendedRig rig;
    rig.put_class(backing_class("example.com/other", "other"));
    rig.machine(kNode, 1);
    CHECK(rig.attempt(gpu_pod()) == lacking);
    rig.world.clock.advance(std::chrono::seconds(20));
    c.happens(rig);
    CHECK(rig.next() == c.says);
  }
}

TEST_CASE("of classes with one name the newest backs it, then the first by name") {
  const auto class_of = [](const std::string& name, const std::string& born) {
    return fmt::format(
        R"({{"metadata":{{"name":"{}","creationTimestamp":"{}"}},"spec":{{"extendedResourceName":"{}"}}}})",
        name, born, kGpu);
  };
  ExtendedRig rig;
  const PluginContext context = rig.world.engine.context();
  const auto& resources = context.shared.get<ExtendedResources>(context);
  const auto backing = [&](const std::string& resource = kGpu) {
    const api::DeviceClass* const found = resources.class_of(resource);
    return found != nullptr ? found->metadata.name : std::string("none");
  };
  CHECK(backing() == "none");
  rig.put_class(class_of("b", "2026-01-02T00:00:00Z"));
  rig.put_class(class_of("c", "2026-01-02T00:00:00Z"));
  rig.put_class(class_of("a", "2026-01-01T00:00:00Z"));
  CHECK(backing() == "b");
  CHECK(backing("deviceclass.resource.kubernetes.io/a") == "a");
  // What it is named for is somebody else's when it is gone, or has another name.
  rig.put_class(class_json("{}", "b"));
  CHECK(backing() == "c");
  CHECK(backing("deviceclass.resource.kubernetes.io/b") == "b");
  rig.put_class(class_of("d", "2026-01-03T00:00:00Z"));
  CHECK(backing() == "d");
}

struct CountCase {
  const char* name;
  const char* of_class;  // members of its spec, with a comma before them
  Lines slices;
  Lines taken;  // devices, ":share" after one of which a claim has a part
  const char* listed;
  ExtendedResources::Devices devices;
};

TEST_CASE(
    "what a node has of a class counts, and what claims have of it: kube-scheduler's rows, and others") {
  const std::string on_some_nodes =
      R"({"metadata":{"name":"s"},"spec":{"driver":"some-driver","pool":{"name":"worker","generation":1,"resourceSliceCount":1},"perDeviceNodeSelection":true,"devices":[{"name":"instance-1","nodeName":"worker"},{"name":"instance-2","nodeName":"other"},{"name":"instance-3","allNodes":true},{"name":"instance-4","nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["worker"]}]}]}}]}})";
  const auto selecting = [](const char* expression) {
    return fmt::format(R"(,"selectors":[{{"cel":{{"expression":"{}"}}}}])", expression);
  };
  const std::string none = selecting("device.driver == 'x'"),
                    healthy = selecting("device.attributes['some-driver'].healthy");
  const std::string shared = R"(,"allowMultipleAllocations":true)";
  const std::string said = R"(,"attributes":{"healthy":{"bool":true}})";
  const std::vector<CountCase> cases = {
      {"the device plugin's", "", {slice_json(kNode, 1)}, {}, "4", {0, 0}},
      {"one device", "", {slice_json(kNode, 1)}, {}, "", {1, 0}},
      {"no slices", "", {}, {}, "", {0, 0}},
      {"one of two is taken", "", {slice_json(kNode, 2)}, {"instance-1"}, "", {2, 1}},
      {"of one a part", "", {slice_json(kNode, 2, shared)}, {"instance-1:share"}, "", {2, 1}},
      {"a part and a whole one",
       "",
       {slice_json(kNode, 3, shared)},
       {"instance-1", "instance-2:share"},
       "",
       {3, 2}},
      {"devices of several nodes", "", {on_some_nodes}, {}, "", {3, 0}},
      {"another node's", "", {slice_json("other", 3)}, {}, "", {0, 0}},
      {"selectors choose", none.c_str(), {slice_json(kNode, 2)}, {}, "", {0, 0}},
      {"and see attributes", healthy.c_str(), {slice_json(kNode, 2, said)}, {}, "", {2, 0}},
      {"what cannot be said of a device says nothing of any",
       healthy.c_str(),
       {slice_json(kNode, 2)},
       {},
       "",
       {0, 0}},
      {"a node that lists none", "", {slice_json(kNode, 2)}, {}, "0", {2, 0}},
  };
  for (const CountCase& c : cases) {
    INFO(c.name);
    ExtendedRig rig(
        {.gates = "DRAExtendedResource=true,DRAConsumableCapacity=true,DRAPartitionableDevices=true"});
    rig.put_class(class_json(fmt::format(R"({{"extendedResourceName":"{}"{}}})", kGpu, c.of_class)));
    rig.machine(kNode, 0, c.listed);
    for (const std::string& slice : c.slices) rig.put_slice(slice);
    for (const std::string& taken : c.taken) {
      const auto colon = taken.find(':');
      const std::string device = taken.substr(0, colon);
      rig.put_claim(claim_json(
          one_request(),
          fmt::format(
              R"({{"allocation":{{"devices":{{"results":[{{"request":"req-1","driver":"some-driver","pool":"worker","device":"{}"{}}}]}}}}}})",
              device,
              colon == std::string::npos ? "" : R"(,"shareID":"9f7a3c5e-0000-4000-8000-000000000000")"),
          "of-" + device));
    }
    PluginContext context = rig.world.engine.context();
    const auto& resources = context.shared.get<ExtendedResources>(context);
    const auto devices = resources.devices(context.nodes.resources().id(kGpu), context.nodes.find(kNode));
    CHECK(devices.there == c.devices.there);
    CHECK(devices.taken == c.devices.taken);
  }
}

struct ScoreCase {
  const char* plugin;
  const char* args;
  Lines placed;  // of four pods, one after the other
};

TEST_CASE("scores count devices where nodes do not list the resource") {
  const std::vector<ScoreCase> cases = {
      {"NodeResourcesFit",
       R"({"scoringStrategy":{"type":"LeastAllocated","resources":[{"name":"example.com/gpu","weight":1}]}})",
       {"b", "a", "b", "a"}},
      {"NodeResourcesFit",
       R"({"scoringStrategy":{"type":"MostAllocated","resources":[{"name":"example.com/gpu","weight":1}]}})",
       {"a", "a", "a", "b"}},
      // The more of the CPUs are taken, the more of the devices should be.
      {"NodeResourcesBalancedAllocation",
       R"({"resources":[{"name":"cpu","weight":1},{"name":"example.com/gpu","weight":1}]})",
       {"b", "a", "b", "a"}},
  };
  for (const ScoreCase& c : cases) {
    INFO(c.plugin << c.args);
    KubeSchedulerConfiguration config = alone(c.plugin, c.args);
    ExtendedRig rig({.gates = "DRAExtendedResource=true", .config = &config});
    rig.put_class(backing_class());
    rig.machine("a", 3);
    rig.machine("b", 4);
    Lines placed;
    for (int i = 0; i < 4; ++i) placed.push_back(rig.attempt(gpu_pod("1", fmt::format("p{}", i))).substr(9));
    CHECK(placed == c.placed);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
