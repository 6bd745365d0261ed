// RuntimeRequest: what a container runtime is about to do, as CRI and NRI both say it, in plain structs: a
// transport fills one from its messages, and hooks are asked with it (framework/hooks/requested_pod.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace koord::koordlet {

enum class RuntimeMoment : std::uint8_t {
  run_sandbox,
  create_container,
  start_container,
  update_container,  // its resources are changed while it runs
  stop_container,
  stop_sandbox,
};

struct RuntimePair {
  std::string name, value;
  friend bool operator==(const RuntimePair&, const RuntimePair&) = default;
};
struct RuntimeDevice {
  std::string host_path;                                  // "/dev/nvidia0"
  std::string path;                                       // in the container; empty: the same
  std::string permissions = "rwm";                        // of r, w and m
  std::optional<std::uint32_t> file_mode = std::nullopt;  // nothing: the host's file's
  friend bool operator==(const RuntimeDevice&, const RuntimeDevice&) = default;
};
struct RuntimeMount {
  std::string source, destination;
  std::string type = "bind";
  std::vector<std::string> options = {};  // "ro", "rbind"
  friend bool operator==(const RuntimeMount&, const RuntimeMount&) = default;
};

/// As cgroup v1 has them. Nothing: the request does not say.
struct RuntimeResources {
  std::optional<std::int64_t> cpu_period, cpu_quota;  // microseconds; a quota below 1: none
  std::optional<std::int64_t> cpu_shares;
  std::optional<std::int64_t> memory_limit;  // bytes; below 1: none
  std::optional<std::int64_t> oom_score_adj;
  std::string cpuset_cpus, cpuset_mems;  // the kernel's lists; empty: the request does not say
};

struct RuntimeSandbox {
  std::string id, uid, ns, name;
  std::vector<RuntimePair> labels, annotations;
  std::string cgroup_parent;    // "/kubepods/besteffort/podUID", "kubepods-besteffort-podUID.slice"
  std::string runtime_handler;  // the name of the runtime's configuration; empty: its default
};
struct RuntimeContainer {
  std::string name;
  std::string id;  // empty until it was made; as CRI has it, without the runtime's name
  std::vector<RuntimePair> annotations, env;
  std::vector<RuntimeDevice> devices;
  std::vector<RuntimeMount> mounts;
  RuntimeResources resources;
};

struct RuntimeRequest {
  RuntimeMoment moment{};
  std::string runtime = "containerd";  // the scheme of its containers' ids
  bool takes_cdi = false;              // devices by the names of CDI, when a container is made
  RuntimeSandbox sandbox;
  std::optional<RuntimeContainer> container;  // nothing: it is about the sandbox
};

}  // namespace koord::koordlet
