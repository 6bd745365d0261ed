// Claims for devices in the scheduler's bench: see scheduler_claims.hpp.
#include "scheduler_claims.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <stdexcept>
#include <string>

#include "koord/api/schema/codec.hpp"
#include "koord/kube/client.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"

namespace koord::scheduling::bench {

namespace {

template <class T>
std::shared_ptr<T> object(const std::string& json) {
  return std::make_shared<T>(api::decode<T>(json).value());
}

/// Takes every PUT, and answers what it was sent.
class Taking final : public kube::Transport {
 public:
  Task<Result<net::Response>> send(const net::Request& request) override {
    last = request.body;
    co_return net::Response::json(200, request.body);
  }
  Task<Result<std::unique_ptr<net::Stream>>> open_stream(net::Request) override {
    co_return Error(Code::unavailable, "nothing is watched here");
  }
  std::string last;
};

}  // namespace

std::shared_ptr<const api::DeviceClass> make_device_class() {
  return object<api::DeviceClass>(
      R"({"metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":{"expression":"device.driver == 'gpu.example.com'"}}]}})");
}

std::shared_ptr<const api::ResourceSlice> make_slice(int node) {
  std::string devices;
  for (int i = 0; i < kDevicesANode; ++i)
    devices += fmt::format(
        R"({}{{"name":"gpu-{}","attributes":{{"model":{{"string":"A100"}},"uuid":{{"string":"gpu-{}-{}"}}}},"capacity":{{"memory":{{"value":"80Gi"}}}}}})",
        i == 0 ? "" : ",", i, node, i);
  return object<api::ResourceSlice>(fmt::format(
      R"({{"metadata":{{"name":"slice-{0}"}},"spec":{{"driver":"gpu.example.com","pool":{{"name":"node-{0}","generation":1,"resourceSliceCount":1}},"nodeName":"node-{0}","devices":[{1}]}}}})",
      node, devices));
}

void claims_device(api::Pod& pod, const Which&) {
  api::PodResourceClaim& entry = pod.spec.resource_claims.emplace_back();
  entry.name = "gpu";
  entry.resource_claim_template_name = "one-gpu";
  api::PodResourceClaimStatus& made = pod.status.resource_claim_statuses.emplace_back();
  made.name = entry.name;
  made.resource_claim_name = pod.metadata.name + "-gpu";
}

std::shared_ptr<const api::ResourceClaim> make_claim(const api::Pod& pod) {
  return object<api::ResourceClaim>(fmt::format(
      R"({{"metadata":{{"name":"{0}-gpu","namespace":"{1}","uid":"claim-{2}","resourceVersion":"1","ownerReferences":[{{"apiVersion":"v1","kind":"Pod","name":"{0}","uid":"{2}","controller":true}}]}},"spec":{{"devices":{{"requests":[{{"name":"gpu","exactly":{{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1,"selectors":[{{"cel":{{"expression":"device.attributes['gpu.example.com'].model == 'A100'"}}}}]}}}}]}}}}}})",
      pod.metadata.name, pod.metadata.namespace_.view(), pod.metadata.uid));
}

std::vector<std::shared_ptr<const api::ResourceClaim>> written_claims(std::span<const Decision> decisions,
                                                                      Clock& clock) {
  std::vector<std::shared_ptr<const api::ResourceClaim>> all;
  asio::io_context loop{1};
  Taking server;
  kube::Client client(server, clock, {.max_retries = 0});
  for (const Decision& decision : decisions) {
    const auto* bind = decision.as<Decision::Bind>();
    if (bind == nullptr) continue;
    const PreBindWork::Context context{
        client,
        clock,
        [] { return true; },
        decision.pod,
        bind->node,
        [](const kube::ObjectType&, std::string_view, std::string_view) -> kube::Object { return nullptr; }};
    for (const Decision::PreBind& each : bind->pre_binds) {
      Status ended{StatusCode::error, "it did not end"};
      asio::co_spawn(loop, each.work->run(context), [&](std::exception_ptr thrown, Status status) {
        if (!thrown) ended = std::move(status);
      });
      loop.restart();
      loop.run();
      if (!ended.ok()) throw std::runtime_error(ended.message);
      auto claim = object<api::ResourceClaim>(server.last);
      claim->metadata.resource_version = "2";
      all.push_back(std::move(claim));
    }
  }
  return all;
}

}  // namespace koord::scheduling::bench
