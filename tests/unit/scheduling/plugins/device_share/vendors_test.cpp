// What is written for vendors' device plugins, and the lock of a node: upstream's rows, and who may take it.
#include <catch2/catch.hpp>
#include <map>

#include "koord/api/koordinator/device_plugins.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/kube/client.hpp"
#include "scheduling/plugins/device_share/vendors/adapt.hpp"
#include "scheduling/plugins/device_share/vendors/node_lock.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using device_share::adapt;
using device_share::Adapted;
using device_share::LockHolder;
using device_share::may_lock;
using device_share::NodeLock;
using koord::test::json_response;
using koord::test::status_response;

constexpr WallTime kNow{std::chrono::seconds(1'700'000'000)};
constexpr const char* kNanoseconds = "1700000000000000000";

api::AllocatedDevice gpu(std::int32_t minor, const char* core = "", const char* memory = "",
                         const char* id = "", const char* share_of = "") {
  api::AllocatedDevice made;
  made.minor = minor;
  made.id = id;
  if (*core != 0) made.resources[api::kGpuCore] = api::Quantity::must(core);
  if (*memory != 0) made.resources[api::kGpuMemory] = api::Quantity::must(memory);
  if (*share_of != 0) made.extension.emplace().gpu_shared_resource_template = share_of;
  return made;
}

TEST_CASE("what vendors' device plugins find with a pod") {
  using Pairs = std::vector<std::pair<std::string_view, std::string>>;
  struct Row {
    const char* name;
    const char* vendor;  // nullptr: there is no Device
    const char* model;
    std::vector<api::AllocatedDevice> gpus;
    Pairs annotations;  // beside the time
    std::string_view lock = {};
    const char* error = "";
    const char* type = "gpu";
    const char* isolation = "";
  };
  const Row rows[] = {
      {"nvidia", "nvidia", "", {gpu(0), gpu(1)}, {{api::kGpuMinors, "0,1"}}},
      {"nobody's", "test", "", {gpu(0)}, {{api::kGpuMinors, "0"}}},
      {"no GPU", "cambricon", "", {gpu(0)}, {}, {}, "", "fpga"},
      {"HAMi's", "nvidia", "", {gpu(0)}, {{api::kGpuMinors, "0"}}, {}, "", "gpu", "HAMi-core"},
      {"no Device", nullptr, "", {gpu(0)}, {}, {}, "device.scheduling.koordinator.sh \"n\" not found"},
      {"whole NPUs",
       "huawei",
       "",
       {gpu(0), gpu(1)},
       {{api::kGpuMinors, "0,1"}, {api::kHuaweiPredicateTime, kNanoseconds}, {api::kHuaweiNpuCore, "0,1"}}},
      {"two on a card",
       "huawei",
       "Ascend-310P3-300I-DUO",
       {gpu(0), gpu(1)},
       {{api::kGpuMinors, "0,1"},
        {api::kHuaweiPredicateTime, kNanoseconds},
        {api::kHuaweiAscend310P, "Ascend310P-0,Ascend310P-1"}}},
      {"part of an NPU",
       "huawei",
       "",
       {gpu(0, "", "", "", "vir02")},
       {{api::kGpuMinors, "0"}, {api::kHuaweiPredicateTime, kNanoseconds}, {api::kHuaweiNpuCore, "0-vir02"}}},
      {"part of an MLU",
       "cambricon",
       "",
       {gpu(0, "5", "1Gi")},
       {{api::kGpuMinors, "0"}, {api::kCambriconAssigned, "false"}, {api::kCambriconProfile, "0_5_4"}},
       api::kCambriconLock},
      {"two MLUs",
       "cambricon",
       "",
       {gpu(0, "5", "1Gi"), gpu(1, "5", "1Gi")},
       {},
       {},
       "failed to adapt for GPU device plugin of vendor \"cambricon\": multiple gpu share is not supported "
       "on device side"},
      {"an MLU without cores",
       "cambricon",
       "",
       {gpu(0, "", "1Gi")},
       {},
       {},
       "failed to adapt for GPU device plugin of vendor \"cambricon\": gpu core resource is required"},
      {"an MLU with too little memory",
       "cambricon",
       "",
       {gpu(0, "5", "128Mi")},
       {},
       {},
       "failed to adapt for GPU device plugin of vendor \"cambricon\": gpu memory must not be less than "
       "268435456 bytes"},
      {"parts of two of MetaX",
       "metax",
       "",
       {gpu(0, "5", "1Gi", "GPU-0"), gpu(1, "5", "1Gi", "GPU-1")},
       {{api::kGpuMinors, "0,1"},
        {api::kMetaxAllocated,
         R"([[{"uuid":"GPU-0","compute":5,"vRam":1024},{"uuid":"GPU-1","compute":5,"vRam":1024}]])"}},
       api::kHamiLock},
      {"one of MetaX without cores",
       "metax",
       "",
       {gpu(0, "", "1Gi")},
       {},
       {},
       "failed to adapt for GPU device plugin of vendor \"metax\": gpu core resource is required"},
      {"one of MetaX with too little memory",
       "metax",
       "",
       {gpu(0, "5", "512Ki")},
       {},
       {},
       "failed to adapt for GPU device plugin of vendor \"metax\": gpu memory must not be less than 1048576 "
       "bytes"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    api::SymbolMap pod, device;
    if (*row.isolation != 0) pod[api::kGpuIsolationProviderLabel] = Symbol(row.isolation);
    if (row.vendor != nullptr) device[api::kGpuVendorLabel] = Symbol(row.vendor);
    if (*row.model != 0) device[api::kGpuModelLabel] = Symbol(row.model);
    api::DeviceAllocations given;
    given.devices[row.type] = row.gpus;
    const Result<Adapted> adapted = adapt(pod, row.vendor != nullptr ? &device : nullptr, "n", given, kNow);
    CHECK((adapted ? std::string() : adapted.error().message()) == row.error);
    if (!adapted) continue;
    api::StringMap expected, labels;
    expected[api::kBindTimestamp] = kNanoseconds;
    for (const auto& [key, value] : row.annotations) expected[key] = value;
    if (*row.isolation != 0) labels[api::kHamiNodeLabel] = "n";
    CHECK(adapted->changes.annotations == expected);
    CHECK(adapted->changes.labels == labels);
    CHECK(adapted->lock == row.lock);
  }
}

TEST_CASE("who may take a node's lock") {
  struct Row {
    const char* name;
    const char* value;
    bool there;  // the pod that it names
    const char* refused;
  };
  const Row rows[] = {
      {"another pod's", "2023-11-14T22:12:20Z,default,other", true, "node \"n\" has been locked"},
      {"for five minutes", "2023-11-14T22:08:20Z,default,other", true, "node \"n\" has been locked"},
      {"for longer", "2023-11-14T22:08:19Z,default,other", true, ""},
      {"of one that is gone", "2023-11-14T22:12:20Z,default,other", false, ""},
      {"its own", "2023-11-14T22:12:20Z,default,p", true, ""},
      {"of another namespace", "2023-11-14T22:12:20Z,x,p", true, "node \"n\" has been locked"},
      {"of no pod", "2023-11-14T22:12:20Z,default", true,
       "invalid node lock value \"2023-11-14T22:12:20Z,default\""},
      {"more than a pod", "2023-11-14T22:12:20Z,a,b,c", true,
       "invalid node lock value \"2023-11-14T22:12:20Z,a,b,c\""},
      {"empty", "", true, "invalid node lock value \"\""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Result<> may =
        may_lock("n", row.value, {"default", "p"}, kNow, [&](LockHolder) { return row.there; });
    CHECK((may ? std::string() : may.error().message()) == row.refused);
  }
  const auto there = [](LockHolder) { return true; };
  CHECK_FALSE(may_lock("n", "yesterday,default,other", {"default", "p"}, kNow, there).has_value());
  CHECK(device_share::lock_text(kNow, {"default", "p"}) == "2023-11-14T22:13:20Z,default,p");
}

/// A node as its server has it, and as an informer knows it.
struct LockRig {
  LockRig() {
    transport.answer = [this](const net::Request& request) -> Result<net::Response> {
      if (request.method == "GET") return json_response(200, api::encode(node));
      writes.push_back(request.body);
      if (request.body.find(fmt::format(R"("resourceVersion":"{}")", node.metadata.resource_version)) ==
          std::string::npos)
        return status_response(409, "Conflict");
      const auto patch = api::decode<api::Node>(request.body);
      for (const auto& [key, value] : patch->metadata.annotations) node.metadata.annotations[key] = value;
      return json_response(200, api::encode(node));
    };
    node.metadata.name = "n";
    node.metadata.resource_version = "7";
    known = node;
    loop.clock.advance(std::chrono::hours(1));
  }
  std::string run() {
    NodeLock work(api::kHamiLock, "metax: ");
    kube::Client client(transport, loop.clock, {});
    const PreBindWork::Context context{
        client,
        loop.clock,
        [this] { return may_write; },
        make_pod("p"),
        "n",
        [this](const kube::ObjectType& type, std::string_view, std::string_view name) -> kube::Object {
          if (&type == &kube::kObjectType<api::Node>)
            return there ? std::make_shared<const api::Node>(known) : nullptr;
          return name == "other" ? make_pod("other") : nullptr;
        }};
    return koord::test::run_task(loop, work.run(context)).message;
  }
  std::string lock(std::string_view pod) const {
    return device_share::lock_text(loop.clock.now(), {"default", pod});
  }

  koord::test::Loop loop;
  koord::test::FakeTransport transport{loop.clock};
  api::Node node, known;
  std::vector<std::string> writes;
  bool may_write = true, there = true;
};

TEST_CASE("a node's lock is taken as it was judged") {
  LockRig rig;
  CHECK(rig.run() == "");
  CHECK(rig.node.metadata.annotations.find(api::kHamiLock)->view() == rig.lock("p"));
  REQUIRE(rig.writes.size() == 1);
  CHECK(rig.writes[0] ==
        fmt::format(R"({{"metadata":{{"resourceVersion":"7","annotations":{{"hami.io/mutex.lock":"{}"}}}}}})",
                    rig.lock("p")));

  // Somebody else has taken it, and the informer does not know yet.
  LockRig late;
  late.node.metadata.resource_version = "8";
  late.node.metadata.annotations[api::kHamiLock] = Symbol(late.lock("other"));
  CHECK(late.run() == "metax: failed to lock node: node \"n\" has been locked");
  CHECK(late.node.metadata.annotations.find(api::kHamiLock)->view() == late.lock("other"));
  // Somebody has written something else.
  LockRig other;
  other.node.metadata.resource_version = "8";
  CHECK(other.run() == "");
  CHECK(other.writes.size() == 2);

  LockRig gone;
  gone.there = false;
  CHECK(gone.run() == "metax: failed to get node \"n\": node \"n\" not found");
  LockRig other_leads;
  other_leads.may_write = false;
  CHECK(other_leads.run() == "metax: another scheduler may hold the lease");
  CHECK(other_leads.writes.empty());
}

}  // namespace
}  // namespace koord::scheduling::test
