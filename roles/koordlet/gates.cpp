// The agent's feature gates: see gates.hpp.
#include "gates.hpp"

#include <array>

namespace koord::koordlet {

namespace {

constexpr std::string_view kNotYet = "No effect in this version.";

constexpr FeatureGate on(std::string_view name, std::string_view help = kNotYet) {
  return {name, true, Stage::beta, false, help};
}
constexpr FeatureGate off(std::string_view name, std::string_view help = kNotYet) {
  return {name, false, Stage::alpha, false, help};
}

constexpr std::array kGates = {
    FeatureGate{"BECPUSuppress", true, Stage::beta, false,
                "Hold best-effort pods back where others need the CPUs (and NodeSLO says so)."},
    on("CPUBurst"),
    on("RdtResctrl"),
    on("NodeTopologyReport"),
    on("GroupIdentity"),
    on("CPUSetAllocator"),
    on("BatchResource"),
    off("AuditEvents", "Write an audit log of what was changed on the host."),
    off("AuditEventsHTTPHandler", "Serve the audit log at /events."),
    off("BECPUManager"),
    off("BECPUEvict"),
    off("CPUEvict"),
    off("CPUAllocatableEvict"),
    off("BEMemoryEvict"),
    off("MemoryEvict"),
    off("MemoryAllocatableEvict"),
    off("SystemConfig"),
    off("CgroupReconcile"),
    off("ResctrlCollector"),
    off("Accelerators"),
    off("RDMADevices"),
    off("CPICollector"),
    off("Libpfm4"),
    off("PSICollector", "Sample the pressure of pods and containers."),
    off("BlkIOReconcile"),
    off("ColdPageCollector"),
    off("HugePageReport"),
    off("PodResourcesProxy"),
    off("HamiCoreVGPUMonitor"),
    off("PerCPUMetric"),
    off("NodeMetricPromMetrics", "Show what NodeMetric reports as metrics, too."),
    off("GPUEnvInject"),
    off("RDMADeviceInject"),
    off("CPUNormalization"),
    off("CoreSched"),
    off("TerwayQoS"),
    off("TCNetworkQoS"),
    off("Resctrl"),
    off("OOMScoreAdj"),
};

}  // namespace

std::span<const FeatureGate> gates() { return kGates; }

}  // namespace koord::koordlet
