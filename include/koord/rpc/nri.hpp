// NRI, the interface by which container runtimes ask plugins, in plain structs: its messages' bytes, its
// events, and which runtime has which of them. From NRI 0.3 (containerd 1.7) to 0.12 (containerd 2.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::rpc::nri {

inline constexpr std::string_view kPluginService = "nri.pkg.api.v1alpha1.Plugin";
inline constexpr std::string_view kRuntimeService = "nri.pkg.api.v1alpha1.Runtime";
/// Connections of the multiplexer.
inline constexpr std::uint32_t kPluginConnection = 1, kRuntimeConnection = 2;

/// By their numbers on the wire.
enum class Event : std::uint8_t {
  unknown = 0,
  run_pod_sandbox = 1,
  stop_pod_sandbox = 2,
  remove_pod_sandbox = 3,
  create_container = 4,
  post_create_container = 5,
  start_container = 6,
  post_start_container = 7,
  update_container = 8,
  post_update_container = 9,
  stop_container = 10,
  remove_container = 11,
  update_pod_sandbox = 12,  // this and what follows since 0.10
  post_update_pod_sandbox = 13,
  validate_container_adjustment = 14,
};
inline constexpr Event kLastOfOld = Event::remove_container;
std::string_view to_string(Event event);  // "RunPodSandbox": the name of the call, where it has one
Event event_named(std::string_view method);
constexpr std::int32_t bit(Event event) { return std::int32_t{1} << (static_cast<int>(event) - 1); }

/// Of a runtime that is asked, or that asks: which NRI it has.
struct Version {
  int major = 0, minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};
/// "v0.8.0"; where the runtime does not say it (before 0.12), from its name and version ("containerd",
/// "v2.1.4"; "cri-o"). Nothing: neither tells.
std::optional<Version> version_of(std::string_view nri_version, std::string_view runtime,
                                  std::string_view runtime_version);
/// Whether it gives a container the devices that an adjustment names by CDI: by its release, for one that
/// does not drops them without a word (the message has them since 0.7).
bool takes_cdi(std::string_view runtime, std::string_view runtime_version);
inline constexpr Version kSplits{0, 7};    // Synchronize in parts
inline constexpr Version kAllBits{0, 10};  // event bits above kLastOfOld; older ones refuse them
inline constexpr Version kOwnCalls{0,
                                   12};  // each event is a call of its own, StateChange where there is none

/// A map of the wire, sorted by its keys, each once.
using Map = std::vector<std::pair<std::string, std::string>>;

/// Nothing: not said. CRI's zeros, which say nothing either, are as they came.
struct Resources {
  std::optional<std::int64_t> memory_limit, memory_swap;
  std::optional<std::uint64_t> cpu_shares, cpu_period;
  std::optional<std::int64_t> cpu_quota;
  std::string cpuset_cpus, cpuset_mems;
  std::optional<std::string> rdt_class;
  Map unified;
  bool empty() const { return *this == Resources{}; }
  friend bool operator==(const Resources&, const Resources&) = default;
};
struct Mount {
  std::string source, destination, type;
  std::vector<std::string> options;
  friend bool operator==(const Mount&, const Mount&) = default;
};
struct Device {
  std::string path, type;  // "c", "b"
  std::int64_t major = 0, minor = 0;
  std::optional<std::uint32_t> file_mode;
  friend bool operator==(const Device&, const Device&) = default;
};

struct Pod {
  std::string id, name, uid, ns;
  Map labels, annotations;
  std::string runtime_handler, cgroup_parent;
  std::optional<Resources> overhead, resources;
  friend bool operator==(const Pod&, const Pod&) = default;
};
enum class State : std::uint8_t { unknown = 0, created = 1, paused = 2, running = 3, stopped = 4 };
struct Container {
  std::string id, pod_id, name;
  State state = State::unknown;
  Map labels, annotations;
  std::vector<std::string> env;  // "NAME=value"
  std::vector<Mount> mounts;
  std::vector<Device> devices;
  Resources resources;
  std::optional<std::int64_t> oom_score_adj;
  std::string cgroups_path;
  friend bool operator==(const Container&, const Container&) = default;
};

