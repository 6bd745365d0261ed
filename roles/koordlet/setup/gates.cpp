// The agent's feature gates: see gates.hpp.
#include "setup/gates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>
#include <vector>

namespace koord::koordlet {

namespace {

constexpr std::array kGates = {
    gate_on("BECPUSuppress", "Hold best-effort pods back where others need the CPUs (and NodeSLO says so)."),
    gate_on("CPUBurst",
            "Give throttled containers more CPU for a while where the node has it (and NodeSLO says so)."),
    gate_on("RdtResctrl",
            "Divide the last-level caches and the memory's bandwidth between classes of pods (and NodeSLO "
            "says so)."),
    gate_on("NodeTopologyReport",
            "Report the node's CPUs, memory nodes and who has which CPUs as NodeResourceTopology."),
    gate_on("GroupIdentity",
            "Have latency-sensitive groups run first, where the kernel can (and NodeSLO says so)."),
    gate_on("CPUSetAllocator",
            "Keep pods on the CPUs that the scheduler gave them, and the others off those."),
    gate_on("BatchResource", "Limit batch and mid pods to what they ask of lent resources."),
    gate_off("AuditEvents", "Write an audit log of what was changed on the host."),
    gate_off("AuditEventsHTTPHandler", "Serve the audit log at /events."),
    gate_off("BECPUManager"),
    gate_off(
        "BECPUBlame",
        "Hold best-effort work back by the waiting that it causes (and NodeSLO's extension cpuBlame says "
        "so)."),
    gate_off("BECPUEvict",
             "Evict best-effort pods that may use much less CPU than they ask for (and NodeSLO says so)."),
    gate_off("CPUEvict", "Evict pods that allow it where the node uses too much CPU (and NodeSLO says so)."),
    gate_off(
        "CPUAllocatableEvict",
        "Evict pods that allow it where more batch or mid CPU is asked than there is (and NodeSLO says so)."),
    gate_off("BEMemoryEvict",
             "Evict best-effort pods where the node uses too much memory (and NodeSLO says so)."),
    gate_off("MemoryEvict",
             "Evict pods that allow it where the node uses too much memory (and NodeSLO says so)."),
    gate_off("MemoryAllocatableEvict",
             "Evict pods that allow it where more batch or mid memory is asked than there is (and NodeSLO "
             "says so)."),
    gate_off("SystemConfig", "Set what the NodeSLO says of the kernel's memory reclaim and scheduler."),
    gate_off(
        "CgroupReconcile",
        "Set memory.min, memory.low, memory.high and their relatives by the NodeSLO and pods (memory QoS)."),
    gate_off("ResctrlCollector",
             "Count what classes of pods use of the last-level caches and of the memory's bandwidth (and "
             "--enable-resctrl-collector says so)."),
    gate_off("Accelerators", "Report the node's accelerators as its Device."),
    gate_off("RDMADevices", "Report RDMA network cards with them."),
    gate_off("CPICollector",
             "Count cycles and instructions of containers, where the machine shows its counters."),
    gate_off("Libpfm4", "Accepted: both are always counted as one group, for which upstream needs libpfm4."),
    gate_off("PSICollector", "Sample the pressure of pods and containers."),
    gate_off("PodInterference",
             "Say of each pod and class how much of what it could do it loses to others (koord's own)."),
    gate_off("BlkIOReconcile",
             "Limit block I/O of best-effort work and of pods, and set io.cost, as NodeSLO and pods say."),
    gate_off("ColdPageCollector",
             "Have the kernel find pages that nobody uses (kidled), and report memory without them where the "
             "NodeMetric says so."),
    gate_off(
        "HugePageReport",
        "Report each memory node's huge pages in the NodeResourceTopology, and what of them is in use in "
        "the NodeMetric."),
    gate_off("PodResourcesProxy",
             "Serve the kubelet's pod resources with the devices that the scheduler gave out."),
    gate_off(
        "HamiCoreVGPUMonitor",
        "Have HAMi-core keep what containers use of their parts of GPUs where it can be read, and show it "
        "(with GPUEnvInject)."),
    gate_off("PerCPUMetric", "Show which CPUs are in the shared pools, one by one."),
    gate_off("NodeMetricPromMetrics", "Show what NodeMetric reports as metrics, too."),
    gate_off("GPUEnvInject", "Show containers the GPUs that the scheduler gave to their pod, and no others."),
    gate_off("RDMADeviceInject", "Give containers the RDMA devices that the scheduler gave to their pod."),
    gate_off("CDIDeviceInject",
             "Have the container runtime give those devices by their names in the host's CDI files, with all "
             "that belongs to them, where it takes such names from NRI (with GPUEnvInject or "
             "RDMADeviceInject)."),
    gate_off("CPUNormalization", "Set smaller quotas where the node says that its CPUs are faster."),
    gate_off(
        "CoreSched",
        "Have only processes that belong together run on the threads of a core at a time (core scheduling; "
        "where the NodeSLO's cpuPolicy is coreSched)."),
    gate_off("TerwayQoS",
             "Tell Terway's agent on the host of the network's rates and of pods (and NodeSLO says so)."),
    gate_off("TCNetworkQoS",
             "Divide what the host sends between classes of pods, by tc (and NodeSLO says so)."),
    gate_off("Resctrl",
             "Give pods the parts of caches and bandwidth that they ask for (node.koordinator.sh/resctrl)."),
    gate_off("OOMScoreAdj", "Set the oom_score_adj of containers' processes to what their pods say."),
};

constexpr metrics::Metric kAvailable{
    .name = "koordlet_feature_gate_available",
    .type = metrics::Type::gauge,
    .help = "Of feature gates that are on: whether this version has the part that they switch on.",
    .labels = {"gate"}};

}  // namespace

const metrics::Table kGateMetrics = {&kAvailable};

std::span<const FeatureGate> gates() { return kGates; }

void tell_of_gates(const FeatureGates& set, Logger log, metrics::Registry& metrics) {
  const auto available = metrics.gauges(kAvailable);
  std::vector<std::string_view> vain;
  for (const FeatureGate& gate : kGates) {
    if (!set.enabled(gate.name)) continue;
    const bool has_part = gate.help != kNoEffectYet;
    available.with({gate.name}).set(has_part ? 1 : 0);
    if (!has_part) vain.push_back(gate.name);
  }
  if (!vain.empty())
    log.warn("feature gates are on that have no effect: this version does not have their parts",
             kv("gates", fmt::format("{}", fmt::join(vain, " "))));
}

}  // namespace koord::koordlet
