// Readings pooled, and the steps between tightening and giving back.
#include "plugins/cpu_blame/formula.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace koord::koordlet::cpu_blame {
namespace {

constexpr double kNonsenseUs = 3.6e9;  // nobody waits for an hour
constexpr nanoseconds kShortest = std::chrono::milliseconds(100), kLongest = std::chrono::seconds(60);
/// A step that comes late does not count for more.
constexpr nanoseconds kLongestStep = std::chrono::seconds(2);
/// Samples since the last cut until it is said that it did not help; or that the minimum is not enough.
constexpr int kSurely = 2, kPatience = 10;
/// Of a sample while it gives back, and how far it has come by the time that the mean shows it.
constexpr double kSmoothing = 0.2, kBehind = 0.6;
/// One decision lets it grow for so long at most: by a tenth of the machine.
constexpr nanoseconds kLongestGrowth = std::chrono::seconds(2);
/// Of the target: less is the same in a mean of logarithms.
constexpr double kNothing = 1.0 / 16;

double seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }
bool is_amount(double value) { return std::isfinite(value) && value >= 0; }
/// In the logarithm: buckets are.
double smoothed(double before, double now) { return before > 0 ? std::sqrt(before * now) : now; }

}  // namespace

std::string_view name_of(State state) {
  switch (state) {
    case State::waiting: return "waiting";
    case State::calm: return "calm";
    case State::tightened: return "tightened";
    case State::holding: return "holding";
    case State::growing: return "growing";
    case State::giving_back: return "giving back";
    case State::resting: return "resting";
  }
  return "";
}

std::string_view why_unfit(const BlamedWaits* blamed) {
  if (blamed == nullptr) return "the kernel does not tell who runs while others wait";
  if (!blamed->fit) return blamed->why_unfit.empty() ? "the reading is incomplete" : blamed->why_unfit;
  if (blamed->period < kShortest || blamed->period > kLongest) return "the reading's period is out of range";
  if (!is_amount(blamed->best_effort_p99_us)) return "the reading's p99 is out of range";
  if (!is_amount(blamed->caused_seconds) || !is_amount(blamed->own_quota_seconds))
    return "the reading's times are out of range";
  for (const double waited : blamed->seconds)
    if (!is_amount(waited)) return "the reading's times are out of range";
  return {};
}

void Pool::add(const BlamedWaits& blamed) {
  // Times are summed up to what is sane, so that a sum stays a number.
  const auto sane = [](double waited) { return std::min(waited, kNonsenseUs); };
  waits_ += std::min(blamed.waits, std::uint64_t{1} << 40);
  period_ += blamed.period;
  p99_us_ = std::max(p99_us_, std::min(blamed.best_effort_p99_us, kNonsenseUs));
  caused_ += sane(blamed.caused_seconds);
  double ran = -sane(blamed.own_quota_seconds);
  for (std::size_t i = 0; i < kRunners; ++i)
    if (i != static_cast<std::size_t>(Runner::nobody)) ran += sane(blamed.seconds[i]);
  ran_ += std::max(ran, 0.0);
}

std::optional<Sample> Pool::take() {
  const bool enough = waits_ >= kEnoughWaits;
  if (!enough && period_ < kPoolFor) return std::nullopt;
  Sample sample;
  if (enough)
    sample.caused_us = p99_us_;
  else if (waits_ >= kFewWaits)
    sample.caused_us = caused_ * 1e6 / static_cast<double>(waits_);
  sample.part = ran_ > 0 ? std::min(caused_ / ran_, 1.0) : 0;
  clear();
  return sample;
}

std::optional<std::int64_t> Steering::limit_milli() const {
  if (!limit_ || *limit_ >= static_cast<double>(terms_.machine_milli)) return std::nullopt;
  const std::int64_t limit = std::max(static_cast<std::int64_t>(*limit_), terms_.least_milli);
  if (limit >= terms_.most_milli) return std::nullopt;
  return limit;
}

