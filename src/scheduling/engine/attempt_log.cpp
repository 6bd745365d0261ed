// AttemptLog: see attempt_log.hpp.
#include "koord/scheduling/engine/attempt_log.hpp"

#include <fmt/format.h>

#include <algorithm>

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

std::string_view outcome(Decision::Kind kind) {
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

void describe(AttemptRecord& out, const Decision& d) {
  out.outcome = outcome(d.kind());
  out.node = d.node().str();
  out.message = cut_note(d.message());
  if (const auto* wait = d.as<Decision::Wait>())
    out.message = fmt::format("waits for a permit of {}", wait->plugins);
  if (d.nominate()) out.nominated = d.nominate()->str();
  for (const auto& victim : d.preemption().victims)
    if (out.victims.size() < AttemptLog::kList) out.victims.push_back(listed(*victim.pod));
  if (!d.detail) return;
  out.prefilter_message = cut_note(d.detail->prefilter_message);
  out.postfilter_message = cut_note(d.detail->postfilter_message);
  for (const AttemptDetail::Refusal& r : d.detail->refusals) {
    if (out.refused.size() == AttemptLog::kList) break;
    RefusalRecord& record = out.refused.emplace_back();
    record.plugin = r.plugin;
    record.nodes = r.nodes;
    for (const std::string& reason : r.reasons)
      if (record.reasons.size() < AttemptLog::kList) record.reasons.push_back(cut_note(reason));
    for (const Symbol& node : r.examples) record.examples.push_back(node.str());
  }
  if (d.detail->scores.empty()) return;
  for (const AttemptDetail::Score& s : d.detail->scores.front().scores)
    out.scores.push_back({std::string(s.plugin), s.score, s.weight});
}

}  // namespace

void AttemptLog::record(const Decision& d, WallTime now) {
  if (limit_ == 0 || d.as<Decision::Ask>() != nullptr) return;
  const auto [it, added] = pods_.try_emplace(pod_key(*d.pod));
  Entry& entry = it->second;
  if (!added) by_age_.erase(entry.age);
  entry.age = by_age_.insert(by_age_.end(), &it->first);
  AttemptsRecord& pod = entry.record;
  if (pod.uid != d.pod->metadata.uid) {
    pod = {};
    pod.pod = it->first;
    pod.uid = d.pod->metadata.uid;
  }
  pod.profile = d.profile;
  auto& attempts = pod.attempts;
  AttemptRecord made;
  describe(made, d);
  const bool again = !attempts.empty() && attempts.back().outcome == made.outcome &&
                     attempts.back().message == made.message && attempts.back().node == made.node;
  made.first = again ? attempts.back().first : api::Time(now);
  made.times = again ? attempts.back().times : 0;
  if (again) {
    // What this one had no time to tell is what was told last.
    if (made.refused.empty()) made.refused = std::move(attempts.back().refused);
    attempts.back() = std::move(made);
  } else {
    if (attempts.size() == kPerPod) attempts.erase(attempts.begin());
    attempts.push_back(std::move(made));
  }
  AttemptRecord& last = attempts.back();
  ++last.times;
  last.last = api::Time(now);
  last.attempt = d.attempts;
  last.seconds = std::chrono::duration<double>(d.took).count();
  last.evaluated_nodes = d.evaluated_nodes;
  last.feasible_nodes = d.feasible_nodes;
  if (pods_.size() <= limit_) return;
  const std::string& oldest = *by_age_.front();
  by_age_.pop_front();
  pods_.erase(pods_.find(oldest));
}

std::optional<AttemptsRecord> AttemptLog::of(std::string_view ns, std::string_view name) const {
  const auto it = pods_.find(ns.empty() ? std::string(name) : fmt::format("{}/{}", ns, name));
  if (it == pods_.end()) return std::nullopt;
  return it->second.record;
}

}  // namespace koord::scheduling
