// BackEndWatch: knows whether the container runtime is there, has its stock taken whenever it has come, and
// shows both.
#pragma once

#include <functional>
#include <string>

#include "koord/async/event.hpp"
#include "koord/async/task.hpp"
#include "koord/base/metrics.hpp"
#include "koord/rpc/server.hpp"
#include "koord/runtime/role.hpp"
#include "store/store.hpp"

namespace koord::proxy {

/// On the executor's thread.
class BackEndWatch {
 public:
  struct Parts {
    runtime::RoleContext& context;
    std::string socket;  // of the back end, for the log
    const Store& store;
    std::function<Task<Result<>>()> probe;    // whether it answers; ends by itself
    std::function<Task<Result<>>()> recover;  // makes the store tell of what it has
    std::function<rpc::RelayCounts()> relayed;
    /// Set by who found nobody there: it is asked at once. Null: nobody says so.
    Event* doubted = nullptr;
  };
  static const metrics::Table kMetrics;

  /// It outlives the context's metrics' last scrape.
  explicit BackEndWatch(Parts parts);

  /// Until it is cancelled.
  Task<Result<>> run();
  /// What it answered when it was asked last.
  Result<> state() const { return state_; }

 private:
  Task<Result<>> rest();
  void note(const Result<>& answers);
  void show();

  Parts parts_;
  Result<> state_ = Error(Code::unavailable, "it has not been asked yet");
  bool first_ = true;
  metrics::Gauge up_, open_;
  metrics::Family<metrics::Gauge> known_;
  metrics::Counter relayed_, relayed_bytes_;
  rpc::RelayCounts shown_;
};

}  // namespace koord::proxy