void Steering::step(const Terms& terms, const Seen& seen) {
  terms_ = terms;
  const nanoseconds passed =
      stepped_ ? std::clamp(seen.at - *stepped_, nanoseconds{0}, kLongestStep) : nanoseconds{0};
  if (!stepped_) fit_at_ = seen.at;  // it has had a chance
  stepped_ = seen.at;
  if (is_amount(seen.used_milli)) used_ = std::max(used_.value_or(0), seen.used_milli);

  const nanoseconds patience = kStaleTicks * std::max<nanoseconds>(seen.interval, std::chrono::seconds(1));
  if (is_new(seen)) {
    fit_at_ = seen.at;
    starting_ = false;
    if (state_ == State::waiting) {
      state_ = limit_ ? State::holding : seen.at < rests_until_ ? State::resting : State::calm;
      judged_ = seen.at;
    }
    if (skip_ > 0) {
      --skip_;
    } else {
      pool_.add(*seen.blamed);
      if (const auto sample = pool_.take()) {
        judge(*sample, seen.at);
        used_before_ = std::exchange(used_, std::nullopt);
      }
    }
  } else if (seen.at - *fit_at_ >= patience) {
    starting_ = false;
    hand_over(passed);
  }
  if (state_ == State::giving_back) {
    grow(helped_ ? std::min(kReturn, careful_growth()) : kReturn, passed);
    if (!limit_) state_ = State::resting;
  }
}

bool Steering::is_new(const Seen& seen) {
  const std::string_view why = cpu_blame::why_unfit(seen.blamed);
  if (!why.empty()) {
    why_ = why;
    return false;
  }
  const std::uint64_t before = std::exchange(reading_, seen.blamed->reading);
  why_ = "there is no new reading";
  return reading_ > before;
}

void Steering::hand_over(nanoseconds passed) {
  state_ = State::waiting;
  pool_.clear();
  episode_.reset();
  last_passed_us_ = 0;
  skip_ = 1;
  grow(kHandOver, passed);
}

void Steering::judge(const Sample& sample, MonoTime at) {
  sample_ = sample;
  const nanoseconds passed =
      judged_ ? std::clamp(at - *judged_, nanoseconds{0}, kLongestGrowth) : nanoseconds{0};
  judged_ = at;
  double caused = sample.caused_us;
  if (sample.part < kMuch) caused = std::min(caused, sample.part < kLittle ? 0 : terms_.target_us);
  if (state_ == State::giving_back) {
    judge_giving_back(caused);
    return;
  }
  if (state_ == State::resting) {
    if (at < rests_until_) return;
    state_ = State::calm;
  }
  if (episode_) note(caused);
  recent_us_ = smoothed(recent_us_, std::max(caused, kNothing * terms_.target_us));
  caused = recent_us_;
  if (caused > terms_.target_us)
    pass(caused, at);
  else
    keep(caused, passed, at);
}

void Steering::judge_giving_back(double caused) {
  level_us_ = std::pow(level_us_, 1 - kSmoothing) * std::pow(std::max(caused, 1.0), kSmoothing);
  if (caused <= terms_.target_us || level_us_ < (helped_ ? kHelps : kWorse) * useless_us_) return;
  // So far it did not help. The mean is some samples behind.
  useless_us_ = level_us_;
  limit_ = std::max(*limit_ * kBehind, static_cast<double>(terms_.least_milli));
  ++tightened_;
  state_ = State::holding;
}

double Steering::present() const {
  auto most = static_cast<double>(std::min(terms_.machine_milli, terms_.most_milli));
  if (limit_) most = std::min(most, *limit_);
  return used_ || used_before_ ? std::min(most, std::max(used_.value_or(0), used_before_.value_or(0))) : most;
}

bool Steering::is_least() const { return limit_ && *limit_ < static_cast<double>(terms_.least_milli) + 1; }

