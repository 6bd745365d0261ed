#include "koord/runtime/leading_role.hpp"

#include <fmt/format.h>

namespace koord::runtime {

LeadingRole::LeadingRole(RoleContext& context, Options options)
    : context_(context),
      log_(context.log),
      options_(std::move(options)),
      tasks_(context.executor, [this](std::string_view task, const Error& error) { fail(task, error); }) {
  if (!options_.election.leader_elect.value_or(true)) return;
  kube::LeaderElectionConfig config = election_config(options_.election, options_.host_name);
  config.may_renew = [this] { return may_renew(); };
  election_.emplace(*options_.client, context.clock, std::move(config));
}

Task<Result<>> LeadingRole::run() {
  start();
  tasks_.spawn("lead", elect());
  const Result<> ended = co_await ended_.wait();
  co_await begin_cleanup();
  co_await stop();
  co_await tasks_.stop(context_.clock, options_.grace);
  co_await close(!failure_.has_value());
  if (failure_) co_return *failure_;
  co_return ended;
}

Task<> LeadingRole::close(bool) { co_return; }

Task<Result<>> LeadingRole::elect() {
  if (election_) {
    const Result<> acquired = co_await election_->acquire();
    if (!acquired && acquired.error().code() == Code::not_found) {
      const LeaderElectionSettings& lease = options_.election;
      co_return Error(
          Code::not_found,
          fmt::format("the namespace \"{}\" of the lease \"{}\" does not exist: create it, or name "
                      "another one with --leader-elect-resource-namespace, or run with "
                      "--leader-elect=false",
                      lease.resource_namespace, lease.resource_name));
    }
    if (!acquired) co_return acquired;
    log_.info("leading", kv("lease", options_.election.resource_name));
  }
  // Of its own: the lease is renewed while it still waits for what it needs.
  tasks_.spawn("begin", lead());
  if (!election_) co_return Result<>();
  const Result<> held = co_await election_->hold();
  if (!held && held.error().code() != Code::cancelled) co_return Error(Code::conflict, "leaderelection lost");
  co_return held;
}

bool LeadingRole::may_renew() {
  const Result<> health = healthy();
  if (!health) log_.error("the lease is not renewed", kv("error", health.error()));
  return health.has_value();
}

bool LeadingRole::leading() const { return election_ ? election_->leading() : true; }

void LeadingRole::fail(std::string_view what, const Error& error) {
  if (failure_) return;
  log_.error("the role ends", kv("task", what), kv("error", error));
  failure_ = error;
  ended_.set();
}

}  // namespace koord::runtime
