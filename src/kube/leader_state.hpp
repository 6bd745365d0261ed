// LeaderState: decides what a candidate for a Lease reads and writes, and when it has lost. No I/O.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <variant>

#include "koord/base/clock.hpp"
#include "koord/base/error.hpp"
#include "koord/kube/leader_election.hpp"

namespace koord::kube {

/// What candidates agree on, as a Lease's spec has it.
struct LeaseRecord {
  std::string holder;
  int duration_seconds = 0;
  int transitions = 0;
  WallTime acquired{}, renewed{};
  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

/// Nobody's wall clock is compared with another's: a lease has run out when it has not changed for its
/// duration of our own monotonic time. The driver asks next(), does it, tells the outcome.
class LeaderState {
 public:
  struct Read {
    MonoTime deadline;  // for the answer
  };
  struct Create {
    LeaseRecord record;
    MonoTime deadline;
  };
  struct Update {  // of the Lease that was read or written last, guarded by its resourceVersion
    LeaseRecord record;
    MonoTime deadline;
  };
  struct Wait {
    MonoTime until;
  };
  struct Lost {};      // told once; afterwards a candidate again
  struct Finished {};  // after stop(): nothing more to do
  using Action = std::variant<Read, Create, Update, Wait, Lost, Finished>;

  explicit LeaderState(LeaderElectionConfig config);

  Action next(MonoTime now, WallTime wall);

  void on_read(const LeaseRecord& record, MonoTime now);
  void on_read_missing(MonoTime now);
  /// The Create or Update that next() returned at `sent` has succeeded.
  void on_written(MonoTime now);
  void on_error(const Error& error, MonoTime now);
  /// The renewal that next() returned was not sent, on purpose: asked for again after the retry period.
  void on_held_back(MonoTime now) { not_before_ = now + config_.retry_period; }
  /// Ends: gives the lease back if it is held (and the configuration says so).
  void stop();

  bool leading(MonoTime now) const { return leader_ && now < lost_at_; }
  /// When leading() becomes false if nothing is written before.
  MonoTime lost_at() const { return lost_at_; }
  const std::string& holder() const { return seen_ ? seen_->holder : no_holder_; }

 private:
  LeaseRecord claim(WallTime wall) const;
  MonoTime answer_by(MonoTime now) const;
  Action release(MonoTime now, WallTime wall);
  Action write(LeaseRecord record, bool create, MonoTime now);
  void retry_later(MonoTime now);

  enum class Need { read, create, update };

  LeaderElectionConfig config_;
  std::mt19937_64 random_;
  std::optional<LeaseRecord> seen_;  // as last read or written
  MonoTime seen_at_{};               // when it last changed, by our clock
  std::string no_holder_;
  Need need_ = Need::read;
  MonoTime not_before_{};
  bool leader_ = false;
  bool stopping_ = false;
  int release_tries_ = 0;
  MonoTime lost_at_{};
  LeaseRecord sent_;  // the write in flight
  MonoTime sent_at_{};
};

}  // namespace koord::kube
