// What it costs to choose a pod's devices: machines of 8 GPUs on 4 PCIe switches, with a NIC of 8 functions
// each.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "scheduling/plugins/device_share/allocate/allocate.hpp"
#include "scheduling/plugins/device_share/devices/device_ledger.hpp"
#include "unit/scheduling/plugins/device_share/device_machines.hpp"

namespace {

using namespace koord;
using namespace koord::scheduling;
using namespace koord::scheduling::device_share;

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Case {
  const char* name;
  DeviceRequests requests;
  const char* hint = "";
  const char* joint = "";
  bool partitions = false;
};

template <class F>
double each_ns(int rounds, const F& once) {
  const double began = cpu_seconds();
  for (int i = 0; i < rounds; ++i) once();
  return (cpu_seconds() - began) * 1e9 / rounds;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 500'000;
  const api::Device device = koord::scheduling::test::eight_gpus(8);
  KnownShapes shapes;
  KoordinatorScoring scoring{.type = "LeastAllocated", .resources = {}};
  for (const std::string_view name : {api::kGpuMemoryRatio, api::kGpuMemory, api::kRdma, api::kFpga})
    scoring.resources.push_back({std::string(name), 1});
  const DeviceScorer scorer(scoring);
  const std::vector<Case> cases = {
      {"1 GPU", {{api::kNvidiaGpu, 1}}},
      {"half a GPU", {{api::kGpu, 50}}},
      {"8 GPUs", {{api::kNvidiaGpu, 8}}},
      {"8 GPUs by partition", {{api::kNvidiaGpu, 8}}, "", "", true},
      {"2 GPUs by partition", {{api::kNvidiaGpu, 2}}, "", "", true},
      {"8 GPUs, 4 functions of NICs, same switches",
       {{api::kNvidiaGpu, 8}, {api::kRdma, 4}},
       R"({"rdma":{"vfSelector":{},"allocateStrategy":"RequestsAsCount"}})",
       R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})"},
  };
  fmt::print("| pod | taken | chosen, ns | fits, ns | node's score, ns |\n|---|---|---|---|---|\n");
  for (const Case& each : cases)
    for (const bool taken : {false, true}) {
      api::Node node;
      if (each.partitions) node.metadata.labels[api::kGpuModelLabel] = Symbol("H100");
      const auto shape = shapes.read(&device, &node);
      DeviceLedger ledger;
      ledger.bind(shape, healthy_places(*shape, &device));
      const PodInfo other{};
      Given share{{{DeviceType::gpu, 0, {}}}};
      share.devices[0].amounts.set(Unit::core, 30);
      share.devices[0].amounts.set(Unit::memory_ratio, 30);
      if (taken) ledger.add({&other, std::make_shared<const Given>(share)});
      api::SymbolMap annotations;
      if (*each.hint != '\0') annotations[api::DeviceHints::kAnnotation] = Symbol(each.hint);
      if (*each.joint != '\0') annotations[api::DeviceJointAllocate::kAnnotation] = Symbol(each.joint);
      const DeviceDemand demand = read_demand(each.requests, {}, annotations, {});
      const BoundDemand bound(demand, shape);
      const Seen seen;
      Choice choice;
      int found = 0;
      const double chosen = each_ns(rounds, [&] {
        found += allocate(ledger.devices(), bound, seen, &scorer, choice).refused() ? 0 : 1;
      });
      const double fit =
          each_ns(rounds, [&] { found += fits(ledger.devices(), bound, seen, &scorer).refused() ? 0 : 1; });
      std::int64_t sum = 0;
      const double scored =
          each_ns(rounds, [&] { sum += score_node(ledger.devices(), bound, seen, scorer); });
      if (found != 0 && found != 2 * rounds) return 1;
      fmt::print("| {} | {} | {:.0f}{} | {:.0f} | {:.0f} |\n", each.name, taken ? "a share" : "nothing",
                 chosen, found == 0 ? " (none)" : "", fit, scored);
      if (sum < 0) return 1;
    }
  return 0;
}