void Steering::pass(double caused, MonoTime at) {
  const double factor = std::clamp(terms_.target_us / caused, kMostCut, kLeastCut);
  const double before = std::exchange(last_passed_us_, caused);
  if (!episode_) {
    // Once may be chance, of what has no more than the least nothing can be taken, and less than this did
    // not help before.
    const bool futile = limit_ && at < rests_until_ && std::min(caused, before) < kPassed * useless_us_;
    if ((caused < kPassed * terms_.target_us && before == 0) || futile ||
        present() <= static_cast<double>(terms_.least_milli)) {
      state_ = limit_ ? State::holding : State::calm;
      return;
    }
    episode_ = Episode{.before_us = smoothed(before, caused), .before_milli = present()};
    // Too much again, after its time was up.
    if (too_much_ && at >= stay_until_ && present() >= kBelowTooMuch * *too_much_)
      stay_ = std::min(stay_ * 2, kLastStay);
    cut(factor, at);
    return;
  }
  Episode& episode = *episode_;
  episode.kept = 0;
  const bool tried = episode.cuts >= kTries && *limit_ <= episode.before_milli * kMostCut;
  const bool helped = episode.level_us <= kHelped * episode.before_us;
  if ((tried && !helped && episode.samples >= kSurely) || (is_least() && episode.samples >= kPatience)) {
    begin_give_back(helped || !tried, at);
  } else if (tried && !helped) {
    state_ = State::tightened;
  } else if (is_least() || (caused < kPassed * terms_.target_us && before == 0)) {
    state_ = State::holding;
  } else {
    cut(factor, at);
  }
}

void Steering::note(double caused) {
  const double us = std::max(caused, kNothing * terms_.target_us);
  const double part = 1.0 / ++episode_->samples;
  episode_->level_us = part < 1 ? std::pow(episode_->level_us, 1 - part) * std::pow(us, part) : us;
}

void Steering::cut(double factor, MonoTime at) {
  too_much_ = present();
  limit_ = std::max(*too_much_ * factor, static_cast<double>(terms_.least_milli));
  stay_until_ = at + stay_;
  ++episode_->cuts;
  episode_->samples = 0;
  ++tightened_;
  state_ = State::tightened;
  last_passed_us_ = 0;
  recent_us_ = terms_.target_us;  // neither
  used_.reset();
  pool_.clear();
  skip_ = 1;
}

void Steering::keep(double caused, nanoseconds passed, MonoTime at) {
  last_passed_us_ = 0;
  if (episode_ && ++episode_->kept >= kKept) {
    rest_ = kFirstRest;
    episode_.reset();
  }
  if (!limit_) {
    state_ = State::calm;
    return;
  }
  state_ = State::holding;
  if (caused >= terms_.target_us / 2) return;
  if (too_much_ && at < stay_until_ && *limit_ >= kBelowTooMuch * *too_much_) return;
  state_ = State::growing;
  const double fast = kMostGrowth - (kMostGrowth - kGrowth) * caused / (terms_.target_us / 2);
  grow(std::min(fast, careful_growth()), passed);
  if (too_much_ && at < stay_until_ && limit_) limit_ = std::min(*limit_, kBelowTooMuch * *too_much_);
  if (limit_ && too_much_ && *limit_ < *too_much_ / kBelowTooMuch) return;
  too_much_.reset();
  stay_ = kFirstStay;
  if (!limit_) state_ = State::calm;
}

double Steering::careful_growth() const {
  const auto machine = static_cast<double>(std::max<std::int64_t>(terms_.machine_milli, 1));
  return std::max(kOfItself * limit_.value_or(0) / machine, kLeastGrowth);
}

void Steering::grow(double part, nanoseconds passed) {
  if (!limit_) return;
  const auto machine = static_cast<double>(terms_.machine_milli);
  *limit_ = std::max(*limit_, static_cast<double>(terms_.least_milli)) + part * machine * seconds(passed);
  if (*limit_ < machine) return;
  limit_.reset();
  episode_.reset();
}

void Steering::begin_give_back(bool helped, MonoTime at) {
  helped_ = helped;
  state_ = State::giving_back;
  // What did not help at all has to become worse than it ever was.
  useless_us_ = level_us_ = helped ? episode_->level_us : std::max(episode_->level_us, episode_->before_us);
  rests_until_ = at + rest_;
  rest_ = std::min(rest_ * 2, kLastRest);
  ++given_back_;
  episode_.reset();
  too_much_.reset();
  last_passed_us_ = 0;
}

}  // namespace koord::koordlet::cpu_blame
