// What machines' devices are, and who has them.
#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device_machines.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugins/device_share/devices/device_ledger.hpp"

namespace koord::scheduling::test {
namespace {

using namespace device_share;
using Types = std::array<Places, kDeviceTypes>;

Amounts share(std::int64_t percent) {
  Amounts amounts;
  amounts.set(Unit::core, percent);
  amounts.set(Unit::memory_ratio, percent);
  return amounts;
}

TEST_CASE("Machines of one kind have one shape") {
  KnownShapes shapes;
  api::Device device = eight_gpus();
  const auto shape = shapes.read(&device, nullptr);
  // Ids and health are each machine's own.
  device.metadata.name = "other";
  device.spec.devices.back().id = "other";
  device.spec.devices.back().health = false;
  CHECK(shapes.read(&device, nullptr) == shape);
  CHECK(healthy_places(*shape, &device) == Types{0x7f, 0xf, 0});
  CHECK(healthy_places(*shape, nullptr) == Types{});

  SECTION("its labels, amounts and places are the kind's") {
    api::Device more = device;
    more.spec.devices.back().resources = {};
    CHECK(shapes.read(&more, nullptr) != shape);
    CHECK(healthy_places(*shapes.read(&more, nullptr), &more)[0] == 0x7f);
    more = device;
    more.spec.devices.front().labels["type"] = Symbol("other");
    CHECK(shapes.read(&more, nullptr) != shape);
    more = device;
    more.spec.devices.front().topology->pcie_id = "9";
    CHECK(shapes.read(&more, nullptr) != shape);
    more = device;
    more.metadata.labels[api::kGpuPartitionPolicyLabel] = Symbol("Honor");
    CHECK(shapes.read(&more, nullptr) != shape);
  }
  SECTION("where they are") {
    CHECK(shape->devices == 12);
    CHECK(shape->of(DeviceType::gpu).all == 0xff);
    CHECK(shape->on(DeviceType::gpu, 0b01) == 0x0f);
    CHECK(shape->on(DeviceType::rdma, 0b10) == 0b1100);
    CHECK(shape->on(DeviceType::rdma, 0) == 0b1111);
    CHECK(shape->numa_nodes() == 0b11);
    CHECK(shape->place(DeviceType::rdma, 4) == 3);
    CHECK(shape->place(DeviceType::rdma, 0) == kMostPlaces);
    REQUIRE(shape->gpu_tree.size() == 2);
    CHECK(shape->gpu_tree[1].gpus == 0xf0);
    REQUIRE(shape->gpu_tree[1].inner.size() == 2);
    CHECK(shape->gpu_tree[1].inner[0].gpus == 0x30);
    CHECK_FALSE(shape->has_partitions);
    CHECK_FALSE(shape->secondary_well_planned.has_value());
    CHECK(shape->unread.empty());
  }
  SECTION("one that does not say where it is") {
    device.spec.devices[0].topology.reset();
    device.spec.devices[1].topology->node_id = -1;
    device.spec.devices.back().topology.reset();
    const auto half = shapes.read(&device, nullptr);
    CHECK(half->gpu_tree.empty());
    CHECK(half->on(DeviceType::rdma, 0b10) == 0b1110);
    CHECK(half->on(DeviceType::rdma, 0) == 0b1111);
  }
  SECTION("no Device is no device") {
    CHECK(shapes.read(nullptr, nullptr)->devices == 0);
    CHECK(shapes.read(nullptr, nullptr)->gpu_tree.empty());
  }
}

TEST_CASE("Partitions") {
  KnownShapes shapes;
  api::Device device = eight_gpus();
  api::Node node;
  const auto label = [](api::ObjectMeta& of, std::string_view name, std::string_view value) {
    of.labels[name] = Symbol(value);
  };
  SECTION("of models that have them") {
    struct Row {
      const char *vendor, *model, *policy;
      bool has, honors;
    };
    for (const Row& row : std::vector<Row>{{"", "H100", "", true, false},
                                           {"nvidia", "H800", "Honor", true, true},
                                           {"", "H20", "Prefer", true, false},
                                           {"amd", "H100", "Honor", false, true},
                                           {"", "A100", "", false, false}}) {
      label(node.metadata, api::kGpuVendorLabel, row.vendor);
      label(node.metadata, api::kGpuModelLabel, row.model);
      label(node.metadata, api::kGpuPartitionPolicyLabel, row.policy);
      const auto shape = shapes.read(&device, &node);
      CAPTURE(row.vendor, row.model, row.policy);
      CHECK(shape->has_partitions == row.has);
      CHECK(shape->honors_partitions == row.honors);
      CHECK(shape->model == row.model);
      if (!row.has) continue;
      CHECK(shape->partitions_of(1)->partitions.size() == 8);
      CHECK(shape->partitions_of(2)->partitions[3].mask == 0xc0);
      CHECK(shape->partitions_of(4)->partitions[1].mask == 0xf0);
      CHECK(shape->partitions_of(8)->partitions[0].mask == 0xff);
      CHECK(shape->partitions_of(3) == nullptr);
    }
  }
  SECTION("of a Device, the highest score first, and its label counts, not the Node's") {
    device.metadata.annotations[api::GpuPartitions::kAnnotation] = Symbol(
        R"({"1":[],"2":[{"minors":[0,1],"allocationScore":1},{"minors":[3,2],"allocationScore":2},{"minors":[4,9],"allocationScore":2}],"4":[{"minors":[0,1]},{"minors":[0,1,2,2]}]})");
    label(node.metadata, api::kGpuModelLabel, "H100");
    label(node.metadata, api::kGpuPartitionPolicyLabel, "Honor");
    const auto shape = shapes.read(&device, &node);
    CHECK_FALSE(shape->honors_partitions);
    CHECK(shape->partitions_of(1) == nullptr);
    const DeviceShape::Partitions& two = *shape->partitions_of(2);
    CHECK(two.best == 2);
    CHECK(two.partitions[0].gpus == std::vector<std::uint8_t>{3, 2});
    CHECK(two.partitions[2].mask == 0b11);
    CHECK_FALSE(two.partitions[1].whole);  // the machine has no GPU 9
    CHECK(shape->partitions_of(4) == nullptr);
    CHECK(shape->unread ==
          "scheduling.koordinator.sh/gpu-partitions: [4]: a partition of 2 GPUs is not given; "
          "scheduling.koordinator.sh/gpu-partitions: [4]: a partition of 3 GPUs is not given");
  }
  SECTION("what cannot be read is as if it were not there, and is said") {
    device.metadata.annotations[api::GpuPartitions::kAnnotation] = Symbol(R"({"two":[]})");
    const auto shape = shapes.read(&device, nullptr);
    CHECK_FALSE(shape->has_partitions);
    CHECK(shape->unread.starts_with("scheduling.koordinator.sh/gpu-partitions: "));
  }
}

TEST_CASE("More devices than count are said, and the others count") {
  KnownShapes shapes;
  api::Device device;
  for (std::int32_t i = 0; i < 70; ++i)
    device.spec.devices.push_back(device_info("gpu", 69 - i, whole_gpu()));
  device.spec.devices.push_back(device_info("gpu", -1, whole_gpu()));
  device.spec.devices.push_back(device_info("xpu", 0, {}));
  const auto shape = shapes.read(&device, nullptr);
  CHECK(shape->of(DeviceType::gpu).devices.size() == 64);
  CHECK(shape->of(DeviceType::gpu).all == ~Places{0});
  CHECK(shape->devices == 64);
  CHECK(shape->unread == "spec.devices: 70 of type gpu: the first 64 by minor count");
}

TEST_CASE("What nobody could have meant is bounded") {
  KnownShapes shapes;
  api::Device device = eight_gpus(0);
  api::DeviceInfo& nic = device.spec.devices[0];
  for (std::int32_t i = 0; i < 100; ++i) {
    api::VirtualFunctionGroup group;
    group.labels["n"] = Symbol(std::to_string(i));
    for (std::int32_t f = 0; f < 100; ++f) group.vfs.push_back({f, std::to_string(100 * i + f)});
    nic.vf_groups.push_back(group);
  }
  std::string table = R"({"2":[{"minors":[]})";
  for (int i = 0; i < 100; ++i) table += R"(,{"minors":[0]})";
  device.metadata.annotations[api::GpuPartitions::kAnnotation] = Symbol(table + "]}");
  const auto shape = shapes.read(&device, nullptr);
  CHECK(shape->of(DeviceType::rdma).devices[0].functions.size() == 4096);
  CHECK(shape->words == 64);
  CHECK(shape->partitions_of(2) == nullptr);
  CHECK(shape->has_partitions);
  CHECK(shape->unread.size() < 2000);
  CHECK(shape->unread.ends_with("; and more"));

  api::DeviceAllocations many;
  many.devices["gpu"].resize(129);
  CHECK(read_given(many).has_error());
  many.devices["gpu"].resize(128);
  many.devices["gpu"][5].extension.ensure().vfs.resize(129);
  CHECK(read_given(many).has_error());
  many.devices["gpu"][5].extension->vfs.resize(128);
  CHECK(read_given(many).has_value());
}

/// Pods by name, with uids, for as long as it lives.
class Pods {
 public:
  const PodInfo& operator[](std::string_view uid) {
    for (const PodInfo& pod : pods_)
      if (pod.pod->metadata.uid == uid) return pod;
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.uid = uid;
    pods_.push_back({.pod = std::move(pod)});
    return pods_.back();
  }

