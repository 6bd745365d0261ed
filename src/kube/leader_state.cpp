#include "leader_state.hpp"

#include <algorithm>

namespace koord::kube {

namespace {
// client-go's: candidates wait between one and 2.2 retry periods, so that they do not race in step.
constexpr double kCandidateJitter = 1.2;
constexpr int kReleaseTries = 2;
}  // namespace

LeaderState::LeaderState(LeaderElectionConfig config) : config_(std::move(config)), random_(config_.seed) {}

LeaderState::Action LeaderState::next(MonoTime now, WallTime wall) {
  if (leader_ && now >= lost_at_) {
    leader_ = false;
    need_ = Need::read;
    not_before_ = now;
    if (!stopping_) return Lost{};
  }
  if (stopping_) return release(now, wall);
  if (now < not_before_) return Wait{leader_ ? std::min(not_before_, lost_at_) : not_before_};
  switch (need_) {
    case Need::read: return Read{answer_by(now)};
    case Need::create: return write(claim(wall), true, now);
    case Need::update: return write(claim(wall), false, now);
  }
  return Finished{};
}

LeaderState::Action LeaderState::release(MonoTime now, WallTime wall) {
  if (!leader_ || !config_.release_on_stop || release_tries_ >= kReleaseTries) {
    leader_ = false;
    return Finished{};
  }
  // After a write of unknown fate the Lease's version is unknown too.
  if (need_ == Need::read) return Read{answer_by(now)};
  ++release_tries_;
  LeaseRecord record = *seen_;
  record.holder.clear();
  record.duration_seconds = 1;
  record.acquired = record.renewed = wall;
  return write(std::move(record), false, now);
}

LeaderState::Action LeaderState::write(LeaseRecord record, bool create, MonoTime now) {
  sent_ = std::move(record);
  sent_at_ = now;
  if (create) return Create{sent_, answer_by(now)};
  return Update{sent_, answer_by(now)};
}

LeaseRecord LeaderState::claim(WallTime wall) const {
  LeaseRecord record;
  record.holder = config_.identity;
  record.duration_seconds =
      static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(config_.lease_duration).count());
  record.acquired = record.renewed = wall;
  if (!seen_) return record;
  record.transitions = seen_->transitions;
  if (seen_->holder == config_.identity)
    record.acquired = seen_->acquired;
  else
    ++record.transitions;
  return record;
}

MonoTime LeaderState::answer_by(MonoTime now) const {
  const MonoTime by = now + config_.renew_deadline / 2;
  return leader_ ? std::min(by, lost_at_) : by;
}

void LeaderState::on_read(const LeaseRecord& record, MonoTime now) {
  if (!seen_ || *seen_ != record) {
    seen_ = record;
    seen_at_ = now;
  }
  if (record.holder == config_.identity) {  // ours, also when the answer to the claim got lost
    need_ = Need::update;
    return;
  }
  if (leader_) {  // somebody took it: whatever the reason, it is not ours
    lost_at_ = now;
    return;
  }
  const bool held = !record.holder.empty();
  const bool alive = now < seen_at_ + std::chrono::seconds(record.duration_seconds);
  if (held && alive)
    retry_later(now);
  else
    need_ = Need::update;
}

void LeaderState::on_read_missing(MonoTime) {
  seen_.reset();
  need_ = Need::create;
}

void LeaderState::on_written(MonoTime now) {
  seen_ = sent_;
  seen_at_ = now;
  if (stopping_) {
    leader_ = false;
    return;
  }
  leader_ = true;
  // From when it was sent: the server may have stored it at once and answered late.
  lost_at_ = sent_at_ + config_.renew_deadline;
  need_ = Need::update;
  not_before_ = sent_at_ + config_.retry_period;
}

void LeaderState::on_error(const Error& error, MonoTime now) {
  if (stopping_) {
    // Whoever wants the lease can also wait, so only what a second try can mend is tried again.
    if (error.code() == Code::conflict && need_ != Need::read)
      need_ = Need::read;
    else
      leader_ = false;
    return;
  }
  const bool stale = error.code() == Code::conflict || error.code() == Code::not_found ||
                     error.code() == Code::already_exists;
  // A write whose fate is unknown may have changed the Lease, so it is read before the next one.
  const bool wrote = need_ != Need::read;
  need_ = Need::read;
  if (leader_ && wrote && stale) {
    not_before_ = now;  // see at once who has it
    return;
  }
  retry_later(now);
}

void LeaderState::retry_later(MonoTime now) {
  need_ = Need::read;
  nanoseconds wait = config_.retry_period;
  if (!leader_) {
    const double spread = std::uniform_real_distribution<double>(1, 1 + kCandidateJitter)(random_);
    wait = nanoseconds(static_cast<std::int64_t>(static_cast<double>(wait.count()) * spread));
  }
  not_before_ = now + wait;
}

void LeaderState::stop() { stopping_ = true; }

}  // namespace koord::kube
