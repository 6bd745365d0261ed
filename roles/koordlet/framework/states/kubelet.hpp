// KubeletClient: the two questions that the agent asks its kubelet, at an address that may change.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/metrics.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::api {
struct Node;
}
namespace koord::kube {
struct ClientConfig;
class Transport;
}  // namespace koord::kube

namespace koord::koordlet {

struct KubeletSettings {
  std::string address_type = "InternalIP";
  nanoseconds timeout = std::chrono::seconds(3);
  /// Plain HTTP at the read-only port, no token.
  bool read_only = false;
  std::uint16_t read_only_port = 10255;
  /// The token goes to whatever answers.
  bool skip_verify = false;
  std::string folder;  // the kubelet's: its certificate is looked for in pki/ below
};

/// Where the kubelet of a node listens: the address of the wanted type, else the first of the others in
/// Kubernetes' order of preference; the port of its status, else 10250.
struct KubeletAddress {
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const KubeletAddress&, const KubeletAddress&) = default;
};
/// Code::not_found if the node has no address.
Result<KubeletAddress> kubelet_address(const api::Node& node, const KubeletSettings& settings);

/// What matters of the answer to /configz. Looked up by name: what is absent or something else than expected
/// in some version of the kubelet is as if it were not there.
struct KubeletConfig {
  bool static_cpu_policy = false;
  std::string cpu_policy = "none";
  std::vector<std::pair<std::string, std::string>> cpu_policy_options;  // ascending by name
  /// reservedSystemCPUs, as it says them; empty: none by number.
  std::string reserved_cpus;
  /// CPU of kubeReserved and systemReserved; nothing: one of them cannot be read.
  std::optional<std::int64_t> reserved_milli = 0;
  std::string topology_policy, topology_scope = "container";
  std::optional<host::CgroupDriver> driver;
  std::string root;  // its cgroupRoot, as host::kubelet_root() gives it

  friend bool operator==(const KubeletConfig&, const KubeletConfig&) = default;
};
/// Code::parse if it is no JSON, Code::invalid for a cgroupRoot that is no path.
Result<KubeletConfig> read_kubelet_config(std::string_view json);

/// The event loop's thread. Errors name the address; one that the certificate caused names the ways out.
class KubeletClient {
 public:
  static const metrics::Table kMetrics;
  /// The API server's credentials and CA.
  using Credentials = std::function<Result<kube::ClientConfig>()>;
  KubeletClient(boost::asio::any_io_executor executor, Clock& clock, metrics::Registry& registry,
                KubeletSettings settings, Credentials credentials);
  ~KubeletClient();

  void set_address(KubeletAddress address);
  bool has_address() const { return address_.port != 0; }
  std::string where() const;
  /// The body of a 200.
  Task<Result<std::string>> get(std::string path);

 private:
  Result<> connect();

  boost::asio::any_io_executor executor_;
  Clock& clock_;
  KubeletSettings settings_;
  Credentials credentials_;
  metrics::Family<metrics::Histogram> duration_;
  KubeletAddress address_;
  std::shared_ptr<kube::Transport> transport_;
};

}  // namespace koord::koordlet
