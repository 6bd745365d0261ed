// Pod resources: the kubelet's answer with the scheduler's devices, over real sockets.
#include "transports/pod_resources/pod_resources.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/rpc/pod_resources.hpp"
#include "koord/rpc/server.hpp"
#include "rigs/rpc_rig.hpp"
#include "transports/pod_resources/given_devices.hpp"

namespace koord::koordlet {
namespace {

using rpc::StatusCode;
using rpc::pod_resources::Devices;
using testing::RpcRig;

constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/device-allocated";

std::string field(int number, std::string_view text) {
  return fmt::format("{}{}{}", static_cast<char>(number << 3 | 2), static_cast<char>(text.size()), text);
}
/// A field that nobody here knows: NUMA nodes, memory, ...
std::string unknown() { return field(9, "kept"); }
std::string devices(std::string_view resource, const std::vector<std::string>& ids) {
  std::string all = field(1, resource);
  for (const std::string& id : ids) all += field(2, id);
  return all;
}
std::string pod(std::string_view ns, std::string_view name, const std::vector<std::string>& containers) {
  std::string all = field(1, name) + field(2, ns);
  for (const std::string& container : containers) all += field(3, container);
  return all;
}

std::shared_ptr<const PodInfo> given(const std::string& name, std::string_view annotation) {
  auto object = std::make_shared<api::Pod>();
  object->metadata.annotations[kAnnotation] = Symbol(annotation);
  auto info = std::make_shared<PodInfo>();
  info->uid = info->name = name;
  info->ns = "ns";
  info->object = object;
  return info;
}

TEST_CASE("The devices that a pod was given", "[koordlet][pod_resources]") {
  struct Row {
    std::string_view what, annotation;
    std::vector<Devices> devices;
  };
  const Row rows[] = {
      {"GPUs",
       R"({"gpu":[{"minor":1,"id":"GPU-b"},{"minor":0,"id":"GPU-a"}]})",
       {{"nvidia.com/gpu", {"GPU-a", "GPU-b"}}}},
      {"virtual functions",
       R"({"rdma":[{"minor":0,"id":"0000:1f:00.0","extension":{"vfs":[{"minor":-1,"busID":"0000:1f:00.2"}]}}]})",
       {{"koordinator.sh/rdma", {"0000:1f:00.2"}}}},
      {"a whole device",
       R"({"rdma":[{"minor":0,"id":"0000:1f:00.0"}]})",
       {{"koordinator.sh/rdma", {"0000:1f:00.0"}}}},
      {"both",
       R"({"rdma":[{"id":"r"}],"gpu":[{"id":"g"}]})",
       {{"nvidia.com/gpu", {"g"}}, {"koordinator.sh/rdma", {"r"}}}},
      {"of a type that has no name there", R"({"fpga":[{"id":"f"}]})", {}},
      {"without an id", R"({"gpu":[{"minor":1}]})", {}},
      {"nonsense", "nonsense", {}},
      {"nothing", "{}", {}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(given_devices(*given("p", row.annotation)) == row.devices);
  }
  CHECK(given_devices(PodInfo{}).empty());
}

/// A kubelet that a test plays, and the agent's socket before it.
class Rig : public RpcRig {
 public:
  Rig() {
    Inventory inventory;
    inventory.all_pods = {given("p", R"({"gpu":[{"id":"GPU-b"},{"id":"GPU-a"}],"rdma":[{"id":"r"}]})")};
    hub.publish(inventory);
    served.emplace(PodResources::Parts{engine, clock, Logger(log, clock, 1), metrics, hub},
                   PodResources::Options{path("koord/kubelet.sock"), path("kubelet.sock"),
                                         std::chrono::milliseconds(20)});
    tasks.spawn("pod resources", served->run());
    until([&] { return log.contains("pod resources are served"); });
  }
  ~Rig() {
    run(tasks.stop(clock, std::chrono::seconds(5)));
    run(served->stop());
    if (kubelet) run(kubelet->stop(nanoseconds(0)));
    served.reset();
    end();
  }
  void run_kubelet() {
    rpc::ServerOptions made;
    made.socket = {.path = path("kubelet.sock"), .users = {::geteuid()}};
    kubelet = std::make_unique<rpc::Server>(engine, clock, std::move(made));
    for (const char* method :
         {"/v1.PodResourcesLister/List", "/v1.PodResourcesLister/Get",
          "/v1.PodResourcesLister/GetAllocatableResources", "/v1alpha1.PodResourcesLister/List"})
      kubelet->handle(method, [this](rpc::Request request) -> Task<rpc::Reply> {
        asked = request.message;
        rpc::Reply reply = refusal;
        reply.message = answer;
        co_return reply;
      });
    REQUIRE(kubelet->listen().has_value());
  }
  rpc::Reply ask(std::string_view method, std::string message = {}) {
    if (channel_ == nullptr) channel_ = &channel("koord/kubelet.sock");
    return call(*channel_, method, std::move(message));
  }

  CapturedLog log;
  metrics::Registry metrics;
  InventoryHub hub;
  std::optional<PodResources> served;
  std::unique_ptr<rpc::Server> kubelet;
  std::string answer, asked;
  rpc::Reply refusal;

 private:
  rpc::Channel* channel_ = nullptr;
};

TEST_CASE("List and Get have the scheduler's devices beside the kubelet's; all else passes as it is",
          "[koordlet][pod_resources]") {
  Rig rig;
  CHECK(rig.ask(rpc::pod_resources::kList).status.code == StatusCode::unavailable);  // no kubelet yet
  rig.run_kubelet();
  const std::string main = field(1, "main") + field(2, devices("xyz.com/nic", {"n"})) + unknown();
  const std::string more = field(2, devices("koordinator.sh/rdma", {"r"})) +
                           field(2, devices("nvidia.com/gpu", {"GPU-a", "GPU-b"})) +
                           field(2, devices("xyz.com/nic", {"n"}));
  const std::string second = field(1, "second") + unknown();
  rig.answer = field(1, pod("ns", "p", {main, second})) + field(1, pod("ns", "other", {second})) +
               field(1, pod("else", "p", {second})) + field(1, pod("ns", "p", {})) + unknown();
  rpc::Reply reply;
  rig.until([&] { return (reply = rig.ask(rpc::pod_resources::kList, "question")).status.ok(); });
  CHECK(rig.asked == "question");
  const std::string wanted = field(1, pod("ns", "p", {field(1, "main") + more + unknown(), second})) +
                             field(1, pod("ns", "other", {second})) + field(1, pod("else", "p", {second})) +
                             field(1, pod("ns", "p", {})) + unknown();
  CHECK(reply.message == wanted);

  rig.answer = field(1, pod("ns", "p", {main}));
  CHECK(rig.ask(rpc::pod_resources::kGet).message ==
        field(1, pod("ns", "p", {field(1, "main") + more + unknown()})));
  rig.answer = "";
  CHECK(rig.ask(rpc::pod_resources::kGet).status.ok());
  rig.answer = "\xff\xff as it came";
  CHECK(rig.ask("/v1.PodResourcesLister/GetAllocatableResources").message == rig.answer);
  CHECK(rig.ask("/v1alpha1.PodResourcesLister/List").message == rig.answer);
  const auto bad = rig.ask(rpc::pod_resources::kList);
  CHECK_FALSE(bad.status.ok());
  CHECK(bad.status.message.starts_with("the kubelet's answer: ListPodResourcesResponse: "));
  rig.refusal.status = {.code = StatusCode::resource_exhausted, .message = "later", .details = {}};
  CHECK(rig.ask(rpc::pod_resources::kList).status.code == StatusCode::resource_exhausted);
}

TEST_CASE("Pods with devices, as the original's rows have them", "[koordlet][pod_resources]") {
  struct Row {
    std::string_view what, annotation;
    std::vector<std::string> names;  // of the kubelet's pods, of which "test-pod" has the annotation
    std::string devices;             // that "test-pod" has besides
  };
  const std::string gpu = field(2, devices("nvidia.com/gpu", {"0"}));
  const std::string function = field(2, devices("koordinator.sh/rdma", {"0000:01:00.2"}));
  constexpr std::string_view kBoth =
      R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"23040Mi",)"
      R"("koordinator.sh/gpu-memory-ratio":"100"},"id":"0"}],"rdma":[{"minor":0,)"
      R"("resources":{"koordinator.sh/rdma":"1"},"id":"0000:01:00.0",)"
      R"("extension":{"vfs":[{"minor":-1,"busID":"0000:01:00.2"}]}}]})";
  const Row rows[] = {
      {"a GPU and a virtual function", kBoth, {"test-pod"}, function + gpu},
      {"beside a pod without", kBoth, {"test-pod-1", "test-pod"}, function + gpu},
      {"a GPU by its id alone", R"({"gpu":[{"id":"0"}]})", {"test-pod"}, gpu},
      {"a pod that the kubelet has not", "{}", {"nonexistent-pod"}, ""},
      {"what is no annotation of devices", "invalid-json", {"test-pod"}, ""},
  };
  Rig rig;
  rig.run_kubelet();
  for (const Row& row : rows) {
    INFO(row.what);
    Inventory inventory;
    inventory.all_pods = {given("test-pod", row.annotation), given("test-pod-1", "")};
    rig.hub.publish(inventory);
    std::string wanted;
    rig.answer.clear();
    for (const std::string& name : row.names) {
      const std::string container = field(1, "test-container");
      rig.answer += field(1, pod("ns", name, {container}));
      wanted += field(1, pod("ns", name, {container + (name == "test-pod" ? row.devices : "")}));
    }
    rpc::Reply reply;
    rig.until([&] { return (reply = rig.ask(rpc::pod_resources::kList)).status.ok(); });
    CHECK(reply.message == wanted);
  }
}

}  // namespace
}  // namespace koord::koordlet
