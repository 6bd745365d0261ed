// What the parts of the node agent's measurement share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "framework/model/inventory.hpp"
#include "support/tree.hpp"

namespace koord::koordlet::bench {

inline constexpr int kPods = 100;
inline constexpr int kContainersOfPod = 2;
inline constexpr int kContainers = kPods * kContainersOfPod;

/// Of the process, since it began.
extern std::atomic<std::uint64_t> allocations;
double cpu_us();
/// Grows with every child that has ended. (What the calling script ran before counts too.)
long children_faults();

std::shared_ptr<PodInfo> pod(const std::string& uid, const std::string& group, int containers);
/// The files of a group in cgroup v1, with text as long as the kernel's.
void write_group(testing::Tree& tree, const std::string& group, std::uint64_t used_ns);
void write_machine(testing::Tree& tree);

/// Sampler and strategies with every gate on and everything that a NodeSLO can ask for, part by part.
void with_everything_on();
/// Counters of caches and CPUs on `pods` pods, and looks at devices, on fake roots. Each row is of a process
/// of its own, so that its memory is its own.
void with_hardware(int pods);

}  // namespace koord::koordlet::bench
