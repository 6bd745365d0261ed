// The control loop of CPU blame: how much CPU best-effort work may have, by what others waited because of it.
// Driver + state pair: step() is told what a tick saw, the rest is what follows from all that it was told.
//
//   calm ----- target passed ----> tightened <--> holding <--> growing ----> calm
//     ^                                |             ^
//     |              it did not help, or enough      | from here on it does
//   resting <---- nothing is left ---- giving back --+
//
// It tightens by how far the target is passed, between a tenth and a half, at most every other reading; what
// it takes less from is what best-effort work really used. It grows by 2 to 5% of the machine a second, and
// by no more than a tenth of itself, while the p99 is below half of the target, and stops for a while below
// what was too much last; each time that turns out to be too much again the while is twice as long.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "framework/tick/blamed_waits.hpp"
#include "koord/base/clock.hpp"

namespace koord::koordlet::cpu_blame {

// What is too little to judge by.
inline constexpr std::uint64_t kEnoughWaits = 100;  // for a p99; seconds are pooled until there are so many
inline constexpr std::uint64_t kFewWaits = 20;      // for a mean; with fewer nobody waits
inline constexpr nanoseconds kPoolFor = std::chrono::seconds(10);
/// Of the time that was waited for somebody who ran. Below the first nothing is taken from best-effort work,
/// below the second it gets back what was.
inline constexpr double kMuch = 0.10, kLittle = 0.05;
/// Without a fit reading for so many ticks, of a second at least, there is no signal.
inline constexpr int kStaleTicks = 3;

// Steps.
inline constexpr double kLeastCut = 0.9, kMostCut = 0.5;
/// So many times the target are passed at once, less if it is seen twice in a row; of a mean of two samples.
inline constexpr double kPassed = 1.5;
/// Of the machine, a second: at half of the target, and where nobody waits for best-effort work.
inline constexpr double kGrowth = 0.02, kMostGrowth = 0.05;
/// But no more than so much of what it is, or where that is next to nothing, of the machine.
inline constexpr double kOfItself = 0.1, kLeastGrowth = 0.005;
inline constexpr double kReturn = 0.10, kHandOver = 0.10;  // the same
/// So many cuts, to half or less, after which the p99 has to be below so much of what it was before.
inline constexpr int kTries = 4;
inline constexpr double kHelped = 0.75;
/// While it gives back, a p99 of so many times what it was says that from here on less does help.
inline constexpr double kHelps = 1.25;
inline constexpr double kWorse = 2;  // the same, where it did not seem to help at all
inline constexpr int kKept = 5;      // samples in a row within the target end it
/// Below what was too much last, and how long it stays there.
inline constexpr double kBelowTooMuch = 0.9;
inline constexpr nanoseconds kFirstStay = std::chrono::seconds(10), kLastStay = std::chrono::minutes(5);
inline constexpr nanoseconds kFirstRest = std::chrono::minutes(1), kLastRest = std::chrono::minutes(32);

enum class State : std::uint8_t {
  waiting,      // no fit signal: what was held back is handed over step by step
  calm,         // nothing is held back
  tightened,    // lately, and the target is still passed
  holding,      // between half of the target and the target, at the minimum, or below what was too much
  growing,      // well below the target
  giving_back,  // tightening did not help
  resting,      // nothing is held back for a while, whatever is waited
};
inline constexpr int kStates = 7;
std::string_view name_of(State state);  // "giving back"

/// What is asked and what bounds it, in thousandths of a CPU.
struct Terms {
  double target_us = 1000;
  std::int64_t machine_milli = 0;
  std::int64_t least_milli = 0;  // never below, unless `most_milli` is
  std::int64_t most_milli = 0;   // what others leave to best-effort work: never above
};

struct Seen {
  MonoTime at;
  const BlamedWaits* blamed = nullptr;
  double used_milli = 0;                           // by best-effort work; NaN: not known
  nanoseconds interval = std::chrono::seconds(1);  // of ticks
};

/// Some seconds of waiting, enough of it to judge by.
struct Sample {
  double caused_us = 0;  // the p99 of waiting caused by best-effort work
  double part = 0;       // of the waiting for somebody who ran, in [0, 1]
};

/// Why a reading is of no use (static text); empty: it is fit.
std::string_view why_unfit(const BlamedWaits* blamed);

/// Collects readings until they can be judged. The p99 of a pool is the largest of its seconds': each has so
/// few waits that it is the pool's, or an upper bound.
class Pool {
 public:
  void add(const BlamedWaits& blamed);
  /// Nothing yet; too few waits for long are a sample in which nobody waits.
  std::optional<Sample> take();
  void clear() { *this = {}; }