 private:
  std::deque<PodInfo> pods_;
};

std::shared_ptr<const Given> gpus(std::vector<std::pair<std::int32_t, std::int64_t>> parts) {
  auto given = std::make_shared<Given>();
  for (const auto& [minor, percent] : parts)
    given->devices.push_back({DeviceType::gpu, minor, share(percent)});
  return given;
}

TEST_CASE("Who has what is counted, and comes back with a machine that does") {
  KnownShapes shapes;
  api::Device device = eight_gpus();
  const auto shape = shapes.read(&device, nullptr);
  Pods pods;
  DeviceLedger ledger;
  ledger.bind(shape, healthy_places(*shape, &device));
  ledger.add({&pods["a"], gpus({{0, 100}, {1, 40}})});
  ledger.add({&pods["b"], gpus({{1, 50}})});
  ledger.add({&pods["b"], gpus({{2, 50}})});  // it has what it has
  auto nic = std::make_shared<Given>(*gpus({}));
  Amounts one;
  one.set(Unit::core, 1);
  nic->devices.push_back({DeviceType::rdma, 2, one, {{1, "0000:1f:00.3"}, {0, "nowhere"}}});
  ledger.add({&pods["c"], nic});

  const NodeDevices& node = ledger.devices();
  CHECK(node.taken == Types{0b11, 0b10, 0});
  CHECK(node.used_of(DeviceType::gpu, 1) == share(90));
  CHECK(node.free_of(DeviceType::gpu, 1)[Unit::core] == 10);
  // What is not counted of it is as free as it was.
  CHECK(node.free_of(DeviceType::gpu, 0)[Unit::memory] == std::int64_t{80} << 30);
  CHECK(node.functions == std::vector<std::uint64_t>{0, 0b10, 0, 0});
  CHECK(ledger.of(pods["c"]) == nic.get());
  CHECK(ledger.find("b")->pod == &pods["b"]);
  CHECK(ledger.find("z") == nullptr);

  SECTION("devices that go are nobody's, and are held again when they come back") {
    api::Device fewer = device;
    std::erase_if(fewer.spec.devices, [](const api::DeviceInfo& info) { return info.minor == 1; });
    const auto less = shapes.read(&fewer, nullptr);
    ledger.bind(less, healthy_places(*less, &fewer));
    CHECK(node.taken == Types{0b1, 0b1, 0});  // the NIC with minor 2 is the first one now
    CHECK(node.gone == std::array<std::uint32_t, kDeviceTypes>{1, 0, 0});
    CHECK(node.count(DeviceType::gpu) == 8);
    ledger.bind(shape, {});
    CHECK(node.gone == std::array<std::uint32_t, kDeviceTypes>{});
    CHECK(node.used_of(DeviceType::gpu, 1) == share(90));
    CHECK(node.free_of(DeviceType::gpu, 1).zero());
    CHECK(node.total_of(DeviceType::gpu, 5).none());
  }
  SECTION("who goes leaves what he had") {
    ledger.remove(pods["a"]);
    ledger.remove(pods["c"]);
    ledger.remove(pods["z"]);
    CHECK(node.taken == Types{0b10, 0, 0});
    CHECK(node.used_of(DeviceType::gpu, 1) == share(50));
    CHECK(node.functions == std::vector<std::uint64_t>{0, 0, 0, 0});
    ledger.remove(pods["b"]);
    CHECK(ledger.empty());
    CHECK(node.taken == Types{});
  }
}

TEST_CASE("What a pod has of a reservation is counted once") {
  KnownShapes shapes;
  const api::Device device = eight_gpus();
  const auto shape = shapes.read(&device, nullptr);
  Pods pods;
  DeviceLedger ledger;
  ledger.bind(shape, healthy_places(*shape, &device));
  ledger.add({&pods["r"], gpus({{0, 100}, {1, 50}})});
  ledger.add({&pods["a"], gpus({{0, 30}}), "r"});
  // More than is kept there comes out of what is free.
  ledger.add({&pods["b"], gpus({{1, 80}, {2, 10}}), "r"});
  const NodeDevices& node = ledger.devices();
  CHECK(node.used_of(DeviceType::gpu, 0) == share(100));
  CHECK(node.used_of(DeviceType::gpu, 1) == share(80));
  CHECK(node.used_of(DeviceType::gpu, 2) == share(10));

  const auto kept = ledger.kept(*ledger.find("r"));
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].amounts == share(70));
  CHECK(kept[1].amounts == share(0));
  CHECK(ledger.lodged(*ledger.find("r"))[1].amounts == share(50));
  ledger.remove(pods["b"]);
  CHECK(node.used_of(DeviceType::gpu, 1) == share(50));
  ledger.remove(pods["r"]);
  CHECK(node.used_of(DeviceType::gpu, 0) == share(30));
  CHECK(node.taken == Types{0b1, 0, 0});
}

