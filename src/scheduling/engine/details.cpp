// Details: see details.hpp.
#include "koord/scheduling/engine/details.hpp"

#include <algorithm>
#include <utility>

namespace koord::scheduling {

/// Counts what it took against what may be taken.
class Details::Timed {
 public:
  explicit Timed(Details& details) : details_(details), began_(details.clock_.mono()) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() { details_.left_ -= details_.clock_.mono() - began_; }

 private:
  Details& details_;
  MonoTime began_;
};

bool Details::may(MonoTime now) {
  left_ = std::min(kMost, left_ + (now - std::exchange(at_, now)) / kShare);
  return left_ > nanoseconds::zero();
}

AttemptDetail::NodeScores Details::scores(const Profile& profile, ClassState& state, Row row) const {
  const Explanation e = state.explain(row);
  AttemptDetail::NodeScores out{.node = nodes_.name(row), .total = e.total, .scores = {}};
  out.scores.reserve(e.scores.size());
  for (const ScoreDetail& s : e.scores)
    out.scores.push_back({profile.plugin_name(s.plugin), s.weight, s.normalized});
  return out;
}

std::shared_ptr<AttemptDetail> Details::chosen(const Profile& profile, ClassState& state, Row row,
                                               MonoTime now) {
  if (best_ == 0 && !may(now)) return nullptr;
  const Timed timed(*this);
  auto detail = std::make_shared<AttemptDetail>();
  detail->scores.push_back(scores(profile, state, row));
  if (best_ == 0) return detail;
  std::vector<std::pair<std::int32_t, Row>> best;
  for (Row other = 0; other < nodes_.rows(); ++other)
    if (other != row && nodes_.node(other) && state.verdict(other) == kPass)
      best.emplace_back(-state.score(other), other);
  std::sort(best.begin(), best.end());
  if (best.size() >= best_) best.resize(best_ - 1);
  for (const auto& [score, other] : best) detail->scores.push_back(scores(profile, state, other));
  return detail;
}

std::shared_ptr<AttemptDetail> Details::refused(const Diagnosis& diagnosis, MonoTime now) {
  if (!all_refusals_ && !may(now)) return nullptr;
  const Timed timed(*this);
  auto detail = std::make_shared<AttemptDetail>();
  detail->prefilter_message = diagnosis.prefilter_message;
  return detail;
}

std::shared_ptr<AttemptDetail> Details::refused(const Profile& profile, const ClassState& state,
                                                const Diagnosis& diagnosis, MonoTime now) {
  if (!all_refusals_ && !may(now)) return nullptr;
  const Timed timed(*this);
  auto detail = std::make_shared<AttemptDetail>();
  detail->prefilter_message = diagnosis.prefilter_message;
  for (const ClassState::Refused& r : state.refused(kExamples)) {
    const Verdict& verdict = verdicts_[r.verdict];
    AttemptDetail::Refusal& out = detail->refusals.emplace_back();
    if (verdict.plugin != kNoPlugin) out.plugin = profile.plugin_name(verdict.plugin);
    out.reasons = verdict.reasons;
    out.nodes = r.rows;
    out.victims_may_help = !verdict.unresolvable && !verdict.error;
    for (const Row row : r.examples) out.examples.push_back(nodes_.name(row));
  }
  std::stable_sort(detail->refusals.begin(), detail->refusals.end(),
                   [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
  return detail;
}

}  // namespace koord::scheduling
