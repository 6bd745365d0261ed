// The container runtime interface, as who asks a runtime has it: requests as bytes, and what is answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/rpc/cri.hpp"

namespace koord::rpc::cri {

std::string version_request();
struct RuntimeVersion {
  std::string name, version, api;  // "containerd", "v2.1.4", "v1"
};
Result<RuntimeVersion> read_version(std::string_view bytes);

/// `seconds` until what does not end by itself is killed; 0: at once.
std::string stop_request(std::string_view container, std::int64_t seconds);

enum class ContainerState : std::uint8_t { created, running, exited, unknown };
struct RuntimeContainer {
  std::string id, sandbox, name;
  std::uint32_t attempt = 0;
  ContainerState state = ContainerState::unknown;
  std::int64_t created_at = 0;            // nanoseconds since 1970
  std::string pod_uid, pod_ns, pod_name;  // by the kubelet's labels; empty: it has none
};
/// Those in the state; nothing: all.
std::string list_request(std::optional<ContainerState> state = {});
Result<std::vector<RuntimeContainer>> read_listed(std::string_view bytes);

}  // namespace koord::rpc::cri
