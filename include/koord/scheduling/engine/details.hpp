// Details: what is told of attempts besides their outcome, for a bounded part of the engine's time.
#pragma once

#include <cstdint>
#include <memory>

#include "koord/base/clock.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/engine/attempt_detail.hpp"

namespace koord::scheduling {

/// The engine's thread. A hundredth of the time may go into it: with more attempts than that is enough for,
/// some are told without details. Changes nothing that is decided.
class Details {
 public:
  Details(const Clock& clock, const NodeTable& nodes, const VerdictTable& verdicts)
      : clock_(clock), nodes_(nodes), verdicts_(verdicts) {}

  /// Of the pod whose cycle the state is in; nullptr: there is no time for it now. `now` is about now.
  std::shared_ptr<AttemptDetail> chosen(const Profile& profile, ClassState& state, Row row, MonoTime now);
  std::shared_ptr<AttemptDetail> refused(const Profile& profile, const ClassState& state,
                                         const Diagnosis& diagnosis, MonoTime now);
  /// The same where no node was looked at.
  std::shared_ptr<AttemptDetail> refused(const Diagnosis& diagnosis, MonoTime now);
  /// From now on the scores of so many of the best nodes are told, of each attempt, whatever it takes; 0: of
  /// the chosen one while there is time.
  void tell_scores(std::uint32_t nodes) { best_ = nodes; }
  /// From now on each attempt is told with its refusals, whatever it takes.
  void tell_refusals(bool all) { all_refusals_ = all; }

  /// Nodes that are named for each refusal.
  static constexpr std::size_t kExamples = 3;

 private:
  class Timed;
  bool may(MonoTime now);
  AttemptDetail::NodeScores scores(const Profile& profile, ClassState& state, Row row) const;

  const Clock& clock_;
  const NodeTable& nodes_;
  const VerdictTable& verdicts_;
  std::uint32_t best_ = 0;
  bool all_refusals_ = false;
  nanoseconds left_ = kMost;
  MonoTime at_{};

  static constexpr std::int64_t kShare = 100;
  static constexpr nanoseconds kMost = std::chrono::milliseconds(10);
};

}  // namespace koord::scheduling
