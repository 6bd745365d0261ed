// CpuMemory: an amount of CPU and memory, added and compared part by part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::manager {

struct CpuMemory {
  api::Quantity cpu, memory;

  /// What a list says of both; what it does not name is 0, what is below 0 is, too: nobody gives back what
  /// was never there.
  static CpuMemory of(const api::ResourceList& list) {
    const auto part = [&list](std::string_view name) {
      const api::Quantity* found = list.find(name);
      return found && found->sign() > 0 ? *found : api::Quantity();
    };
    return {part("cpu"), part("memory")};
  }

  CpuMemory& operator+=(const CpuMemory& other) {
    cpu += other.cpu;
    memory += other.memory;
    return *this;
  }
  CpuMemory& operator-=(const CpuMemory& other) {
    cpu -= other.cpu;
    memory -= other.memory;
    return *this;
  }
  friend CpuMemory operator-(CpuMemory a, const CpuMemory& b) { return a -= b; }
};

inline CpuMemory max(const CpuMemory& a, const CpuMemory& b) {
  return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory)};
}

inline CpuMemory min(const CpuMemory& a, const CpuMemory& b) {
  return {std::min(a.cpu, b.cpu), std::min(a.memory, b.memory)};
}

/// Cut towards 0; what is beyond 64 bits is the last that fits: percentages and capacities are anybody's.
inline std::int64_t cut(double value) {
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  if (!(value > -kBeyond)) return std::numeric_limits<std::int64_t>::min();
  return value < kBeyond ? static_cast<std::int64_t>(value) : std::numeric_limits<std::int64_t>::max();
}

/// As upstream scales: in milli (CPU) and whole (memory) units through a double.
inline api::Quantity scaled_cpu(const api::Quantity& cpu, double factor) {
  return api::Quantity::from_milli(cut(static_cast<double>(cpu.milli_value()) * factor), cpu.format());
}
inline api::Quantity scaled_memory(const api::Quantity& memory, double factor) {
  return api::Quantity::from_int(cut(static_cast<double>(memory.value()) * factor), memory.format());
}

/// An equal part, rounded up to a thousandth. `parts` is above 0.
inline CpuMemory part_of(const CpuMemory& all, std::size_t parts) {
  const auto count = static_cast<std::int64_t>(parts);
  const auto part = [count](const api::Quantity& q) {
    const std::int64_t milli = q.milli_value();
    return api::Quantity::from_milli(milli / count + (milli % count > 0 ? 1 : 0), q.format());
  };
  return {part(all.cpu), part(all.memory)};
}

}  // namespace koord::manager
