// Trial: see trial.hpp.
#include "scheduling/classes/trial.hpp"

namespace koord::scheduling {

Trial::Trial(ClassState& state, Row row) : state_(state), view_(state.shared_.nodes, row) {
  if (!state_.differs_) return;
  state_.apply_deltas(view_);
  for (const PodInfo* other : view_.added()) told_.emplace_back(other, true);
  for (const PodInfo* other : view_.removed()) told_.emplace_back(other, false);
  for (const auto& [other, added] : told_) tell(*other, added);
}

Trial::~Trial() {
  for (auto it = told_.rbegin(); it != told_.rend(); ++it) tell(*it->first, !it->second);
}

void Trial::add(const PodInfo& other) {
  ++added_;
  view_.add(other);
  tell(other, true);
  told_.emplace_back(&other, true);
}

void Trial::remove(const PodInfo& other) {
  view_.remove(other);
  tell(other, false);
  told_.emplace_back(&other, false);
}

void Trial::tell(const PodInfo& other, bool added) {
  for (const ClassState::Filter& f : state_.filters_) {
    if (!f.asked || f.cross_node == nullptr) continue;
    if (added) {
      f.cross_node->add_pod(*f.state, *state_.pod_, other, view_.row());
    } else {
      f.cross_node->remove_pod(*f.state, *state_.pod_, other, view_.row());
    }
  }
}

VerdictId Trial::verdict() const {
  const Row row = view_.row();
  if (!state_.local_.may_go(row)) return state_.local_.verdict(row);
  std::size_t from = 0;
  for (const ClassState::Filter& f : state_.filters_) {
    if (!f.asked) continue;
    VerdictId verdict = state_.local_.judge(view_, from, f.position);
    if (verdict == kPass && f.per_pod != nullptr) {
      verdict = f.per_pod->filter_pod_view(*f.state, state_.shared_.nodes, view_);
    } else if (verdict == kPass) {
      state_.filter(f, {&row, 1}, {&verdict, 1});
    }
    if (verdict != kPass) return verdict;
    from = f.position;
  }
  return state_.local_.judge(view_, from, state_.profile_.filters.size());
}

}  // namespace koord::scheduling
