// Engine: the extenders' part of an attempt: a pod is set aside until they have answered, the others go on.
#include <algorithm>
#include <tuple>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/engine/engine.hpp"

namespace koord::scheduling {

namespace {

/// Pods whose question is on its way. Those beyond wait without one: a question has the size of the cluster.
constexpr std::size_t kMostAsked = 64;
/// An attempt asks about nodes so often if those that were let pass will not do any more by then, and others
/// would.
constexpr std::uint32_t kMostQuestions = 3;

/// Of one attempt, about other nodes or about victims.
std::shared_ptr<const ExtenderAnswer> both(const ExtenderAnswer& earlier, const ExtenderAnswer& later) {
  auto all = std::make_shared<ExtenderAnswer>(earlier);
  if (later.victims) {
    all->victims = later.victims;
    all->victims_error = later.victims_error;
    return all;
  }
  all->error = later.error;
  for (const auto& [node, score] : later.passed) all->passed.insert_or_assign(node, score);
  all->refused.insert(later.refused.begin(), later.refused.end());
  all->resolvable.insert(later.resolvable.begin(), later.resolvable.end());
  for (const auto& [reason, nodes] : later.reasons) all->reasons[reason] += nodes;
  return all;
}

}  // namespace

/// The choice among the nodes that they let pass, by their scores, too. What happened since they were asked
/// is known: who is refused by now is refused, and new nodes are not taken unasked.
Row Engine::choose_with_extenders(QueuedPod& pod, Decision& d, ClassState& state) {
  const ExtenderAnswer* answer = pod.answer.get();
  if (answer != nullptr && !answer->error.empty()) {
    d.outcome = Decision::Failed{answer->error, Symbol()};
    requeue(pod, Symbol());
    return kNoRow;
  }
  const auto percentage = static_cast<std::uint64_t>(pod.profile->percentage_of_nodes.value_or(100));
  const std::size_t wanted = std::max<std::size_t>(nodes_.nodes() * percentage / 100, kMinFeasible);
  std::vector<Row> rows;
  std::vector<std::int64_t> more;
  auto question = std::make_shared<ExtenderQuestion>();
  const Row all = nodes_.rows(), from = percentage < 100 ? start_ % all : 0;
  const auto look_at = [&](Row row) {
    if (!nodes_.node(row) || state.verdict(row) != kPass) return;
    if (answer != nullptr && answer->refused.contains(nodes_.name(row))) return;
    const auto passed =
        answer != nullptr ? answer->passed.find(nodes_.name(row)) : decltype(answer->passed.end()){};
    if (answer == nullptr || passed == answer->passed.end()) {
      question->nodes.push_back(nodes_.node(row));
    } else {
      rows.push_back(row);
      more.push_back(passed->second);
    }
  };
  // They are asked about those that the pod would go to before all others, however few are asked about.
  std::vector<Row> firsts;
  for (const Row row : first_rows(pod))
    if (std::find(firsts.begin(), firsts.end(), row) == firsts.end()) firsts.push_back(row);
  for (const Row row : firsts) look_at(row);
  Row n = 0;
  for (; n < all && (answer != nullptr || question->nodes.size() < wanted); ++n) {
    const Row row = (from + n) % all;
    if (std::find(firsts.begin(), firsts.end(), row) == firsts.end()) look_at(row);
  }
  if (rows.empty()) {
    if (question->nodes.empty() || pod.questions >= kMostQuestions) return kNoRow;
    if (percentage < 100) start_ = (from + n) % all;
    if (question->nodes.size() > wanted) question->nodes.resize(wanted);
    ask(pod, d, std::move(question));
    return kNoRow;
  }
  d.feasible_nodes = static_cast<std::uint32_t>(rows.size());
  if (std::find(firsts.begin(), firsts.end(), rows.front()) != firsts.end()) return rows.front();
  if (from != 0) {
    // Plugins are asked about rows that ascend.
    std::vector<std::pair<Row, std::int64_t>> both;
    for (std::size_t i = 0; i < rows.size(); ++i) both.emplace_back(rows[i], more[i]);
    std::sort(both.begin(), both.end());
    for (std::size_t i = 0; i < rows.size(); ++i) std::tie(rows[i], more[i]) = both[i];
  }
  return state.pick_from(rows, more, random_);
}

bool Engine::talks(const QueuedPod& pod) const { return options_.extenders.in_victims(*pod.info.pod); }

/// What they have refused belongs to why no node will do.
void Engine::blame_extenders(QueuedPod& pod, Diagnosis& diagnosis, ClassState& state) {
  hopeless_.clear();
  const ExtenderAnswer* answer = pod.answer.get();
  if (answer == nullptr || state.feasible() == 0) return;
  for (const auto& [reason, nodes] : answer->reasons) diagnosis.reasons[reason] += nodes;
  diagnosis.rejectors |= mask_of(pod.profile->extenders);
  for (Row row = 0; row < nodes_.rows(); ++row)
    if (nodes_.node(row) && state.verdict(row) == kPass && !answer->resolvable.contains(nodes_.name(row)))
      hopeless_.push_back(row);
}

/// Sets the pod aside; it holds nothing meanwhile.
void Engine::ask(QueuedPod& pod, Decision& d, std::shared_ptr<const ExtenderQuestion> question) {
  d.outcome = Decision::Ask{};
  pod.place = Place::asking;
  if (asked_ >= kMostAsked && pod.questions == 0) return unasked_.push_back(&pod);
  if (pod.questions++ == 0) pod.asked_after = events_;
  ++asked_;
  d.outcome = Decision::Ask{std::move(question)};
}

void Engine::answered(const api::Pod& object, std::shared_ptr<const ExtenderAnswer> answer) {
  --asked_;
  QueuedPod* pod = find(object);
  if (pod == nullptr || pod->place != Place::asking || pod->questions == 0) return;
  pod->answer = pod->answer ? both(*pod->answer, *answer) : std::move(answer);
  if (std::find(answered_.begin(), answered_.end(), pod) == answered_.end()) answered_.push_back(pod);
}

/// The next one whose answer is there, or that may ask now; nullptr: none.
QueuedPod* Engine::resume() {
  std::deque<QueuedPod*>& from = answered_.empty() ? unasked_ : answered_;
  if (from.empty() || (answered_.empty() && asked_ >= kMostAsked)) return nullptr;
  QueuedPod* pod = from.front();
  from.pop_front();
  pod->place = Place::nowhere;
  return pod;
}

/// Somebody else decided, or it has gone.
void Engine::stop_asking(QueuedPod& pod) {
  if (pod.place != Place::asking) return;
  std::erase(answered_, &pod);
  std::erase(unasked_, &pod);
  pod.answer.reset();
  pod.questions = 0;
  pod.place = Place::nowhere;
}

}  // namespace koord::scheduling
