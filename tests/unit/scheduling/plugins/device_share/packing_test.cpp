// How much of a machine's GPUs the pods that come could not use, and which requests come.
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>
#include <vector>

#include "device_machines.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugins/device_share/devices/device_ledger.hpp"
#include "scheduling/plugins/device_share/packing/packed_devices.hpp"

namespace koord::scheduling::test {
namespace {

using namespace device_share;
using Entry = RequestMix::Entry;

constexpr PackedRequest kWhole{.cpu = 4000, .memory = 10, .gpus = 1, .share = 1000},
    kHalf{.cpu = 1000, .memory = 10, .gpus = 1, .share = 500},
    kTwo{.cpu = 8000, .memory = 10, .gpus = 2, .share = 1000}, kNone{.cpu = 1000, .memory = 10};

PackedRow row(std::int64_t cpu, std::vector<std::int32_t> free) {
  PackedRow made{.cpu = cpu, .memory = 1000, .gpus = static_cast<std::int32_t>(free.size())};
  std::ranges::copy(free, made.free.begin());
  return made;
}

TEST_CASE("GPUs that nobody could use") {
  struct Row {
    PackedRow row;
    std::vector<Entry> mix;
    double ours, published;
  };
  const std::vector<Row> rows = {
      {row(16000, {1000, 1000}), {{kWhole, 1}}, 0, 0},
      // What is too small for it.
      {row(16000, {1000, 700}), {{kWhole, 1}}, 700, 700},
      {row(16000, {400, 1000}), {{kHalf, 1}}, 400, 400},
      // What is left beside as many as a GPU has room for, which the published measure does not see.
      {row(16000, {400, 700}), {{kHalf, 1}}, 600, 400},
      // Too few of them: none can be used.
      {row(16000, {1000, 700}), {{kTwo, 1}}, 1700, 1700},
      // CPU for one of two: the other is of use to nobody, which the published measure does not see.
      {row(4000, {1000, 1000}), {{kWhole, 1}}, 1000, 0},
      {row(3000, {1000, 1000}), {{kWhole, 1}}, 2000, 2000},
      // Of half of them one, of the others the other.
      {row(4000, {1000, 500}), {{kWhole, 0.5}, {kHalf, 0.5}}, 250, 250},
      // Who wants none.
      {row(16000, {1000, 1000}), {{kWhole, 0.75}, {kNone, 0.25}}, 0, 500},
      {row(16000, {0, 0}), {{kWhole, 1}, {kNone, 1}}, 0, 0},
      {row(16000, {1000, 1000}), {}, 0, 0},
  };
  for (const Row& each : rows) {
    CAPTURE(each.row.cpu, each.row.free[0], each.row.free[1], each.mix.size());
    CHECK(unusable(each.row, each.mix) == Approx(each.ours));
    CHECK(unusable_as_published(each.row, each.mix) == Approx(each.published));
    double wants_none = 0;  // which counts as if it could use none in the published measure alone
    for (const Entry& entry : each.mix) wants_none += entry.request.gpus == 0 ? entry.weight : 0;
    const double published = each.published - wants_none * static_cast<double>(each.row.free_gpus());
    CHECK(unusable_soon_and_late(each.row, each.mix) == Approx((each.ours + 3 * published) / 4));
  }
}

TEST_CASE("Where a request breaks the least") {
  const std::vector<Entry> mix{{kWhole, 0.5}, {kHalf, 0.5}};
  struct Row {
    PackedRow row;
    PackedRequest request;
    double more;
    std::int32_t gpu;  // -1: it shares none, -2: it does not fit
  };
  const std::vector<Row> rows = {
      // Onto the GPU that is broken already: nothing whole goes.
      {row(16000, {1000, 500}), kHalf, -250, 1},
      {row(16000, {500, 1000}), kHalf, -250, 0},
      // A whole GPU breaks: half of the pods, which want whole ones, lose what is left of it.
      {row(16000, {1000, 1000}), kHalf, 250, 0},
      {row(16000, {1000, 500}), kWhole, 0, -1},
      {row(16000, {400, 450}), kHalf, 0, -2},
      {row(500, {1000, 1000}), kHalf, 0, -2},
  };
  for (const Row& each : rows) {
    const double now = unusable(each.row, mix);
    const auto found = gradient(each.row, each.request, mix, now, &unusable);
    CAPTURE(each.row.cpu, each.row.free[0], each.row.free[1], each.request.share);
    CHECK(found.has_value() == (each.gpu != -2));
    if (!found) continue;
    CHECK(found->more == Approx(each.more));
    CHECK(found->gpu.value_or(-1) == each.gpu);
    const PackedRow then = placed(each.row, each.request, found->gpu);
    CHECK(unusable(then, mix) == Approx(now + each.more));
    CHECK(then.cpu == each.row.cpu - each.request.cpu);
    CHECK(then.free_gpus() == each.row.free_gpus() - each.request.gpus * each.request.share);
  }
}

TEST_CASE("Machines and pods are packed as they are") {
  KnownShapes shapes;
  api::Device device = eight_gpus();
  device.spec.devices[4 + 2].health = false;  // GPU 2
  const auto shape = shapes.read(&device, nullptr);
  DeviceLedger ledger;
  ledger.bind(shape, healthy_places(*shape, &device));
  const PodInfo pod{};
  Given given{{{DeviceType::gpu, 0, {}}, {DeviceType::gpu, 3, {}}}};
  given.devices[0].amounts.set(Unit::core, 30);
  given.devices[0].amounts.set(Unit::memory_ratio, 45);
  given.devices[1].amounts.set(Unit::core, 100);
  ledger.add({&pod, std::make_shared<const Given>(given)});
  const PackedRow row = packed_row(ledger.devices(), 5, 7);
  CHECK(row.cpu == 5);
  CHECK(row.memory == 7);
  CHECK(std::vector(row.free.begin(), row.free.begin() + row.gpus) ==
        std::vector<std::int32_t>{550, 1000, 0, 1000, 1000, 1000, 1000});
  // Of what a reservation keeps, to its owner.
  std::vector<Given::Device> kept{given.devices[0]};
  kept[0].amounts = {};
  kept[0].amounts.set(Unit::memory_ratio, 20);
  CHECK(packed_row(ledger.devices(), 5, 7, kept).free[0] == 700);

  struct Row {
    DeviceRequests requests;
    std::int64_t gpu_memory;
    std::int32_t gpus, share;
  };
  for (const Row& each : std::vector<Row>{{{{api::kNvidiaGpu, 2}}, 0, 2, 1000},
                                          {{{api::kGpuCore, 20}, {api::kGpuMemoryRatio, 30}}, 0, 1, 300},
                                          {{{api::kGpuMemory, 20}}, 80, 1, 250},
                                          {{{api::kGpuMemory, 20}}, 0, 1, 1000},
                                          {{{api::kGpuMemory, 200}}, 80, 1, 1000},
                                          {{{api::kGpuCore, 50}, {api::kGpuMemory, 20}}, 80, 1, 500},
                                          {{{api::kRdma, 100}}, 80, 0, 0}}) {
    const PackedRequest request =
        packed_request(read_demand(each.requests, {}, {}, {}), 5, 7, each.gpu_memory);
    CAPTURE(each.requests.front().first, each.gpu_memory);
    CHECK(request == PackedRequest{.cpu = 5, .memory = 7, .gpus = each.gpus, .share = each.share});
  }
}

double weight_of(const RequestMix& mix, const PackedRequest& request) {
  for (const Entry& entry : mix.entries())
    if (entry.request == request) return entry.weight;
  return 0;
}

TEST_CASE("The mix follows the pods that come") {
  RequestMix mix(100);
  CHECK(mix.entries().empty());
  CHECK(mix.observe(kWhole));
  for (int i = 0; i < 999; ++i) mix.observe(i % 4 == 0 ? kHalf : kWhole);
  mix.settle();
  CHECK(weight_of(mix, kWhole) == Approx(0.75).margin(0.01));
  CHECK(weight_of(mix, kHalf) == Approx(0.25).margin(0.01));
  // After as many others as its half life, it weighs half.
  for (int i = 0; i < 100; ++i) mix.observe(kTwo);
  mix.settle();
  CHECK(weight_of(mix, kTwo) == Approx(0.5).margin(0.01));
  CHECK(weight_of(mix, kWhole) == Approx(0.375).margin(0.01));
  double sum = 0;
  for (const Entry& entry : mix.entries()) sum += entry.weight;
  CHECK(sum == Approx(1));
}

TEST_CASE("A mix that hardly differs stays as it is") {
  RequestMix mix(1000, 8, 0.1);
  for (int i = 0; i < 1000; ++i) mix.observe(i % 2 == 0 ? kWhole : kHalf);
  const double before = weight_of(mix, kWhole);
  int changed = 0;
  for (int i = 0; i < 2000; ++i) changed += mix.observe(i % 2 == 0 ? kWhole : kHalf) ? 1 : 0;
  CHECK(changed == 0);
  CHECK(weight_of(mix, kWhole) == before);
  for (int i = 0; i < 2000; ++i) changed += mix.observe(kTwo) ? 1 : 0;
  CHECK(changed > 3);
  CHECK(weight_of(mix, kTwo) > 0.65);
}

TEST_CASE("Rare requests are forgotten") {
  RequestMix mix(1000, 8);
  for (std::int64_t i = 0; i < 500; ++i) {
    mix.observe({.cpu = i});
    mix.observe(kWhole);
  }
  mix.settle();
  CHECK(mix.entries().size() == 8);
  CHECK(weight_of(mix, kWhole) > 0.9);
}

TEST_CASE("A mix that is learned for long stays one") {
  RequestMix mix(1);
  for (int i = 0; i < 5000; ++i) mix.observe(i % 2 == 0 ? kWhole : kHalf);
  CHECK(std::isfinite(weight_of(mix, kHalf)));
  CHECK(weight_of(mix, kHalf) == Approx(2.0 / 3).margin(0.01));
}

}  // namespace
}  // namespace koord::scheduling::test
