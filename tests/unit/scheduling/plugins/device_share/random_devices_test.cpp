// Random machines with pods that come and go, beside a plain, slow account: nothing is given twice, and a pod
// finds a place exactly where there is one.
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device_machines.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugins/device_share/allocate/allocate.hpp"
#include "scheduling/plugins/device_share/devices/device_ledger.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::test {
namespace {

using namespace device_share;

struct Asked {
  bool gpus = false, nics = false, functions = false, scoped_numa = false, scoped_pcie = false,
       partition = false;
  int gpu_count = 0, nic_count = 0;
  std::int64_t gpu_percent = 0, nic_percent = 0;  // of each
};

/// What is left of each device, by minor, and which virtual functions are free: nothing else is known here.
class Account {
 public:
  explicit Account(const api::Device& device) : device_(device) {
    for (const api::DeviceInfo& info : device.spec.devices) {
      auto& left = info.type == "gpu" ? gpus_ : nics_;
      left[*info.minor] = info.health ? 100 : 0;
      for (const auto& group : info.vf_groups)
        for (const auto& function : group.vfs) functions_[*info.minor].insert(function.bus_id);
    }
  }

  bool has_place(const Asked& asked) const {
    return (!asked.gpus || gpus_have_place(asked)) && (!asked.nics || nics_have_place(asked));
  }

  /// The empty text, or what is wrong with it.
  std::string take(const Asked& asked, const Given& given) {
    int gpus = 0, nics = 0;
    std::set<std::pair<DeviceType, std::int32_t>> once;
    for (const Given::Device& device : given.devices) {
      if (!once.insert({device.type, device.minor}).second) return "a device twice";
      const bool gpu = device.type == DeviceType::gpu;
      ++(gpu ? gpus : nics);
      std::int64_t& left = (gpu ? gpus_ : nics_).at(device.minor);
      left -= gpu ? asked.gpu_percent : asked.nic_percent;
      if (left < 0) return "more of a device than there is";
      if (device.amounts[gpu ? Unit::memory_ratio : Unit::core] !=
          (gpu ? asked.gpu_percent : asked.nic_percent))
        return "another amount than was asked for";
      for (const auto& function : device.vfs)
        if (functions_[device.minor].erase(function.bus_id) == 0) return "a function that is not free";
      if (!gpu && asked.functions && device.vfs.size() != 1) return "no function";
    }
    if (gpus != asked.gpu_count || nics != asked.nic_count) return "another number than was asked for";
    return {};
  }
  void give_back(const Asked& asked, const Given& given) {
    for (const Given::Device& device : given.devices) {
      const bool gpu = device.type == DeviceType::gpu;
      (gpu ? gpus_ : nics_).at(device.minor) += gpu ? asked.gpu_percent : asked.nic_percent;
      for (const auto& function : device.vfs) functions_[device.minor].insert(function.bus_id);
    }
  }

 private:
  bool gpus_have_place(const Asked& asked) const {
    // All sets of GPUs, one by one.
    for (unsigned set = 0; set < 256; ++set) {
      std::set<std::int32_t> numa;
      std::set<std::string> pcie;
      std::set<int> pairs;
      bool fits = true;
      int count = 0;
      for (std::int32_t minor = 0; minor < 8; ++minor) {
        if ((set >> minor & 1U) == 0) continue;
        ++count;
        fits = fits && gpus_.at(minor) >= asked.gpu_percent && gpus_.at(minor) > 0;
        if (asked.partition) fits = fits && gpus_.at(minor) == 100;
        for (const api::DeviceInfo& info : device_.spec.devices)
          if (info.type == "gpu" && info.minor == minor) {
            numa.insert(info.topology->node_id);
            pcie.insert(info.topology->pcie_id);
          }
        pairs.insert(minor / std::max(asked.gpu_count, 1));
      }
      if (!fits || count != asked.gpu_count) continue;
      if (asked.scoped_numa && numa.size() > 1) continue;
      if (asked.scoped_pcie && pcie.size() > 1) continue;
      // Hopper's partitions are the aligned ones.
      if (asked.partition && pairs.size() > 1) continue;
      return true;
    }
    return false;
  }

  bool nics_have_place(const Asked& asked) const {
    int count = 0;
    for (const auto& [minor, left] : nics_)
      if (left > 0 && left >= asked.nic_percent && (!asked.functions || !functions_.at(minor).empty()))
        ++count;
    return count >= asked.nic_count;
  }