TEST_CASE("The sums follow from who has what, in whatever order they came") {
  std::mt19937 random(11);
  KnownShapes shapes;
  const api::Device device = eight_gpus();
  const auto shape = shapes.read(&device, nullptr);
  const auto any = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  for (int round = 0; round < 200; ++round) {
    Pods pods;
    std::vector<DeviceLedger::Holder> holders;
    for (int i = 0; i < 6; ++i) {
      const std::string uid = std::to_string(i);
      auto given = gpus({{any(9), 10 * any(6)}, {any(9), 10 * any(6)}});
      holders.push_back({&pods[uid], given, any(2) == 0 ? "" : std::to_string(any(3))});
    }
    DeviceLedger one, other;
    one.bind(shape, healthy_places(*shape, &device));
    for (const auto& holder : holders) one.add(holder);
    std::shuffle(holders.begin(), holders.end(), random);
    // Some come and go before.
    other.bind(shape, {});
    for (int i = 0; i < 3; ++i) other.add(holders[static_cast<std::size_t>(i)]);
    other.remove(*holders[0].pod);
    for (const auto& holder : holders) other.add(holder);
    other.bind(shape, healthy_places(*shape, &device));
    CHECK(one.devices().used == other.devices().used);
    CHECK(one.devices().taken == other.devices().taken);
    CHECK(one.devices().gone == other.devices().gone);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
