// Plugin: what koord answers a container runtime that asks by NRI, without a socket: one for each connection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/hooks/desk.hpp"
#include "koord/base/log.hpp"
#include "koord/rpc/nri.hpp"
#include "koord/rpc/ttrpc.hpp"
#include "transports/nri/conversion.hpp"

namespace koord::koordlet::nri {

/// One thread.
class Plugin {
 public:
  struct Parts {
    /// Desk::answer().
    std::function<Result<Verdict>(const RuntimeRequest&)> ask;
    /// Desk::asked_at().
    std::function<bool(RuntimeMoment)> asked_at;
    /// What no runtime can set, of a pod that is about to run: to be written now.
    std::function<void(const std::vector<LaterValue>&)> write;
    FindDevice find_device;
    Logger log;
    /// --runtime-hooks-plugin-failure-policy=Fail: a call that cannot be read is refused, too.
    bool fail = false;
  };
  /// What a runtime may send in parts before it is asked to begin anew.
  static constexpr std::size_t kMostPods = 10'000, kMostContainers = 100'000;

  explicit Plugin(Parts parts) : parts_(std::move(parts)) {}

  /// The answer to a call of the runtime's. Methods that do not exist yet are unimplemented.
  rpc::ttrpc::Response answer(const rpc::ttrpc::Request& request);

  /// Who asks; nothing before Configure.
  const std::optional<rpc::nri::Configure>& runtime() const { return runtime_; }
  /// Nothing: it does not say, and nobody knows.
  std::optional<rpc::nri::Version> version() const;
  /// The runtime has told of its containers, and asks about new ones from now on.
  bool synchronized() const { return synchronized_; }
  /// The runtime goes, and said so.
  bool shut_down() const { return shut_down_; }

  struct Counts {
    std::uint64_t pods = 0, containers = 0, updates = 0, parts = 0;  // of the last Synchronize
  };
  const Counts& counts() const { return counts_; }

 private:
  using Answer = Result<std::string>;  // the payload
  Answer configure(std::string_view payload);
  Answer synchronize(std::string_view payload);
  Answer happened(rpc::nri::Event event, std::string_view payload);
  Answer create(const rpc::nri::Happened& call);
  Answer update(const rpc::nri::Happened& call);
  Answer run_pod(const rpc::nri::Pod& pod);
  std::int32_t events() const;

  Parts parts_;
  std::optional<rpc::nri::Configure> runtime_;
  std::string scheme_ = "containerd";
  std::map<std::string, rpc::nri::Pod, std::less<>> pods_;  // of a Synchronize that has not ended, by id
  std::vector<rpc::nri::Container> containers_;
  Counts counts_, counting_;
  bool synchronized_ = false, shut_down_ = false;
};

}  // namespace koord::koordlet::nri
