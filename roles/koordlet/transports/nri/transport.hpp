// Transport: the agent as a plugin of the node's container runtime: connects, registers, answers, and comes
// back whenever the connection is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "framework/states/source_status.hpp"
#include "koord/async/backoff.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/rpc/ttrpc.hpp"
#include "transports/nri/plugin.hpp"

namespace koord::koordlet::nri {

struct Settings {
  std::string socket;
  std::string name = "koordlet_nri", index = "00";
  /// From the socket's being connected to until the runtime has configured the plugin.
  nanoseconds connect_timeout = std::chrono::seconds(6);
  /// A runtime that has not told of its containers by then never will.
  nanoseconds synchronize_timeout = std::chrono::seconds(30);
  /// How long the agent may take to know what it answers by, before each connection.
  nanoseconds patience = std::chrono::seconds(30);
  BackoffPolicy backoff = {std::chrono::seconds(1), 2, std::chrono::seconds(30), 0.1};
  std::uint64_t backoff_steps = INT32_MAX;  // tries after which waits begin anew
};
/// Code::invalid names what a runtime would not take.
Result<> check(const Settings& settings);

/// One connection at a time. One thread: the event loop's.
class Transport {
 public:
  static const metrics::Table kMetrics;
  struct Parts {
    asio::any_io_executor executor;
    Clock& clock;
    Logger log;
    metrics::Registry& metrics;
    Plugin::Parts plugin;
    /// What the agent has to know before it answers, in words; empty: it knows. Until then it stays away,
    /// for some time: what it did not know it would answer by half.
    std::function<std::string()> missing;
  };
  Transport(Parts parts, Settings settings);

  /// Until it is cancelled.
  Task<Result<>> run();
  /// "container runtime (NRI)": ok while it is synchronized.
  SourceStatus status() const;

 private:
  struct Link;  // one connection
  Task<Result<>> wait_until_known();
  Task<Result<>> wait_for_socket(nanoseconds most);
  Task<Result<>> connect_once();
  Task<Result<>> introduce(Link& link);
  rpc::ttrpc::Response answer(Link& link, const rpc::ttrpc::Request& request);
  void greet(const Plugin& plugin);
  void lost(const Error& why);

  Parts parts_;
  Settings settings_;
  metrics::Gauge connected_;
  metrics::Counter connections_, late_;
  SourceStatus status_;
  std::string told_;           // what was logged last of why there is no connection
  bool synchronized_ = false;  // the last connection was
};

}  // namespace koord::koordlet::nri
