// The table of what each transport carries: see carriage.hpp.
#include "framework/hooks/carriage.hpp"

#include <array>

namespace koord::koordlet {

namespace {

using enum Carried;

constexpr std::array<CarriageRow, 12> kTable = {{
    {Cargo::cpu_shares, "cpu.shares", and_later, and_later, true},
    {Cargo::cpu_quota, "cpu.cfs_quota_us", and_later, and_later, true, "with its period; -1: none"},
    {Cargo::cpuset_cpus, "cpuset.cpus", and_later, and_later, true,
     "never emptied; not where the kubelet's static policy pins containers"},
    {Cargo::memory_limit, "memory.limit_in_bytes", and_later, and_later, true,
     "a limit: that there is none cannot be said to a proxy"},
    {Cargo::oom_score_adj, "oom_score_adj", at_birth, at_birth, true,
     "of pods that the agent knows; taken back by it only where it set it afterwards"},
    {Cargo::env, "environment", at_birth, at_birth, false},
    {Cargo::annotations, "annotations", at_birth, at_birth, false},
    {Cargo::devices, "devices", never, at_birth, false, "Koordinator's hook protocol has no field for them"},
    {Cargo::mounts, "mounts", never, at_birth, false, "Koordinator's hook protocol has no field for them"},
    {Cargo::cdi_devices, "devices by CDI's names", never, at_birth, false,
     "containerd 2.1 or later, CRI-O 1.34 or later; Koordinator's hook protocol has no field for them"},
    {Cargo::other_knobs, "other cgroup files (cpu.bvt_warp_ns, cpu.idle, ...)", never, never, true},
    {Cargo::of_pods, "what is a pod's", never, never, true,
     "its group is the kubelet's, and there before the runtime is asked; the sandbox's own values are "
     "answered to a proxy, and used in docker mode alone"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i)
    if (static_cast<std::size_t>(kTable[i].cargo) != i) return false;
  return true;
}
static_assert(in_order());

}  // namespace

std::string_view to_string(Transport transport) {
  return transport == Transport::hook_server ? "hook server" : "NRI";
}

std::span<const CarriageRow> carriage_table() { return kTable; }

bool carries(Transport transport, Cargo cargo, RuntimeMoment moment) {
  const CarriageRow& row = kTable[static_cast<std::size_t>(cargo)];
  const Carried carried = transport == Transport::hook_server ? row.hook_server : row.nri;
  switch (moment) {
    case RuntimeMoment::create_container: return carried != never;
    case RuntimeMoment::update_container: return carried == and_later;
    case RuntimeMoment::run_sandbox: return transport == Transport::hook_server && carried == and_later;
    case RuntimeMoment::start_container:
    case RuntimeMoment::stop_container:
    case RuntimeMoment::stop_sandbox: break;
  }
  return false;
}

}  // namespace koord::koordlet
