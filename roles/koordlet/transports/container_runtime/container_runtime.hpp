// ContainerRuntime: the agent as a client of the node's container runtime, by its CRI socket.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/action/container_stopper.hpp"
#include "framework/states/container_lister.hpp"
#include "koord/base/metrics.hpp"
#include "koord/rpc/channel.hpp"
#include "koord/rpc/cri_client.hpp"
#include "koord/rpc/engine.hpp"

namespace koord::koordlet {

/// On the event loop's thread. Sockets are looked for at each call: runtimes come and go.
class ContainerRuntime final : public ContainerStopper, public ContainerLister {
 public:
  static const metrics::Table kMetrics;
  struct Options {
    std::string endpoint;  // --containerd-endpoint: a path, unix:// before it or not; empty: look for one
    std::string var_run = "/var/run/";  // below which it is looked
  };
  /// Both outlive it.
  ContainerRuntime(rpc::Engine& engine, metrics::Registry& metrics, Options options);

  Task<Result<>> stop(const ContainerInfo& container, nanoseconds within) override;
  /// Those that run now, of the runtime that is there.
  Task<Result<std::vector<rpc::cri::RuntimeContainer>>> running(nanoseconds within);
  /// The same, by the labels of the kubelet's: what is nobody's pod is left out.
  Task<Result<std::vector<StartedContainer>>> started(nanoseconds within) override;
  Task<Result<rpc::cri::RuntimeVersion>> version(nanoseconds within);

  /// The socket of a runtime by the scheme of its containers' ids ("containerd", "cri-o"; empty: whichever is
  /// there); empty: there is none.
  std::string socket(std::string_view scheme) const;
  /// The scheme of the runtime that socket("") is; of one that a flag names, what the flag's path says.
  std::string_view scheme() const;

 private:
  Task<Result<std::string>> call(std::string_view scheme, std::string_view method, std::string message,
                                 nanoseconds within);

  rpc::Engine& engine_;
  Options options_;
  metrics::Family<metrics::Counter> calls_;
  std::map<std::string, std::unique_ptr<rpc::Channel>, std::less<>> channels_;  // by path
};

}  // namespace koord::koordlet
