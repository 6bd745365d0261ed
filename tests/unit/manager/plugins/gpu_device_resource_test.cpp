// GPUs of a node: upstream's tables (17).
#include "plugins/gpu_device_resource/gpu_device_resource.hpp"

#include <catch2/catch.hpp>

#include "framework/noderesource/devices.hpp"
#include "vectors.hpp"

namespace koord::manager {
extern const ResourcePlugin kGpuDeviceResource;
namespace {

TEST_CASE("gpudeviceresource: 12 cases of what devices give") {
  std::size_t count = 0;
  for (const Vector& row : vectors("plugins", {"device"})) {
    if (row.text("type") != "gpu") continue;
    ++count;
    if (row.is("error")) continue;  // arguments that are missing, a client that fails
    INFO(row.json("device"));
    const auto device = row.take<api::Device>("device");
    const api::Device* const given = row.has("device") ? &device : nullptr;
    CHECK(gpu_resources(given, row.is("share")) == resources(row.find("want")));
    if (given == nullptr) continue;
    api::Node node;
    set_gpu_labels(node, device);
    CHECK(node.metadata.labels.size() == (row.has("labels") ? row.find("labels")->size() : 0));
  }
  CHECK(count == 12);
}

TEST_CASE("gpudeviceresource: 5 cases of what is written of a node") {
  std::size_t count = 0;
  for (const Vector& row : vectors("plugins", {"device_set"})) {
    if (row.text("type") != "gpu") continue;
    ++count;
    INFO(row.json("node") << row.json("resources") << row.json("resets"));
    auto node = row.take<api::Node>("node");
    if (row.has("resources") || !row.find("resets")->empty())
      set_devices(node, kGpuDeviceResource.resources, resources(row.find("resources")));
    if (const json::Value* labels = row.find("labels")) {
      api::Device device;
      device.spec.devices.push_back({.type = Symbol("gpu"), .health = true});
      for (const json::Member& label : labels->members())
        device.metadata.labels[label.key()] = Symbol(label.value.text());
      set_gpu_labels(node, device);
    }
    const auto want = row.take<api::Node>("want");
    CHECK(node.status.allocatable == want.status.allocatable);
    CHECK(node.status.capacity == want.status.capacity);
    CHECK(node.metadata.labels == want.metadata.labels);
  }
  CHECK(count == 5);
}

}  // namespace
}  // namespace koord::manager
