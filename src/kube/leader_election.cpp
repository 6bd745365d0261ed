#include "koord/kube/leader_election.hpp"

#include <fmt/format.h>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/coordination_v1/lease.hpp"
#include "koord/async/timer.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "leader_state.hpp"

namespace koord::kube {

namespace {

LeaseRecord record_of(const api::LeaseSpec& spec) {
  LeaseRecord record;
  record.holder = spec.holder_identity;
  record.duration_seconds = spec.lease_duration_seconds.value_or(0);
  record.transitions = spec.lease_transitions.value_or(0);
  if (spec.acquire_time) record.acquired = spec.acquire_time->wall();
  if (spec.renew_time) record.renewed = spec.renew_time->wall();
  return record;
}

api::Lease new_lease(const LeaderElectionConfig& config, const LeaseRecord& record) {
  api::Lease lease;
  lease.metadata.namespace_ = config.lease_namespace;
  lease.metadata.name = config.lease_name;
  lease.spec.holder_identity = record.holder;
  lease.spec.lease_duration_seconds = record.duration_seconds;
  lease.spec.lease_transitions = record.transitions;
  lease.spec.acquire_time = api::MicroTime(record.acquired);
  lease.spec.renew_time = api::MicroTime(record.renewed);
  return lease;
}

/// What is not ours in the Lease (labels, owners, fields of later versions) stays.
void edit(json::Document& lease, const LeaseRecord& record) {
  json::Arena& arena = lease.arena();
  json::Value& spec = json::object_at(lease, "spec", arena);
  json::set_text(spec, "holderIdentity", record.holder, arena);
  json::set_int(spec, "leaseDurationSeconds", record.duration_seconds, arena);
  json::set_int(spec, "leaseTransitions", record.transitions, arena);
  json::set_text(spec, "acquireTime", api::MicroTime(record.acquired).to_string(), arena);
  json::set_text(spec, "renewTime", api::MicroTime(record.renewed).to_string(), arena);
}

}  // namespace

class LeaderElection::Impl {
 public:
  Impl(Client& client, Clock& clock, LeaderElectionConfig config)
      : client_(client), clock_(clock), config_(config), state_(std::move(config)) {}

  Task<Result<>> acquire() {
    for (;;) {
      const LeaderState::Action action = next();
      const Result<> done = co_await perform(action);
      if (!done && done.error().code() == Code::cancelled) co_return done;
      if (!done && done.error().code() == Code::not_found &&
          std::holds_alternative<LeaderState::Create>(action))
        co_return done.error().context(
            fmt::format("the lease {}/{} cannot be made", config_.lease_namespace, config_.lease_name));
      if (leading()) co_return Result<>();
    }
  }

  Task<Result<>> hold() {
    for (;;) {
      const LeaderState::Action action = next();
      if (std::holds_alternative<LeaderState::Lost>(action))
        co_return Error(Code::conflict,
                        fmt::format("the lease {}/{} is lost, held by \"{}\"", config_.lease_namespace,
                                    config_.lease_name, state_.holder()));
      if (is_write(action) && config_.may_renew && !config_.may_renew()) {
        state_.on_held_back(clock_.mono());
        continue;
      }
      const Result<> done = co_await perform(action);
      if (!done && done.error().code() == Code::cancelled) break;
    }
    co_await begin_cleanup();
    state_.stop();
    for (;;) {
      const LeaderState::Action action = next();
      if (std::holds_alternative<LeaderState::Finished>(action)) break;
      (void)co_await perform(action);
    }
    co_return Error(Code::cancelled, "leader election was stopped");
  }

  bool leading() const { return clock_.mono().time_since_epoch().count() < lost_at_.load(); }
  const std::string& holder() const { return state_.holder(); }

 private:
  static bool is_write(const LeaderState::Action& action) {
    return std::holds_alternative<LeaderState::Update>(action) ||
           std::holds_alternative<LeaderState::Create>(action);
  }

