// Which CPUs a pod gets, for the scheduler's oracle: Koordinator's way step by step, over lists.
#pragma once

#include <optional>
#include <string>

#include "support/reference/numa_machine.hpp"

namespace koord::reference {

struct Wish {
  int count = 0;
  std::string bind;       // FullPCPUs, else SpreadByPCPUs
  std::string exclusive;  // as in NumaGift
  bool most_allocated = false;
};
/// Of these CPUs; absent: there are too few.
std::optional<Cpus> take_cpus(const Machine& machine, const Cpus& free, const Wish& wish);

/// With which a required policy can be kept: those of whole free cores, or the first of each core.
Cpus usable(const Machine& machine, const Cpus& free, const std::string& bind);
bool keeps(const Machine& machine, const Cpus& cpus, const std::string& bind);

}  // namespace koord::reference
