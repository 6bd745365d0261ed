// The node's Device: what is written, what of others' stays, what is not known and therefore stays.
#include "framework/report/node_devices.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <iterator>

#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

const api::Time kThen = *api::Time::parse("2026-01-02T03:04:05Z"),
                kNow = *api::Time::parse("2026-02-02T03:04:05Z");

api::DeviceInfo device(std::string_view type, std::string id, int minor, bool health = true) {
  api::DeviceInfo to;
  to.type = Symbol(type);
  to.id = std::move(id);
  to.minor = minor;
  to.health = health;
  return to;
}
api::DeviceInfo told(std::string id, int minor, bool health, api::Time at = {}) {
  api::DeviceInfo to = device(kGpuType, std::move(id), minor, health);
  api::Condition condition{.type = Symbol("Healthy")};
  condition.status = Symbol(health ? "True" : "False");
  condition.last_transition_time = at;
  to.conditions = {condition};
  return to;
}
std::vector<std::string> ids(const api::Device& object) {
  std::vector<std::string> all;
  std::ranges::transform(object.spec.devices, std::back_inserter(all), &api::DeviceInfo::id);
  return all;
}
using Ids = std::vector<std::string>;

TEST_CASE("Sorted by type and minor; devices of other types are others'") {
  api::Device object;
  object.spec.devices = {device("fpga", "f", 0), device("gpu", "gone", 7)};
  NodeDevices found{.devices = {device("rdma", "r", 1), device("gpu", "b", 1), device("gpu", "a", 0)}};
  const api::Device wanted = wanted_device(found, object, kNow);
  CHECK(ids(wanted) == Ids{"f", "a", "b", "r"});
  CHECK_FALSE(says(object, wanted));
  CHECK(says(wanted, wanted_device(found, wanted, kNow)));
}

TEST_CASE("What is not known stays, unless something has taken its place") {
  api::Device object;
  object.spec.devices = {device("gpu", "a", 0), device("gpu", "b", 1), device("rdma", "r", 0)};
  object.metadata.labels["node.koordinator.sh/gpu-model"] = Symbol("A100");
  CHECK(says(object, wanted_device({.gpus_complete = false, .rdma_complete = false}, object, kNow)));
  NodeDevices found{.devices = {device("gpu", "new", 1)}, .gpus_complete = false};
  CHECK(ids(wanted_device(found, object, kNow)) == Ids{"a", "new"});
  found.gpus_complete = true;
  const api::Device wanted = wanted_device(found, object, kNow);
  CHECK(ids(wanted) == Ids{"new"});
  CHECK(wanted.metadata.labels.empty());
}

TEST_CASE("A condition that stays keeps its time; a device keeps what others say of it") {
  api::Device object;
  object.spec.devices = {told("a", 0, true, kThen), told("b", 1, true, kThen)};
  object.spec.devices[0].labels["rack"] = Symbol("7");
  object.spec.devices[0].module_id = 3;
  NodeDevices found{.devices = {told("a", 0, true), told("b", 1, false), told("c", 2, true)}};
  const api::Device wanted = wanted_device(found, object, kNow);
  CHECK(wanted.spec.devices[0].conditions[0].last_transition_time == kThen);
  CHECK(wanted.spec.devices[1].conditions[0].last_transition_time == kNow);
  CHECK(wanted.spec.devices[2].conditions[0].last_transition_time == kNow);
  CHECK(wanted.spec.devices[0].module_id == 3);
  CHECK(wanted.spec.devices[0].labels.find("rack") != nullptr);
  CHECK(says(wanted, wanted_device(found, wanted, *api::Time::parse("2026-03-02T03:04:05Z"))));
}

TEST_CASE("Labels and the annotation: ours are kept true, others' stay") {
  constexpr std::string_view kPartitions = "scheduling.koordinator.sh/gpu-partitions",
                             kPolicy = "node.koordinator.sh/gpu-partition-policy";
  struct Row {
    std::string_view what;
    GpuDescription gpus;
    bool complete;
    std::string_view policy, partitions;  // of an object that says Honor and {"2":[]}
  };
  const Row rows[] = {
      {"files that know of links",
       {.vendor = "huawei", .partition_policy = "Prefer", .partitions = "{}", .knows_partitions = true},
       true,
       "Prefer",
       "{}"},
      {"files without links", {.vendor = "huawei", .knows_partitions = true}, true, "", ""},
      {"a driver that knows of none", {.vendor = "nvidia"}, true, "Honor", R"({"2":[]})"},
      {"not known yet", {}, false, "Honor", R"({"2":[]})"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    api::Device object;
    object.metadata.labels[kPolicy] = Symbol("Honor");
    object.metadata.labels["mine"] = Symbol("stays");
    object.metadata.annotations[kPartitions] = Symbol(R"({"2":[]})");
    object.metadata.annotations["others"] = Symbol("stays");
    NodeDevices found{.devices = {device("gpu", "a", 0)}, .gpus = row.gpus, .gpus_complete = row.complete};
    const api::Device wanted = wanted_device(found, object, kNow);
    CHECK(api::value_or(wanted.metadata.labels, kPolicy) == row.policy);
    CHECK(api::value_or(wanted.metadata.annotations, kPartitions) == row.partitions);
    CHECK(api::value_or(wanted.metadata.labels, "mine") == "stays");
    auto document = json::parse(
        R"({"metadata":{"labels":{"mine":"stays","node.koordinator.sh/gpu-model":"old"},"annotations":{"others":"stays"}},"unknown":1})");
    write_device(*document, wanted);
    CHECK(json::text_at(*document, "metadata", "labels", "mine") == "stays");
    CHECK(json::text_at(*document, "metadata", "labels", "node.koordinator.sh/gpu-model").empty());
    CHECK(json::text_at(*document, "metadata", "annotations", "others") == "stays");
    CHECK(json::find(*document, "unknown") != nullptr);
    CHECK(json::text_at(*document, "metadata", "annotations", kPartitions) == row.partitions);
  }
}

TEST_CASE("A new one is the node's") {
  api::Node node;
  node.metadata.name = "n1";
  node.metadata.uid = "u1";
  const NodeDevices found{.devices = {device("gpu", "a", 0)}, .gpus = {.vendor = "nvidia", .model = "A100"}};
  CHECK(new_device(wanted_device(found, {}, kNow), node) ==
        R"({"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Device","metadata":{"name":"n1",)"
        R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":"u1","controller":true,)"
        R"("blockOwnerDeletion":true}],"labels":{"node.koordinator.sh/gpu-vendor":"nvidia",)"
        R"("node.koordinator.sh/gpu-model":"A100"}},"spec":{"devices":[{"type":"gpu","id":"a","minor":0,)"
        R"("health":true}]}})");
}

}  // namespace
}  // namespace koord::koordlet
