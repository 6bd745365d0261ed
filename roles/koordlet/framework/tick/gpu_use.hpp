// GpuUse: what NVIDIA's GPUs are used for, by pod and container.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "koord/base/clock.hpp"

namespace koord::koordlet {

/// Of one GPU. Of several processes it is their sum, which may be beyond what a GPU has: each is a mean of
/// its own.
struct GpuPart {
  double core = 0;    // percent of its time
  double memory = 0;  // bytes
  GpuPart& operator+=(const GpuPart& other) {
    core += other.core;
    memory += other.memory;
    return *this;
  }
};

/// In a tick's view while the gate Accelerators is on and the driver answers.
struct GpuUse {
  struct Card {
    std::int32_t minor = 0;
    std::string uuid, model;
    std::uint64_t memory = 0;  // bytes
    /// As the driver says it of the whole GPU, whoever uses it: bytes, and percent of its time.
    std::uint64_t used = 0;
    unsigned cores = 0, memory_controller = 0;
    GpuPart computing;  // by all processes that compute, those of pods among them
  };
  using Parts = std::map<std::size_t, GpuPart>;  // by the place in cards

  std::vector<Card> cards;                               // as the driver counts them; none that is cut (MIG)
  std::map<std::string, Parts, std::less<>> pods;        // by uid: those that have processes on a GPU
  std::map<std::string, Parts, std::less<>> containers;  // by id
  MonoTime at;                                           // when the driver was asked
  bool complete = true;                                  // no card was silent
};

}  // namespace koord::koordlet
