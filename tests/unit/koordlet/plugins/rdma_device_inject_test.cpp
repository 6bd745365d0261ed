// RDMADeviceInject: cards, virtual functions, and what is not there or somebody else's.
#include <catch2/catch.hpp>

#include "rigs/device_rig.hpp"

namespace koord::koordlet {
namespace {

using Rig = testing::DeviceRig;

TEST_CASE("RDMA: cards, functions, and what is not there or somebody else's") {
  Rig rig;
  rig.node.verbs = {{"0000:3b:00.0", "uverbs0"}, {"0000:3b:00.2", "uverbs2"}, {"0000:3b:00.3", "uverbs3"}};
  const auto given = [&rig](std::string_view allocated) {
    std::vector<std::string> paths;
    for (const RuntimeDevice& device : rig.create(allocated).devices) {
      CHECK(device.file_mode == 0666);  // whatever the host's file says: containers need not run as root
      paths.push_back(device.host_path);
    }
    return paths;
  };
  using Paths = std::vector<std::string>;
  const Paths card = {"/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0"};
  CHECK(given(R"({"rdma":[{"minor":0,"id":"0000:3b:00.0"}]})") == card);
  const std::string_view functions =
      R"({"rdma":[{"minor":0,"id":"0000:3b:00.0","extension":{"vfs":[{"minor":-1,"busID":"0000:3b:00.2"}]}}]})";
  CHECK(given(functions) == Paths{"/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs2"});
  CHECK(rig.told.empty());
  CHECK(given(R"({"rdma":[{"minor":0,"id":"../../dev/mem"}]})").empty());
  CHECK(
      rig.told.back() ==
      "RDMA device ../../dev/mem of its annotation is not given: this node has no RDMA device of that name");
  CHECK(given(R"({"rdma":[{"minor":1,"id":"0000:5e:00.0"},{"minor":0,"id":"0000:3b:00.0"}]})") == card);
  rig.other("holder",
            {.rdma = {{.id = "0000:3b:00.0", .functions = {"0000:3b:00.2"}}, {.id = "0000:5e:00.0"}}});
  CHECK(given(functions).empty());
  CHECK(rig.told.back() == "RDMA device 0000:3b:00.2 of its annotation is not given: another pod has it");
  CHECK(given(R"({"rdma":[{"minor":0,"id":"0000:3b:00.0","resources":{"koordinator.sh/rdma":"50"}}]})") ==
        card);
  rig.other("half", {.rdma = {{.id = "0000:3b:00.0", .rdma = 60}}});
  CHECK(given(R"({"rdma":[{"minor":0,"id":"0000:3b:00.0","resources":{"koordinator.sh/rdma":"50"}}]})")
            .empty());
  rig.known = false;
  CHECK(given(functions).empty());
  CHECK(rig.told.back() == "its RDMA devices are not given: the node's devices were not looked at yet");
}

TEST_CASE("RDMA by CDI's names, where these give what the node has of that bus id") {
  Rig rig;
  if (!rig.gates.set("CDIDeviceInject=true")) throw std::runtime_error("no such gate");
  rig.takes_cdi = true;
  rig.node.verbs = {{"0000:3b:00.0", "uverbs0"}, {"0000:5e:00.0", "uverbs1"}};
  rig.node.cdi.rdma = {{"0000:3b:00.0", {"a.b/net=0000:3b:00.0", "uverbs0"}},
                       {"0000:5e:00.0", {"a.b/net=0000:5e:00.0", "uverbs7"}},
                       {"0000:66:00.0", {"a.b/net=0000:66:00.0", "uverbs2"}}};
  Verdict verdict = rig.create(R"({"rdma":[{"minor":0,"id":"0000:3b:00.0"}]})");
  CHECK(verdict.cdi_devices == std::vector<std::string>{"a.b/net=0000:3b:00.0"});
  REQUIRE(verdict.devices.size() == 1);
  CHECK(verdict.devices[0].host_path == "/dev/infiniband/rdma_cm");
  verdict = rig.create(R"({"rdma":[{"minor":1,"id":"0000:5e:00.0"}]})");  // the file is of another day
  CHECK(verdict.cdi_devices.empty());
  CHECK(verdict.devices.size() == 2);
  verdict = rig.create(R"({"rdma":[{"minor":2,"id":"0000:66:00.0"}]})");  // this node has no such card
  CHECK(verdict.cdi_devices.empty());
  CHECK(verdict.devices.empty());
  rig.other("holder", {.rdma = {{.id = "0000:3b:00.0"}}});
  CHECK(rig.create(R"({"rdma":[{"minor":0,"id":"0000:3b:00.0"}]})").cdi_devices.empty());
  rig.takes_cdi = false;
  CHECK(rig.create(R"({"rdma":[{"minor":1,"id":"0000:5e:00.0"}]})").devices.size() == 2);
}

}  // namespace
}  // namespace koord::koordlet
