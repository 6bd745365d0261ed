// RDMA cards of a node: upstream's tables (9).
#include "plugins/rdma_device_resource/rdma_device_resource.hpp"

#include <catch2/catch.hpp>

#include "framework/noderesource/devices.hpp"
#include "vectors.hpp"

namespace koord::manager {
extern const ResourcePlugin kRdmaDeviceResource;
namespace {

TEST_CASE("rdmadeviceresource: 6 cases of what devices give") {
  std::size_t count = 0;
  for (const Vector& row : vectors("plugins", {"device"})) {
    if (row.text("type") != "rdma") continue;
    ++count;
    if (row.is("error")) continue;  // arguments that are missing, a client that fails
    INFO(row.json("device"));
    const auto device = row.take<api::Device>("device");
    const api::Device* const given = row.has("device") ? &device : nullptr;
    CHECK(rdma_resources(given) == resources(row.find("want")));
  }
  CHECK(count == 6);
}

TEST_CASE("rdmadeviceresource: 3 cases of what is written of a node") {
  std::size_t count = 0;
  for (const Vector& row : vectors("plugins", {"device_set"})) {
    if (row.text("type") != "rdma") continue;
    ++count;
    INFO(row.json("node") << row.json("resources") << row.json("resets"));
    auto node = row.take<api::Node>("node");
    if (row.has("resources") || !row.find("resets")->empty())
      set_devices(node, kRdmaDeviceResource.resources, resources(row.find("resources")));
    const auto want = row.take<api::Node>("want");
    CHECK(node.status.allocatable == want.status.allocatable);
    CHECK(node.status.capacity == want.status.capacity);
    CHECK(node.metadata.labels == want.metadata.labels);
  }
  CHECK(count == 3);
}

}  // namespace
}  // namespace koord::manager
