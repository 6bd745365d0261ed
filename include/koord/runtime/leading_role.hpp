// LeadingRole: the frame of a role that works only while it holds a lease: start, lead, fail, stop.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/kube/leader_election.hpp"
#include "koord/runtime/component_config.hpp"
#include "koord/runtime/role.hpp"

namespace koord::runtime {

/// A role derives from it and says what to do; run() is the frame's:
///
///   start()   at once: informers are fed, caches filled, whether this process leads or not
///   lead()    as soon as the lease is held (or at once without an election); returns when it has spawned
///   healthy() before each renewal: false lets the lease run out, so that another process may lead
///   stop()    at the end, in whichever way it has come: nothing new is begun, what is on its way is
///             finished. The lease is given back after it
///   close()   the last: nobody who asks it is answered any more
///
/// A lease that is lost, and any task of tasks() that fails, ends the role with an error: the process exits
/// with 1 and is started anew, as upstream's do. Whoever writes asks leading() before each write: it turns
/// false at the moment at which another process may take over, whatever else waits.
class LeadingRole : public Role {
 public:
  Task<Result<>> run() final;

 protected:
  struct Options {
    LeaderElectionSettings election;
    /// Who renews the lease; null where nothing is elected.
    kube::Client* client = nullptr;
    /// In the lease's holder; see kube::make_identity().
    std::string host_name;
    /// How long tasks() have at the end, the release of the lease included.
    nanoseconds grace = std::chrono::seconds(2);
  };
  LeadingRole(RoleContext& context, Options options);

  virtual void start() = 0;
  virtual Task<Result<>> lead() = 0;
  virtual Task<> stop() = 0;
  /// `in_order`: nothing has failed, so that it may answer for shutdown_delay() before.
  virtual Task<> close(bool in_order);
  virtual Result<> healthy() { return {}; }

  /// Whether a write may begin now. Any thread.
  bool leading() const;
  /// Ends the role; the first error counts.
  void fail(std::string_view what, const Error& error);
  TaskGroup& tasks() { return tasks_; }
  RoleContext& context() const { return context_; }
  const Logger& log() const { return log_; }

 private:
  Task<Result<>> elect();
  bool may_renew();

  RoleContext& context_;
  Logger log_;
  Options options_;
  std::optional<kube::LeaderElection> election_;
  Event ended_;
  std::optional<Error> failure_;
  TaskGroup tasks_;
};

}  // namespace koord::runtime
