// Combinations: see combinations.hpp.
#include "scheduling/plugins/device_share/request/combinations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "koord/api/koordinator/devices.hpp"

namespace koord::scheduling::device_share {

namespace {

using Requests = std::span<const std::pair<std::string_view, std::int64_t>>;
using Flags = std::uint32_t;
constexpr Flags kWhole = 1, kKoordGpu = 2, kShared = 4, kCore = 8, kMemory = 16, kRatio = 32, kNpuCore = 64,
                kNpuCpu = 128, kNpuDvpp = 256, kPercent = 512;

struct Resource {
  std::string_view name;
  DeviceType type;
  Flags flag;
  std::optional<Unit> unit = {};
};
constexpr std::array<Resource, 13> kResources{{
    {api::kNvidiaGpu, DeviceType::gpu, kWhole},
    {api::kAmdGpu, DeviceType::gpu, kWhole << 16},
    {api::kHygonDcu, DeviceType::gpu, kWhole << 17},
    {api::kGpu, DeviceType::gpu, kKoordGpu},
    {api::kGpuShared, DeviceType::gpu, kShared},
    {api::kGpuCore, DeviceType::gpu, kCore, Unit::core},
    {api::kGpuMemory, DeviceType::gpu, kMemory, Unit::memory},
    {api::kGpuMemoryRatio, DeviceType::gpu, kRatio, Unit::memory_ratio},
    {api::kNpuCore, DeviceType::gpu, kNpuCore, Unit::npu_core},
    {api::kNpuCpu, DeviceType::gpu, kNpuCpu, Unit::npu_cpu},
    {api::kNpuDvpp, DeviceType::gpu, kNpuDvpp, Unit::npu_dvpp},
    {api::kRdma, DeviceType::rdma, kPercent, Unit::core},
    {api::kFpga, DeviceType::fpga, kPercent, Unit::core},
}};

enum class Rule : std::uint8_t { always, hundreds, equal_parts, one_npu };
struct Combination {
  Flags flags;
  Rule rule;
};
constexpr std::array<Combination, 16> kCombinations{{
    {kWhole, Rule::always},
    {kWhole << 16, Rule::always},
    {kWhole << 17, Rule::always},
    {kKoordGpu, Rule::always},
    {kMemory, Rule::hundreds},
    {kRatio, Rule::hundreds},
    {kCore | kMemory, Rule::hundreds},
    {kCore | kRatio, Rule::hundreds},
    {kNpuCore | kRatio, Rule::hundreds},
    {kShared | kMemory, Rule::equal_parts},
    {kShared | kRatio, Rule::equal_parts},
    {kShared | kCore | kMemory, Rule::equal_parts},
    {kShared | kCore | kRatio, Rule::equal_parts},
    {kShared | kNpuCore | kNpuCpu | kMemory, Rule::one_npu},
    {kShared | kNpuCore | kNpuCpu | kNpuDvpp | kMemory, Rule::one_npu},
    {kPercent, Rule::always},
}};

const Resource* find(DeviceType type, std::string_view name) {
  const auto it = std::ranges::find_if(
      kResources, [&](const Resource& each) { return each.type == type && each.name == name; });
  return it != kResources.end() ? &*it : nullptr;
}

bool in_hundreds(std::int64_t amount) { return amount <= 100 || amount % 100 == 0; }
/// In so many equal parts, of at most a whole one.
bool in_parts(std::int64_t amount, std::int64_t parts) {
  return amount % parts == 0 && amount / parts <= 100;
}

bool keeps(Rule rule, const Combined& made) {
  const Amounts& asked = made.asked;
  switch (rule) {
    case Rule::always: return true;
    case Rule::hundreds: return in_hundreds(asked[Unit::core]) && in_hundreds(asked[Unit::memory_ratio]);
    case Rule::equal_parts:
      return in_parts(asked[Unit::core], made.shared) && in_parts(asked[Unit::memory_ratio], made.shared);
    case Rule::one_npu: return made.shared <= 1 && asked[Unit::npu_dvpp] <= 100;
  }
  return false;
}

Error refused(Requests requests) {
  std::vector<std::string_view> names;
  names.reserve(requests.size());
  for (const auto& [name, amount] : requests) names.push_back(name);
  std::ranges::sort(names);
  return Error(Code::invalid, fmt::format("invalid resource device requests: [{}]", fmt::join(names, " ")));
}

}  // namespace

bool is_of(DeviceType type, std::string_view resource) { return find(type, resource) != nullptr; }

Result<Combined> combine(DeviceType type, Requests requests) {
  if (requests.empty()) return Error(Code::invalid, "pod request should not be empty");
  Combined made;
  Flags flags = 0;
  for (const auto& [name, amount] : requests) {
    const Resource* const resource = find(type, name);
    if (resource == nullptr || amount <= 0) return refused(requests);
    flags |= resource->flag;
    const bool percent = resource->flag == kKoordGpu || resource->flag == kPercent;
    if (percent && !in_hundreds(amount))
      return Error(Code::invalid, fmt::format("invalid resource unit {}: {}", name, amount));
    const std::int64_t most = std::min(amount, Amounts::kMost / 100);
    if (resource->unit) {
      made.asked.set(*resource->unit, amount);
    } else if (resource->flag == kShared) {
      made.shared = amount;
    } else {
      const std::int64_t both = resource->flag == kKoordGpu ? amount : 100 * most;
      made.asked.set(Unit::core, both);
      made.asked.set(Unit::memory_ratio, both);
    }
  }
  const auto found = std::ranges::find(kCombinations, flags, &Combination::flags);
  if (found == kCombinations.end() || !keeps(found->rule, made)) return refused(requests);
  return made;
}

}  // namespace koord::scheduling::device_share