  LeaderState::Action next() {
    const MonoTime now = clock_.mono();
    LeaderState::Action action =
        state_.next(now, std::chrono::floor<std::chrono::microseconds>(clock_.now()));
    publish(now);
    return action;
  }

  void publish(MonoTime now) {
    lost_at_.store(state_.leading(now) ? state_.lost_at().time_since_epoch().count() : kNever);
  }

  Task<Result<>> perform(LeaderState::Action action) {
    if (const auto* wait = std::get_if<LeaderState::Wait>(&action)) {
      co_return co_await sleep_until(clock_, wait->until);
    }
    if (const auto* read = std::get_if<LeaderState::Read>(&action))
      co_return co_await do_read(read->deadline);
    if (const auto* create = std::get_if<LeaderState::Create>(&action)) {
      std::string body = api::encode(new_lease(config_, create->record));
      Task<Result<std::string>> request =
          client_.create_raw(api::kind<api::Lease>(), config_.lease_namespace, std::move(body));
      co_return co_await do_write(create->deadline, std::move(request));
    }
    if (const auto* update = std::get_if<LeaderState::Update>(&action)) {
      edit(lease_, update->record);
      ObjectKey key{config_.lease_namespace, config_.lease_name};
      Task<Result<std::string>> request =
          client_.update_raw(api::kind<api::Lease>(), std::move(key), json::to_text(lease_));
      co_return co_await do_write(update->deadline, std::move(request));
    }
    co_return Result<>();
  }

  Task<Result<>> do_read(MonoTime deadline) {
    ObjectKey key{config_.lease_namespace, config_.lease_name};
    Task<Result<std::string>> request = client_.get_raw(api::kind<api::Lease>(), std::move(key));
    const Result<std::string> body =
        co_await with_timeout(clock_, deadline - clock_.mono(), std::move(request));
    if (!body) {
      if (body.error().code() == Code::not_found) {
        state_.on_read_missing(clock_.mono());
        co_return Result<>();
      }
      co_return failed(body.error());
    }
    const Result<api::Lease> lease = api::decode<api::Lease>(*body);
    if (!lease) co_return failed(lease.error());
    if (const Result<> kept = keep(*body); !kept) co_return failed(kept.error());
    state_.on_read(record_of(lease->spec), clock_.mono());
    publish(clock_.mono());
    co_return Result<>();
  }

  Task<Result<>> do_write(MonoTime deadline, Task<Result<std::string>> request) {
    const Result<std::string> body =
        co_await with_timeout(clock_, deadline - clock_.mono(), std::move(request));
    if (!body) co_return failed(body.error());
    if (const Result<> kept = keep(*body); !kept) co_return failed(kept.error());
    state_.on_written(clock_.mono());
    publish(clock_.mono());
    co_return Result<>();
  }

  /// The document that the next update edits.
  Result<> keep(const std::string& body) {
    KOORD_TRY(document, json::parse(body));
    lease_ = std::move(document);
    return Result<>();
  }

  Result<> failed(const Error& error) {
    state_.on_error(error, clock_.mono());
    publish(clock_.mono());
    return error;
  }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  Client& client_;
  Clock& clock_;
  const LeaderElectionConfig config_;
  LeaderState state_;
  json::Document lease_;
  std::atomic<std::int64_t> lost_at_{kNever};  // nanoseconds of mono()
};

LeaderElection::LeaderElection(Client& client, Clock& clock, LeaderElectionConfig config)
    : impl_(std::make_unique<Impl>(client, clock, std::move(config))) {}
LeaderElection::~LeaderElection() = default;

Task<Result<>> LeaderElection::acquire() { return impl_->acquire(); }
Task<Result<>> LeaderElection::hold() { return impl_->hold(); }
bool LeaderElection::leading() const { return impl_->leading(); }
const std::string& LeaderElection::holder() const { return impl_->holder(); }

}  // namespace koord::kube