/// Of a container that is there. Always with its id: a runtime makes nothing of one without.
struct Update {
  std::string container_id;
  Resources resources;
  bool ignore_failure = false;
  friend bool operator==(const Update&, const Update&) = default;
};
/// Of the container that is made; what it says wins over what the runtime has of the same name or path.
struct Adjustment {
  Map annotations, env;
  std::vector<Mount> mounts;
  std::vector<Device> devices;
  Resources resources;
  std::optional<std::int64_t> oom_score_adj;  // since 0.7
  std::vector<std::string> cdi_devices;       // whole names: "nvidia.com/gpu=0"
  friend bool operator==(const Adjustment&, const Adjustment&) = default;
};

// The plugin asks the runtime.
struct RegisterPlugin {
  std::string name, index;  // of [a-zA-Z0-9_.+-]; two digits
  friend bool operator==(const RegisterPlugin&, const RegisterPlugin&) = default;
};

// The runtime asks the plugin.
struct Configure {
  std::string config, runtime_name, runtime_version, nri_version;
  std::int64_t registration_timeout_ms = 0, request_timeout_ms = 0;
  friend bool operator==(const Configure&, const Configure&) = default;
};
/// Of containers: id, pod_id, name, state, resources and oom_score_adj.
struct Synchronize {
  std::vector<Pod> pods;
  std::vector<Container> containers;
  bool more = false;
  friend bool operator==(const Synchronize&, const Synchronize&) = default;
};
struct SynchronizeAnswer {
  std::vector<Update> updates;
  bool more = false;
  friend bool operator==(const SynchronizeAnswer&, const SynchronizeAnswer&) = default;
};
/// Every other call: what it is about is the method's, or the event's of a StateChange.
struct Happened {
  Event event = Event::unknown;
  Pod pod;
  std::optional<Container> container;
  std::optional<Resources> resources;  // of UpdateContainer: what it shall have
  friend bool operator==(const Happened&, const Happened&) = default;
};
struct CreateContainerAnswer {
  Adjustment adjust;
  std::vector<Update> updates;  // of other containers
  friend bool operator==(const CreateContainerAnswer&, const CreateContainerAnswer&) = default;
};

// What the plugin writes, and a runtime reads.
std::string encode(const RegisterPlugin& message);
std::string encode_events(std::int32_t events);  // ConfigureResponse
std::string encode(const SynchronizeAnswer& message);
std::string encode(const CreateContainerAnswer& message);
std::string encode(const std::vector<Update>& updates);  // UpdateContainer's and StopContainer's answer,
                                                         // UpdateContainers' request
Result<RegisterPlugin> decode_register_plugin(std::string_view bytes);
Result<std::int32_t> decode_events(std::string_view bytes);
Result<SynchronizeAnswer> decode_synchronize_answer(std::string_view bytes);
Result<CreateContainerAnswer> decode_create_container_answer(std::string_view bytes);
Result<std::vector<Update>> decode_updates(std::string_view bytes);

// What a runtime writes, and the plugin reads. decode: Code::parse where the bytes are no such message.
std::string encode(const Configure& message);
std::string encode(const Synchronize& message);
/// As the event's own call, or as a StateChange, which says which event it is.
std::string encode(const Happened& message, bool as_state_change);
std::string encode_failed(const std::vector<Update>& failed);  // UpdateContainers' answer
Result<Configure> decode_configure(std::string_view bytes);
Result<Synchronize> decode_synchronize(std::string_view bytes);
/// `event`: the call's; unknown: a StateChange.
Result<Happened> decode_happened(Event event, std::string_view bytes);
Result<std::vector<Update>> decode_failed(std::string_view bytes);

}  // namespace koord::rpc::nri
