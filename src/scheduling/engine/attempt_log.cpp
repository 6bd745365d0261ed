// AttemptLog: see attempt_log.hpp.
#include "koord/scheduling/engine/attempt_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/text.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling {

KOORD_SCHEMA(RefusalRecord, ROW(plugin), ROW(reasons), ROW(nodes).always(), ROW(examples));
KOORD_SCHEMA(ScoreRecord, ROW(plugin), ROW(score).always(), ROW(weight).always());
KOORD_SCHEMA(AttemptRecord, ROW(first), ROW(last), ROW(times).always(), ROW(attempt).always(), ROW(outcome),
             ROW(node), ROW(message), ROW(nominated), ROW(seconds), ROW(evaluated_nodes), ROW(feasible_nodes),
             ROW(prefilter_message), ROW(postfilter_message), ROW(refused), ROW(scores), ROW(victims));
KOORD_SCHEMA(AttemptsRecord, ROW(pod), ROW(uid), ROW(profile), ROW(attempts).always());

namespace {

std::string_view name_of(Decision::Kind kind) {
  switch (kind) {
    case Decision::Kind::bind: return "bind";
    case Decision::Kind::unschedulable: return "unschedulable";
    case Decision::Kind::error: return "error";
    case Decision::Kind::skip: return "skipped";
    case Decision::Kind::wait: return "waiting";
    case Decision::Kind::gated: return "gated";
    case Decision::Kind::ask: break;
  }
  return "";
}

}  // namespace

bool AttemptLog::Story::empty() const {
  return message.empty() && nominated.empty() && prefilter_message.empty() && postfilter_message.empty() &&
         refused.empty() && victims.empty();
}

AttemptLog::Attempt AttemptLog::describe(const Decision& d) {
  Attempt out;
  out.outcome = d.kind();
  out.node = d.node();
  out.took = d.took;
  out.number = d.attempts;
  out.evaluated_nodes = d.evaluated_nodes;
  out.feasible_nodes = d.feasible_nodes;
  Story story;
  story.message = cut_note(d.message());
  if (const auto* wait = d.as<Decision::Wait>())
    story.message = fmt::format("waits for a permit of {}", wait->plugins);
  if (d.nominate()) story.nominated = d.nominate()->str();
  for (const auto& victim : d.preemption().victims)
    if (story.victims.size() < kList) story.victims.push_back(listed(*victim.pod));
  if (d.detail) {
    story.prefilter_message = cut_note(d.detail->prefilter_message);
    story.postfilter_message = cut_note(d.detail->postfilter_message);
    for (const AttemptDetail::Refusal& r : d.detail->refusals) {
      if (story.refused.size() == kList) break;
      RefusalRecord& record = story.refused.emplace_back();
      record.plugin = r.plugin;
      record.nodes = r.nodes;
      for (const std::string& reason : r.reasons)
        if (record.reasons.size() < kList) record.reasons.push_back(cut_note(reason));
      for (const Symbol& node : r.examples) record.examples.push_back(node.str());
    }
    if (!d.detail->scores.empty()) {
      const std::vector<AttemptDetail::Score>& scores = d.detail->scores.front().scores;
      out.scored = static_cast<std::uint8_t>(std::min<std::size_t>(scores.size(), UINT8_MAX));
      out.scores = std::make_unique<Score[]>(out.scored);
      for (std::size_t i = 0; i < out.scored; ++i)
        out.scores[i] = {Symbol(scores[i].plugin), scores[i].weight,
                         static_cast<std::int32_t>(scores[i].score)};
    }
  }
  if (!story.empty()) out.story = std::make_unique<Story>(std::move(story));
  return out;
}

AttemptRecord AttemptLog::record_of(const Attempt& attempt) {
  AttemptRecord out;
  out.first = api::Time(attempt.first);
  out.last = api::Time(attempt.last);
  out.times = attempt.times;
  out.attempt = attempt.number;
  out.outcome = name_of(attempt.outcome);
  out.node = attempt.node.str();
  out.seconds = std::chrono::duration<double>(attempt.took).count();
  out.evaluated_nodes = attempt.evaluated_nodes;
  out.feasible_nodes = attempt.feasible_nodes;
  for (const Score& s : std::span(attempt.scores.get(), attempt.scored))
    out.scores.push_back({s.plugin.str(), s.score, s.weight});
  if (!attempt.story) return out;
  const Story& story = *attempt.story;
  out.message = story.message;
  out.nominated = story.nominated;
  out.prefilter_message = story.prefilter_message;
  out.postfilter_message = story.postfilter_message;
  out.refused = story.refused;
  out.victims = story.victims;
  return out;
}

void AttemptLog::record(const Decision& d, WallTime now) {
  if (limit_ == 0 || d.as<Decision::Ask>() != nullptr) return;
  const auto [it, added] = pods_.try_emplace(pod_key(*d.pod));
  Entry& entry = it->second;
  if (!added) by_age_.erase(entry.age);
  entry.age = by_age_.insert(by_age_.end(), &it->first);
  if (entry.uid != d.pod->metadata.uid) {
    entry.uid = d.pod->metadata.uid;
    entry.attempts.clear();
  }
  if (entry.profile != d.profile) entry.profile = d.profile;
  auto& attempts = entry.attempts;
  Attempt made = describe(d);
  static const std::string kNone;
  const auto message = [](const Attempt& a) -> const std::string& {
    return a.story ? a.story->message : kNone;
  };
  const bool again = !attempts.empty() && attempts.back().outcome == made.outcome &&
                     message(attempts.back()) == message(made) && attempts.back().node == made.node;
  made.first = again ? attempts.back().first : now;
  made.last = now;
  made.times = again ? attempts.back().times + 1 : 1;
  if (again) {
    // What this one had no time to tell is what was told last.
    const std::unique_ptr<Story>& before = attempts.back().story;
    if (before && !before->refused.empty() && (!made.story || made.story->refused.empty())) {
      if (!made.story) made.story = std::make_unique<Story>();
      made.story->refused = std::move(before->refused);
    }
    attempts.back() = std::move(made);
  } else {
    if (attempts.size() == kPerPod) attempts.erase(attempts.begin());
    attempts.push_back(std::move(made));
  }
  if (pods_.size() <= limit_) return;
  const std::string& oldest = *by_age_.front();
  by_age_.pop_front();
  pods_.erase(pods_.find(oldest));
}

std::optional<AttemptsRecord> AttemptLog::of(std::string_view ns, std::string_view name) const {
  const auto it = pods_.find(ns.empty() ? std::string(name) : fmt::format("{}/{}", ns, name));
  if (it == pods_.end()) return std::nullopt;
  AttemptsRecord out{
      .pod = it->first, .uid = it->second.uid, .profile = it->second.profile.str(), .attempts = {}};
  for (const Attempt& attempt : it->second.attempts) out.attempts.push_back(record_of(attempt));
  return out;
}

}  // namespace koord::scheduling