 private:
  std::uint64_t waits_ = 0;
  nanoseconds period_{};
  double p99_us_ = 0;
  double caused_ = 0, ran_ = 0;  // seconds of waiting: because of best-effort work, and for whoever ran
};

class Steering {
 public:
  void step(const Terms& terms, const Seen& seen);
  /// From what was found: an agent before this one held best-effort work back to so much.
  void begin_at(std::int64_t limit_milli) { limit_ = static_cast<double>(limit_milli); }

  /// Nothing: it wants no limit beside the others'.
  std::optional<std::int64_t> limit_milli() const;
  State state() const { return state_; }
  /// There has not been time for a reading yet.
  bool is_starting() const { return starting_; }
  /// Why there is no signal (static text), in State::waiting.
  std::string_view why() const { return why_; }
  const Sample& sample() const { return sample_; }  // the last one
  /// It has no less to give, and the target is passed all the same.
  bool at_minimum() const { return episode_ && is_least(); }
  MonoTime rests_until() const { return rests_until_; }
  std::uint64_t tightened() const { return tightened_; }    // steps so far
  std::uint64_t given_back() const { return given_back_; }  // times that it did not help

 private:
  /// From the target's being passed to its being kept for a while.
  struct Episode {
    double before_us = 0;     // what was waited when it began
    double before_milli = 0;  // what best-effort work used then
    int cuts = 0;
    int samples = 0;      // since the last cut
    double level_us = 0;  // their geometric mean
    int kept = 0;         // samples in a row
  };

  bool is_new(const Seen& seen);
  void hand_over(nanoseconds passed);
  void judge(const Sample& sample, MonoTime at);
  void judge_giving_back(double caused_us);
  void pass(double caused_us, MonoTime at);
  void keep(double caused_us, nanoseconds passed, MonoTime at);
  void note(double caused_us);
  void cut(double factor, MonoTime at);
  void grow(double part, nanoseconds passed);
  double careful_growth() const;
  void begin_give_back(bool helped, MonoTime at);
  double present() const;
  bool is_least() const;

  Terms terms_;
  State state_ = State::waiting;
  bool starting_ = true;
  std::string_view why_ = "no reading yet";
  std::optional<double> limit_;

  std::optional<MonoTime> fit_at_, stepped_, judged_;
  std::uint64_t reading_ = 0;
  int skip_ = 1;  // readings that still tell of what was before
  /// The most since the last sample, and in the time before it; nothing of what was before a cut.
  std::optional<double> used_, used_before_;
  Pool pool_;
  Sample sample_;
  double recent_us_ = 0;       // smoothed: what one second tells may be chance
  double last_passed_us_ = 0;  // that, where the sample before passed the target

  std::optional<Episode> episode_;
  std::optional<double> too_much_;  // what best-effort work had when the target was passed last
  MonoTime stay_until_{};
  nanoseconds stay_ = kFirstStay;
  MonoTime rests_until_{};
  nanoseconds rest_ = kFirstRest;
  double useless_us_ = 0;  // what was waited when less was found not to help, or not enough
  double level_us_ = 0;    // since then, smoothed
  bool helped_ = false;    // some, but not enough
  std::uint64_t tightened_ = 0, given_back_ = 0;
};

}  // namespace koord::koordlet::cpu_blame
