// The agent's flags: see flags.hpp.
#include "setup/flags.hpp"

#include <unistd.h>

#include <array>

namespace koord::koordlet {

namespace {

using runtime::Flag;
using runtime::FlagType;

constexpr std::string_view kRoots = "Host folders", kKubernetes = "Kubernetes", kCollect = "Collecting",
                           kQos = "Quality of service", kPredict = "Prediction", kAudit = "Audit",
                           kRuntime = "The container runtime", kKoord = "koord's own",
                           kLater = "For parts of the agent that koord does not have yet";
constexpr std::string_view kNoEffect = "accepted, without effect in this version";
constexpr std::string_view kNoDatabase = "accepted, without effect: koord keeps rings in memory, no database";
constexpr std::string_view kNoDocker =
    "accepted, without effect: where the runtime speaks no CRI, containers are stopped by their processes";
constexpr std::string_view kOneLog =
    "accepted, without effect: the whole log goes to stderr; --v says how much";
constexpr std::string_view kNoGo =
    "accepted, without effect: koord is no Go program; perf shows where it works";
constexpr std::string_view kBuiltIn =
    "accepted, without effect: koord's strategies are built in, --feature-gates chooses";

/// What koord does in another way, or not at all.
constexpr Flag ignored(std::string_view name, FlagType type, std::string_view value, std::string_view why) {
  return {name, type, value, "", 0, {}, true, why};
}

/// What comes with a part that koord does not have yet.
constexpr Flag later(std::string_view name, FlagType type, std::string_view value) {
  return {name, type, value, "", 0, kLater, true, kNoEffect};
}

constexpr std::array<Flag, 9> kServingFlags = {{
    {"addr", FlagType::text, ":9316", "Where plain HTTP is served: ADDRESS:PORT; \"0\" serves nothing."},
    ignored("enable-pprof", FlagType::boolean, "false", kNoGo),
    ignored("pprof-addr", FlagType::text, ":9317", kNoGo),
    {"kube-api-qps", FlagType::real, "20", "Requests a second to the API server; 0: no limit."},
    {"kube-api-burst", FlagType::integer, "30", "Requests at once beyond that."},
    ignored("configmap-name", FlagType::text, "koordlet-config", kBuiltIn),
    ignored("configmap-namespace", FlagType::text, "koordinator-system", kBuiltIn),
    ignored("logtostderr", FlagType::boolean, "true", kOneLog),
    ignored("alsologtostderr", FlagType::boolean, "false", kOneLog),
}};

constexpr std::array<Flag, 11> kLogFlags = {{
    ignored("add-dir-header", FlagType::boolean, "false", kOneLog),
    ignored("log-backtrace-at", FlagType::text, ":0", kOneLog),
    ignored("log-dir", FlagType::text, "", kOneLog),
    ignored("log-file", FlagType::text, "", kOneLog),
    ignored("log-file-max-size", FlagType::integer, "1800", kOneLog),
    ignored("one-output", FlagType::boolean, "false", kOneLog),
    ignored("skip-headers", FlagType::boolean, "false", kOneLog),
    ignored("skip-log-headers", FlagType::boolean, "false", kOneLog),
    ignored("stderrthreshold", FlagType::text, "2", kOneLog),
    ignored("vmodule", FlagType::text, "", kOneLog),
    ignored("report-interval", FlagType::duration, "1m",
            "accepted, without effect: the NodeMetric's metricCollectPolicy decides"),
}};

constexpr std::array<Flag, 16> kRootFlags = {{
    {"cgroup-root-dir", FlagType::text, "",
     "Empty: /host-cgroup/ in a DaemonSet's pod, /sys/fs/cgroup/ on the host (agent_mode=hostMode says so).",
     0, kRoots},
    {"sys-root-dir", FlagType::text, "", "Empty: /host-sys/, or /sys/ in host mode.", 0, kRoots},
    {"sys-fs-root-dir", FlagType::text, "", "Empty: /host-sys-fs/, or /sys/fs/ in host mode.", 0, kRoots},
    {"proc-root-dir", FlagType::text, "", "Empty: /proc/.", 0, kRoots},
    {"var-run-root-dir", FlagType::text, "", "Empty: /host-var-run/, or /var/run/ in host mode.", 0, kRoots},
    {"run-root-dir", FlagType::text, "", "Empty: /host-run/, or /run/ in host mode.", 0, kRoots},
    {"var-lib-kubelet-dir", FlagType::text, "", "Empty: /var/lib/kubelet/.", 0, kRoots},
    {"runtime-hooks-config-path", FlagType::text, "",
     "The folder in which CRI proxies look for hook servers. Empty: /host-etc-hookserver/, or "
     "/etc/runtime/hookserver.d in host mode.",
     0, kRoots},
    {"containerd-endpoint", FlagType::text, "",
     "The socket of containerd or CRI-O. Empty: the first of containerd/containerd.sock, containerd.sock, "
     "crio/crio.sock and crio.sock below --var-run-root-dir that is there.",
     0, kRoots},
    ignored("docker-endpoint", FlagType::text, "", kNoDocker),
    ignored("pouch-endpoint", FlagType::text, "", kNoDocker),
    {"default-runtime-type", FlagType::text, "containerd",
     "Whose containers a CRI proxy asks about: containerd, docker, pouch or cri-o (crio).", 0, kRuntime},
    {"hami-core-library-directory-path", FlagType::text, "/usr/local/vgpu/libvgpu.so",
     "The library of HAMi-core on the host, which holds containers to their part of a GPU (gate "
     "GPUEnvInject).",
     0, kRuntime},
    {"cdi-spec-dirs", FlagType::list, "/etc/cdi,/var/run/cdi",
     "The host's folders of CDI files, as the container runtime has them (gate CDIDeviceInject).", 0,
     kRuntime},
    {"pod-resources-proxy-path", FlagType::text, "/var/run/koordlet/pod-resources",
     "The folder of the socket kubelet.sock, at which the kubelet's pod resources are served with the "
     "devices "
     "that the scheduler gave out (gate PodResourcesProxy).",
     0, kRuntime},
    {"xpu-device-infos-dir", FlagType::text, "/var/run/koordlet/xpu-device-infos/",
     "The folder of files in which the device daemon and others describe accelerators (gate Accelerators).",
     0, kRoots},
}};

constexpr std::array<Flag, 10> kStatesFlags = {{
    {"kubelet-preferred-address-type", FlagType::text, "InternalIP",
     "Which of the node's addresses the kubelet is asked at: Hostname, InternalIP, ExternalIP, InternalDNS "
     "or "
     "ExternalDNS.",
     0, kKubernetes},
    {"kubelet-sync-interval", FlagType::duration, "10s",
     "How often the kubelet is asked for its pods, 100ms or more.", 0, kKubernetes},
    {"kubelet-sync-timeout", FlagType::duration, "3s", "How long the kubelet may take to answer.", 0,
     kKubernetes},
    {"kubelet-insecure-tls", FlagType::boolean, "false",
     "Ask the kubelet's read-only port, over plain HTTP and without a token.", 0, kKubernetes},
    {"kubelet-read-only-port", FlagType::integer, "10255", "The port of --kubelet-insecure-tls.", 0,
     kKubernetes},
    {"node-topology-sync-interval", FlagType::duration, "3s",
     "How often it is looked whether the node's NodeResourceTopology is still true; 0: it is not reported.",
     0, kKubernetes},
    {"disable-query-kubelet-config", FlagType::boolean, "false",
     "Do not ask the kubelet for its CPU manager's policy.", 0, kKubernetes},
    {"enable-node-metric-report", FlagType::boolean, "true", "Report what is measured as NodeMetric.", 0,
     kKubernetes},
    later("enable-pod-taskids", FlagType::boolean, "false"),
    {"xpu-enforce-collect-from-device-infos", FlagType::boolean, "false",
     "Report the accelerators of --xpu-device-infos-dir alone, and never ask NVIDIA's driver.", 0,
     kKubernetes},
}};

constexpr std::array<Flag, 12> kCollectFlags = {{
    {"collect-res-used-interval", FlagType::duration, "1s",
     "How often usage is sampled; below 1s nothing is collected and no strategy runs.", 0, kCollect},
    {"collect-sys-metric-outdated-interval", FlagType::duration, "10s",
     "How old a sample may be that the system's share is computed from.", 0, kCollect},
    {"enable-pagecache-collector", FlagType::boolean, "false", "Sample memory with page cache, too.", 0,
     kCollect},
    {"collect-node-cpu-info-interval", FlagType::duration, "60s",
     "How often the machine's CPUs and memory nodes are read; 0: each tick.", 0, kCollect},
    {"psi-collector-interval", FlagType::duration, "10s",
     "How often pressure is sampled (gate PSICollector), each tick at most.", 0, kCollect},
    later("collect-node-storage-info-interval", FlagType::duration, "1s"),
    {"cpi-collector-interval", FlagType::duration, "60s",
     "How often cycles and instructions of a container are counted (gate CPICollector).", 0, kCollect},
    {"collect-cpi-timewindow", FlagType::duration, "10s", "For how long they are counted.", 0, kCollect},
    {"coldpage-collector-interval", FlagType::duration, "5s",
     "How often cold pages are read (gate ColdPageCollector), each tick at most.", 0, kCollect},
    {"enable-idle-page-tracking", FlagType::boolean, "false",
     "With the gate ColdPageCollector on a kernel without kidled: cold pages are estimated of a sample, by "
     "idle "
     "page tracking (/sys/kernel/mm/page_idle), 512 pages a second.",
     0, kCollect},
    {"resctrl-collector-interval", FlagType::duration, "10s",
     "How often what classes of pods use of caches and of the memory's bandwidth is counted (gate "
     "ResctrlCollector), each tick at most.",
     0, kCollect},
    {"enable-resctrl-collector", FlagType::boolean, "false",
     "Beside the gate ResctrlCollector: whether classes of pods are counted, and have groups of resctrl for "
     "that.",
     0, kCollect},
}};

constexpr std::array<Flag, 12> kDatabaseFlags = {{
    {"tsdb-path", FlagType::text, "/metric-data/",
     "The folder of the checkpoint of what was measured, and of what the API server said last. An emptyDir "
     "only where no folder of the host's is mounted: see --prediction-checkpoint-filepath.",
     0, kCollect},
    ignored("tsdb-retention-duration", FlagType::duration, "12h", kNoDatabase),
    ignored("tsdb-max-bytes", FlagType::integer, "104857600", kNoDatabase),
    ignored("tsdb-min-block-duration", FlagType::duration, "10m", kNoDatabase),
    ignored("tsdb-max-block-duration", FlagType::duration, "10m", kNoDatabase),
    ignored("tsdb-wal-segment-size", FlagType::integer, "1048576", kNoDatabase),
    ignored("tsdb-max-block-chunk-segment-size", FlagType::integer, "5242880", kNoDatabase),
    ignored("tsdb-head-chunks-write-buffer-size", FlagType::integer, "1048576", kNoDatabase),
    ignored("tsdb-stripe-size", FlagType::integer, "16384", kNoDatabase),
    ignored("tsdb-enable-prometheus-metric", FlagType::boolean, "true", kNoDatabase),
    ignored("metric-gc-interval-seconds", FlagType::integer, "300", kNoDatabase),
    ignored("metric-expire-seconds", FlagType::integer, "1800", kNoDatabase),
}};

constexpr std::array<Flag, 8> kQosFlags = {{
    {"cpu-suppress-interval-seconds", FlagType::integer, "1",
     "How often best-effort CPUs are adjusted, in seconds, each tick at most; 0: not at all.", 0, kQos},
    {"reconcile-interval-seconds", FlagType::integer, "1",
     "How often CPU burst and the system's settings are adjusted, in seconds, each tick at most; 0: not at "
     "all.",
     0, kQos},
    {"cpu-evict-interval-seconds", FlagType::integer, "1",
     "How often it is looked whether pods go for want of CPU, in seconds, each tick at most; 0: not at all.",
     0, kQos},
    {"cpu-evict-cool-time-seconds", FlagType::integer, "20",
     "After pods went for want of CPU, and after the start, nobody goes for so many seconds.", 0, kQos},
    {"memory-evict-interval-seconds", FlagType::integer, "1", "The same for want of memory.", 0, kQos},
    {"memory-evict-cool-time-seconds", FlagType::integer, "4",
     "After pods went for want of memory nobody goes for so many seconds.", 0, kQos},
    {"only-evict-by-api", FlagType::boolean, "false",
     "Evict pods through the API server, which minds disruption budgets; otherwise their containers are "
     "killed, and the kubelet starts them again as their restart policy says.",
     0, kQos},
    ignored("qos-extension-plugins", FlagType::pairs, "", kBuiltIn),
}};

constexpr std::array<Flag, 17> kHookFlags = {{
    {"runtime-hooks-network", FlagType::text, "unix",
     "What --runtime-hooks-addr is an address of: unix only.", 0, kRuntime},
    {"runtime-hooks-addr", FlagType::text, "/host-var-run-koordlet/koordlet.sock",
     "The socket at which CRI proxies ask for hooks; in host mode koordlet/koordlet.sock below "
     "--var-run-root-dir, unless this is given. Empty: none.",
     0, kRuntime},
    {"runtime-hooks-failure-policy", FlagType::text, "Ignore",
     "What a CRI proxy shall do while the agent does not answer: Ignore, go on without it, or Fail, refuse: "
     "then no container starts without its values, and none while the agent is away.",
     0, kRuntime},
    {"runtime-hooks-plugin-failure-policy", FlagType::text, "Ignore",
     "What is done about a pod of a class of Koordinator's of which the agent cannot say everything yet: "
     "Ignore, what is known is said, or Fail, it is refused.",
     0, kRuntime},
    {"runtime-hooks-host-endpoint", FlagType::text, "/var/run/koordlet/koordlet.sock",
     "The same socket, as CRI proxies see it.", 0, kRuntime},
    {"runtime-hooks-disable-stages", FlagType::list, "",
     "Stages at which nobody is asked, by a CRI proxy or by NRI: PreRunPodSandbox, PreCreateContainer, "
     "PreUpdateContainerResources, ...",
     0, kRuntime},
    {"runtime-hooks-reconcile-interval", FlagType::duration, "10s",
     "How often containers are looked through for new processes (OOMScoreAdj, CoreSched), each second at "
     "most. "
     "Other values are set when pods, node or NodeSLO change.",
     0, kQos},
    {"disable-unset-cpu-quota", FlagType::boolean, "false",
     "Leave the quotas of pods that have CPUs of their own as the kubelet sets them.", 0, kQos},
    {"enable-nri-runtime-hook", FlagType::boolean, "true",
     "Be a plugin of the container runtime (NRI), which then asks before it makes a container.", 0, kRuntime},
    {"runtime-hooks-nri-socket-path", FlagType::text, "nri/nri.sock",
     "The runtime's NRI socket, below --var-run-root-dir.", 0, kRuntime},
    {"runtime-hooks-nri-plugin-name", FlagType::text, "koordlet_nri", "Its name among the plugins.", 0,
     kRuntime},
    {"runtime-hooks-nri-plugin-index", FlagType::text, "00",
     "Its place among the plugins, two digits: lower ones are asked first.", 0, kRuntime},
    {"runtime-hooks-nri-connect-timeout", FlagType::duration, "6s",
     "How long the runtime may take to accept the plugin.", 0, kRuntime},
    {"runtime-hooks-nri-backoff-duration", FlagType::duration, "1s",
     "How long to wait before the connection is tried again; a runtime that starts is found at once.", 0,
     kRuntime},
    {"runtime-hooks-nri-backoff-cap", FlagType::duration, "1281023h53m38.427387903s",
     "What that wait grows to at most; more than 30s is 30s.", 0, kRuntime},
    {"runtime-hooks-nri-backoff-steps", FlagType::integer, "2147483647",
     "After so many tries waits begin anew.", 0, kRuntime},
    {"runtime-hooks-nri-backoff-factor", FlagType::real, "2", "By how much each wait is longer.", 0,
     kRuntime},
}};

constexpr std::array<Flag, 9> kPredictionFlags = {{
    {"prediction-checkpoint-filepath", FlagType::text, "/prediction-checkpoints",
     "Where what is learned of the pods' usage is kept for the next agent, one file a pod; in a DaemonSet's "
     "pod, a folder of the host's: whatever else the next agent needs is in koord/ below it, else below "
     "/host-var-run-koordlet. Where it is not there, predictions/ beside what was measured.",
     0, kPredict},
    {"prediction-cold-start-duration", FlagType::duration, "24h",
     "So long after its creation a pod counts with all that it requests.", 0, kPredict},
    {"prediction-safety-margin-percent", FlagType::integer, "10",
     "What is added to each predicted peak, in percent of it, -100 to 1000.", 0, kPredict},
    {"prediction-memory-histogram-decay-halflife", FlagType::duration, "24h",
     "A sample of memory of so long ago counts half, 1m or more.", 0, kPredict},
    {"prediction-cpu-histogram-decay-halflife", FlagType::duration, "12h", "The same of CPU.", 0, kPredict},
    {"prediction-training-interval", FlagType::duration, "1m",
     "How often it is learned what pods used since, 1s to 30m.", 0, kPredict},
    {"prediction-model-expiration-duration", FlagType::duration, "30m",
     "What was learned of a pod is forgotten when it has not run for so long, 1m or more.", 0, kPredict},
    {"prediction-model-checkpoint-interval", FlagType::duration, "10m",
     "What is learned of a pod is written no more often; it is looked at once a minute, or as often as this.",
     0, kPredict},
    {"prediction-model-checkpoint-max-per-step", FlagType::integer, "12",
     "How many pods' files are written at once, up to 1000.", 0, kPredict},
}};

constexpr std::array<Flag, 6> kAuditFlags = {{
    {"audit-log-dir", FlagType::text, "/var/log/koordlet", "The folder of the audit log.", 0, kAudit},
    {"audit-verbose", FlagType::integer, "3", "What is audited: up to this level.", 0, kAudit},
    {"audit-max-disk-space-mb", FlagType::integer, "16", "What the audit log may take, in MB.", 0, kAudit},
    {"audit-max-concurrent-readers", FlagType::integer, "4", "Readers of /events at a time.", 0, kAudit},
    {"audit-max-events-limit", FlagType::integer, "2048", "The largest page of /events.", 0, kAudit},
    {"resource-force-update-seconds", FlagType::integer, "60",
     "A value that was written so long ago is looked at again; 0: each tick.", 0, kAudit},
}};

constexpr std::array<Flag, 12> kOwnFlags = {{
    {"dry-run-strategies", FlagType::list, "",
     "Strategies that only show what they would do (koord top, the log), by name: CPUSuppress, CPUEvict, ...",
     0, kKoord},
    {"evictions-per-hour", FlagType::integer, "0",
     "How many pods all strategies together may evict in any hour; 0: as many as they find right.", 0,
     kKoord},
    {"node-name", FlagType::text, "", "The node that the agent runs on; empty: NODE_NAME of the environment.",
     0, kKoord},
    {"cgroup-version", FlagType::text, "auto", "auto, v1 or v2.", 0, kKoord},
    {"kubelet-skip-verify", FlagType::boolean, "false",
     "Send the token to whatever answers at the kubelet's port, without checking its certificate.", 0,
     kKoord},
    {"kubelet-cgroup-root", FlagType::text, "",
     "The kubelet's cgroupRoot; empty: what it says at /configz, which may not be asked everywhere.", 0,
     kKoord},
    {"api-access", FlagType::text, "loopback",
     "Who may read /apis/ on --addr: loopback, or all who can reach the port.", 0, kKoord},
    {"cleanup", FlagType::text, "false",
     "true: ask the agent of this host to end, set free what agents have left throttled, and end. An agent "
     "that was asked stands by when it is started again: its pod's until undo, a new pod or the next boot, "
     "one "
     "of the host's own until undo or the next boot. Where the kubelet does not say which CPUs are "
     "exclusively "
     "somebody's, sets of CPUs stay, and the exit status is not 0. force: widen them, too. undo: let the "
     "agent "
     "that stands by start again, and nothing else.",
     0, kKoord},
    {"standalone-config", FlagType::text, "",
     "Without Kubernetes: a file with the strategies and the groups to watch and protect.", 0, kKoord},
    {"disable-cpu-idle", FlagType::boolean, "false",
     "Leave cpu.idle alone where the kernel has no group identity: best-effort work gives way by its weight "
     "only.",
     0, kKoord},
    {"run-queue-latency", FlagType::boolean, "true",
     "Measure with eBPF how long tasks wait for a CPU, where the kernel allows it.", 0, kKoord},
    {"run-queue-latency-limit", FlagType::real, "1",
     "What --run-queue-latency may cost, in percent of the machine's CPU time: beyond it one wait of 16 is "
     "counted, and where that is too much none for a while; 0: whatever it costs.",
     0, kKoord},
}};

constexpr auto kFlags =
    runtime::join_flags(kServingFlags, kRootFlags, kStatesFlags, kCollectFlags, kDatabaseFlags, kQosFlags,
                        kPredictionFlags, kAuditFlags, kOwnFlags, kHookFlags, kLogFlags);

void replace(const runtime::FlagValues& flags, std::string_view name, std::string& folder) {
  if (const std::string& given = flags.get(name); !given.empty()) folder = given;
  if (!folder.ends_with('/')) folder += '/';
}

}  // namespace

std::span<const runtime::Flag> flags() { return kFlags; }

Result<Place> read_place(const runtime::FlagValues& flags, const GetEnv& env) {
  Place place;
  place.node_name = flags.get("node-name");
  if (place.node_name.empty()) place.node_name = env("NODE_NAME").value_or("");
  // What is no pod of a cluster and has none of the host's folders mounted as a DaemonSet's has runs on the
  // host.
  const auto mode = env("agent_mode").value_or("");
  const bool outside = mode.empty() && !env("KUBERNETES_SERVICE_HOST") &&
                       ::access(host::Root::daemon_set_mode().cgroup.c_str(), F_OK) != 0;
  // Without Kubernetes there is no pod that the host's folders could be mounted into.
  const bool standalone = !flags.get("standalone-config").empty();
  place.in_pod = mode != "hostMode" && !outside && !standalone;
  place.root = place.in_pod ? host::Root::daemon_set_mode() : host::Root::host_mode();
  replace(flags, "cgroup-root-dir", place.root.cgroup);
  replace(flags, "sys-root-dir", place.root.sys);
  replace(flags, "sys-fs-root-dir", place.root.sys_fs);
  replace(flags, "proc-root-dir", place.root.proc);
  replace(flags, "var-run-root-dir", place.root.var_run);
  replace(flags, "run-root-dir", place.root.run);
  replace(flags, "var-lib-kubelet-dir", place.root.var_lib_kubelet);
  const std::string& version = flags.get("cgroup-version");
  if (version == "v1" || version == "1") {
    place.cgroup_version = host::CgroupVersion::v1;
  } else if (version == "v2" || version == "2") {
    place.cgroup_version = host::CgroupVersion::v2;
  } else if (version != "auto") {
    return Error(Code::invalid, "--cgroup-version: \"" + version + "\" is not auto, v1 or v2");
  }
  auto kubelet_root = host::kubelet_root(flags.get("kubelet-cgroup-root"));
  if (!kubelet_root) return std::move(kubelet_root).error().context("--kubelet-cgroup-root");
  place.kubelet_root = std::move(*kubelet_root);
  if (const std::string& cleanup = flags.get("cleanup");
      cleanup != "false" && cleanup != "true" && cleanup != "force" && cleanup != "undo")
    return Error(Code::invalid, "--cleanup: \"" + cleanup + "\" is not true, false, force or undo");
  const std::string& access = flags.get("api-access");
  if (access != "loopback" && access != "all")
    return Error(Code::invalid, "--api-access: \"" + access + "\" is not loopback or all");
  return place;
}

}  // namespace koord::koordlet
