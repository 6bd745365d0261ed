// Sandbox: a Kubernetes API (1.35) in memory on loopback, with simulated nodes. For trying koord, for tests
// and simulation; nothing is kept when it ends.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::sandbox {

struct SandboxOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::string token;       // empty: a random one

  int nodes = 0;  // simulated nodes made at the start: node-0000, node-0001, ...
  /// Capacity of those: "cpu=32,memory=128Gi,pods=110,nvidia.com/gpu=8"; what is not named keeps its default.
  std::string node_capacity;
  /// A manifest of one or several Nodes (YAML or JSON): each made node copies the next of them. Empty: none.
  std::string node_file;
  /// Manifests (YAML documents, JSON objects or Lists) that load() creates, in this order.
  std::vector<std::string> load;

  std::chrono::milliseconds pod_start_delay{100};  // from binding to Running
  std::chrono::milliseconds pod_stop_delay{100};   // from deletion to gone, or the pod's grace if shorter
  std::chrono::milliseconds idle_after{3000};      // see until_idle()

  /// A trace of machines' usage (rows "machine,seconds,CPU %,memory %", as Alibaba's cluster-trace-v2018 has
  /// them): each node gets a simulated agent that plays one of its machines, reports a NodeMetric and holds
  /// best-effort pods back. Empty: no agents.
  std::string trace;
  double trace_speed = 1;  // seconds of the trace in one
  /// Of the agents; 0: as the NodeMetrics say, 30 s at least.
  std::chrono::milliseconds report_interval{0};

  std::size_t history = 50'000;       // changes of a kind that watches can go back
  std::size_t lease_history = 5'000;  // of leases and NodeMetrics
  std::uint64_t seed = 0;             // of names and uids; 0: random
};

/// How far a run is.
struct Progress {
  std::uint64_t nodes = 0, ready_nodes = 0;
  std::uint64_t pods = 0;   // there now
  std::uint64_t bound = 0;  // since the start
  std::uint64_t pending = 0;

  friend bool operator==(const Progress&, const Progress&) = default;
};

/// Everything happens on the executor, which must be one thread or a strand, and must outlive the sandbox, as
/// the clock must. It may be another thread's than that of the roles which talk to it.
class Sandbox {
 public:
  Sandbox(asio::any_io_executor executor, Clock& clock, SandboxOptions options);
  /// stop() must have completed, or the executor's context no longer runs.
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  /// Makes the nodes and serves (a busy port is Code::already_exists).
  Task<Result<>> start();
  /// Creates the manifests' objects, in between other work. An error names file, line and field.
  Task<Result<>> load();
  Task<> stop();

  std::uint16_t port() const;
  std::string url() const;  // https://127.0.0.1:PORT
  const std::string& token() const;
  const std::string& ca_pem() const;
  std::string kubeconfig() const;
  /// Readable by its owner only (0600), replaced as a whole.
  Result<> write_kubeconfig(const std::string& path) const;

  /// Returns when load() has ended and nothing but leases, events and NodeMetrics has changed for idle_after.
  Task<Result<>> until_idle();
  /// Looks at every node: not for every few milliseconds.
  Progress progress() const;
  std::string summary_text() const;
  std::string summary_json() const;

  // Faults, for tests.
  /// The next `count` requests (watches that are open stay) get this status (429 with Retry-After: 1).
  void fail_requests(int count, int status);
  /// Breaks every open watch off in the middle.
  void drop_watches();
  /// Forgets all history: open watches that lag, and new ones of older versions, get 410.
  void forget_history();
  std::uint64_t requests() const;  // answered so far

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::sandbox
