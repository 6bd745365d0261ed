// Amounts: what a device has, or somebody has of it, as numbers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::scheduling::device_share {

enum class DeviceType : std::uint8_t { gpu, rdma, fpga };
inline constexpr std::size_t kDeviceTypes = 3;
inline constexpr std::array<DeviceType, kDeviceTypes> kAllDeviceTypes{DeviceType::gpu, DeviceType::rdma,
                                                                      DeviceType::fpga};
/// As in Device objects and annotations.
std::string_view to_string(DeviceType type);
std::optional<DeviceType> parse_device_type(std::string_view name);
constexpr std::size_t index(DeviceType type) { return static_cast<std::size_t>(type); }

/// What is counted of a GPU. The others have one amount in percent, `core`.
enum class Unit : std::uint8_t {
  core,          // percent
  memory,        // bytes
  memory_ratio,  // percent
  npu_core,
  npu_cpu,
  npu_dvpp,
};
inline constexpr std::size_t kUnits = 6;

/// The resource's name ("koordinator.sh/gpu-core"); rdma and fpga have one.
std::string_view resource_name(DeviceType type, Unit unit);
/// Nothing: a device of this type has no such amount.
std::optional<Unit> parse_unit(DeviceType type, std::string_view resource);

/// Koordinator tells an amount that is absent from one that is 0: what a device does not have at all is not
/// asked of it. Amounts are from 0 to kMost, so that sums over all pods of a machine stay numbers.
class Amounts {
 public:
  static constexpr std::int64_t kMost = 100'000'000'000'000;

  bool has(Unit unit) const { return (present_ >> at(unit) & 1U) != 0; }
  /// 0 where it is absent.
  std::int64_t operator[](Unit unit) const { return of_[at(unit)]; }
  void set(Unit unit, std::int64_t amount) {
    of_[at(unit)] = std::clamp<std::int64_t>(amount, 0, kMost);
    present_ = static_cast<std::uint8_t>(present_ | 1U << at(unit));
  }

  bool none() const { return present_ == 0; }
  /// It has nothing, or 0 of everything.
  bool zero() const {
    return std::ranges::all_of(of_, [](std::int64_t amount) { return amount == 0; });
  }
  /// Whether a device with `free` has as much.
  bool fits(const Amounts& free) const {
    for (unsigned both = present_ & free.present_; both != 0; both &= both - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(both));
      if (of_[i] > free.of_[i]) return false;
    }
    return true;
  }
  void add(const Amounts& other) {
    for (std::size_t i = 0; i < kUnits; ++i) of_[i] += other.of_[i];
    present_ = static_cast<std::uint8_t>(present_ | other.present_);
  }
  /// What is not there cannot be taken: never below 0.
  void subtract(const Amounts& other) {
    for (std::size_t i = 0; i < kUnits; ++i) of_[i] = std::max<std::int64_t>(of_[i] - other.of_[i], 0);
    present_ = static_cast<std::uint8_t>(present_ | other.present_);
  }
  /// No more than the other has; what that one does not name is 0.
  void limit(const Amounts& other) {
    for (std::size_t i = 0; i < kUnits; ++i) of_[i] = std::min(of_[i], other.of_[i]);
  }
  friend bool operator==(const Amounts&, const Amounts&) = default;

 private:
  static constexpr std::size_t at(Unit unit) { return static_cast<std::size_t>(unit); }

  std::array<std::int64_t, kUnits> of_{};
  std::uint8_t present_ = 0;
};

/// Those of the list that a device of this type has; others are not looked at.
Amounts read_amounts(DeviceType type, const api::ResourceList& list);
/// Memory in powers of 1024, everything else in powers of 10.
api::ResourceList write_amounts(DeviceType type, const Amounts& amounts);

}  // namespace koord::scheduling::device_share