  const api::Device& device_;
  std::map<std::int32_t, std::int64_t> gpus_, nics_;
  std::map<std::int32_t, std::set<std::string>> functions_;
};

TEST_CASE("Devices of random machines are given once, and wherever there is a place") {
  std::mt19937 random(26);
  const auto any = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  KoordinatorScoring most{
      .type = "MostAllocated",
      .resources = {{std::string(api::kGpuMemoryRatio), 1}, {std::string(api::kRdma), 1}}};
  const DeviceScorer scorer(most);
  KnownShapes shapes;
  int placed = 0, refused = 0;
  for (int machine = 0; machine < (koord::test::kSanitized ? 20 : 200); ++machine) {
    api::Device device = eight_gpus(2);
    for (api::DeviceInfo& info : device.spec.devices) info.health = any(10) != 0;
    api::Node node;
    const bool hopper = any(3) == 0;
    if (hopper) node.metadata.labels[api::kGpuModelLabel] = Symbol("H100");
    if (hopper) node.metadata.labels[api::kGpuPartitionPolicyLabel] = Symbol("Honor");
    const auto shape = shapes.read(&device, &node);
    DeviceLedger ledger;
    ledger.bind(shape, healthy_places(*shape, &device));
    Account account(device);
    struct Living {
      const PodInfo* pod;
      Asked asked;
      std::shared_ptr<const Given> given;
    };
    std::deque<PodInfo> pods;
    std::vector<Living> living;
    for (int step = 0; step < 60; ++step) {
      if (!living.empty() && any(5) < 2) {
        const auto at = static_cast<std::size_t>(any(static_cast<int>(living.size())));
        ledger.remove(*living[at].pod);
        account.give_back(living[at].asked, *living[at].given);
        living.erase(living.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      Asked asked;
      DeviceRequests requests;
      std::string hints;
      asked.gpus = any(4) != 0;
      asked.nics = !asked.gpus || any(3) == 0;
      if (asked.gpus) {
        const bool shared = any(2) == 0;
        asked.gpu_count =
            shared ? 1 : std::vector<int>{1, 2, 4, 8, 3}[static_cast<std::size_t>(any(hopper ? 4 : 5))];
        asked.gpu_percent = shared ? 10 * (1 + any(9)) : 100;
        asked.partition = hopper && !shared;
        requests.emplace_back(api::kGpu, asked.gpu_percent * asked.gpu_count);
        if (!asked.partition) {
          asked.scoped_numa = any(4) == 0;
          asked.scoped_pcie = !asked.scoped_numa && any(4) == 0;
        }
        if (asked.scoped_numa) hints = R"("gpu":{"requiredTopologyScope":"NUMANode"})";
        if (asked.scoped_pcie) hints = R"("gpu":{"requiredTopologyScope":"PCIe"})";
      }
      if (asked.nics) {
        asked.functions = any(2) == 0;
        const bool as_count = any(2) == 0;
        asked.nic_count = as_count ? 1 + any(4) : 1;
        asked.nic_percent = as_count ? 1 : 10 * (1 + any(10));
        requests.emplace_back(api::kRdma, as_count ? asked.nic_count : asked.nic_percent);
        std::string nic = as_count ? R"("allocateStrategy":"RequestsAsCount")" : "";
        if (asked.functions) nic += std::string(nic.empty() ? "" : ",") + R"("vfSelector":{})";
        hints += std::string(hints.empty() ? "" : ",") + "\"rdma\":{" + nic + "}";
      }
      api::SymbolMap annotations;
      annotations[api::DeviceHints::kAnnotation] = Symbol("{" + hints + "}");
      const DeviceDemand demand = read_demand(requests, {}, annotations, {});
      REQUIRE(demand.rejected.empty());
      const BoundDemand bound(demand, shape);
      Choice choice;
      const Refusal refusal = allocate(ledger.devices(), bound, {}, &scorer, choice);
      CAPTURE(machine, step, hints, asked.gpu_count, asked.gpu_percent, asked.nic_count, asked.nic_percent);
      CHECK(refusal.refused() == !account.has_place(asked));
      if (refusal.refused()) {
        ++refused;
        continue;
      }
      ++placed;
      auto given = std::make_shared<const Given>(make_given(ledger.devices(), bound, choice));
      REQUIRE(account.take(asked, *given).empty());
      pods.emplace_back();
      ledger.add({&pods.back(), given});
      living.push_back({&pods.back(), asked, given});
    }
  }
  CHECK(placed > 100);
  CHECK(refused > 100);
}

}  // namespace
}  // namespace koord::scheduling::test
