// ExtendedRig: a ClaimRig with the gate DRAExtendedResource, whose API server creates and deletes claims and
// hears of pods' status, and the controller that writes beside the cycle.
#pragma once

#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/informer.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "plugins/dynamic_resources/claim_rig.hpp"

namespace koord::scheduling::test {

inline constexpr const char *kGpu = "example.com/gpu", *kOwn = "my-pod-extended-resources-1";

inline void ask(api::Pod& pod, std::string_view resource, std::string_view amount) {
  pod.spec.containers[0].resources.requests[Symbol(resource)] = api::Quantity::must(amount);
}

/// A pod "my-pod", or another of that name, that asks for so many.
inline std::shared_ptr<const api::Pod> gpu_pod(std::string_view amount = "1", const std::string& name = kPod,
                                               std::string_view resource = kGpu) {
  return make_pod(name, "1", "1Gi", [&](api::Pod& pod) {
    if (name == kPod) pod.metadata.uid = kPodUid;
    pod.spec.containers[0].name = "con0";
    ask(pod, resource, amount);
  });
}

/// A class whose devices pods may ask for by that name.
inline std::string backing_class(const std::string& resource = kGpu, const std::string& name = kClass) {
  return class_json(fmt::format(R"({{"extendedResourceName":"{}"}})", resource), name);
}

struct ExtendedRig : ClaimRig {
  explicit ExtendedRig(const Options& options = {.gates = "DRAExtendedResource=true"}) : ClaimRig(options) {
    transport.answer = [this, known = transport.answer](const net::Request& request) {
      return answer(request, known);
    };
  }
  ~ExtendedRig() {
    if (controller != nullptr) koord::test::run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(5)));
  }
  ExtendedRig(const ExtendedRig&) = delete;
  ExtendedRig& operator=(const ExtendedRig&) = delete;

  /// A node with so many devices; it lists some of the resource, too, where `listed` is not empty.
  void machine(const std::string& name, int devices, const std::string& listed = "") {
    world.engine.put_node(make_node(name, "64", "64Gi", [&](api::Node& node) {
      if (!listed.empty()) node.status.allocatable[kGpu] = api::Quantity::must(listed);
    }));
    if (devices > 0) put_slice(slice_json(name, devices));
  }
  /// The controller writes from now on.
  void lead() {
    for (const Profile::Named& named : world.engine.profiles()[0].plugins)
      if (auto* part = dynamic_cast<ControllerPlugin*>(named.plugin.get());
          part != nullptr && named.name == "DynamicResources")
        controller = part->make_controller(informers, client);
    REQUIRE(controller != nullptr);
    tasks.spawn("controller", controller->run({client, loop.clock, log, [] { return true; }, metrics}));
    loop.settle();
  }
  /// Until a pod that failed may be tried again; what is on the controller's table is written before.
  std::string later() {
    loop.settle();
    world.clock.advance(std::chrono::seconds(20));
    return next();
  }
  Result<net::Response> answer(const net::Request& request, auto& known) {
    const auto write = [&](std::string text) -> std::optional<Result<net::Response>> {
      writes.push_back(text);
      return refuse ? refuse(text) : std::nullopt;
    };
    if (const auto at = request.target.find("/pods/"); at != std::string::npos) {
      if (auto refused =
              write(fmt::format("{} {} {}", request.method, request.target.substr(at + 1), request.body)))
        return *std::move(refused);
      return koord::test::json_response(200, "{}");
    }
    if (request.method == "POST") {
      auto claim = *api::decode<api::ResourceClaim>(request.body);
      if (auto refused = write("POST " + request.body)) return *std::move(refused);
      claim.metadata.name = fmt::format("{}{}", claim.metadata.generate_name.view(), ++created);
      claim.metadata.uid = fmt::format("uid-{}", claim.metadata.name);
      put_claim(api::encode(claim));
      return koord::test::json_response(201, api::encode(claims.at(claim.metadata.name)));
    }
    if (request.method == "DELETE") {
      std::string name = request.target.substr(request.target.find("/resourceclaims/") + 16);
      name = name.substr(0, name.find('?'));
      if (auto refused = write("DELETE " + name)) return *std::move(refused);
      // It stays while somebody has a finalizer there.
      if (claims.contains(name) && claims.at(name).metadata.finalizers.empty()) remove_claim(name);
      return koord::test::json_response(200, "{}");
    }
    return known(request);
  }

  int created = 0;
  kube::InformerSet informers{loop.executor(), loop.clock};
  CapturedLog captured;
  Logger log{captured, loop.clock};
  metrics::Registry metrics;
  std::unique_ptr<PluginController> controller;
  TaskGroup tasks{loop.executor()};
};

}  // namespace koord::scheduling::test
