// Scores: see scores.hpp.
#include "framework/action/scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "framework/audit/auditor.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kLogAgain = std::chrono::minutes(5);
constexpr std::string_view kReason = "OOMScoreAdj";  // upstream's name of the hook
constexpr int kAuditVerbosity = 3;

constexpr metrics::Metric kScore{.name = "koordlet_container_oom_score_adj",
                                 .type = metrics::Type::gauge,
                                 .help = "The oom_score_adj that the container's processes were given.",
                                 .labels = {"pod_name", "pod_namespace", "pod_uid", "container_name"}};

}  // namespace

const metrics::Table Scores::kMetrics = {&kScore};

Scores::Scores(Options options, ProcessFiles& files, Later later, Clock& clock, Logger log,
               metrics::Registry& metrics, Auditor* auditor)
    : options_(std::move(options)),
      book_(options_.book, files),
      later_(std::move(later)),
      clock_(clock),
      log_(std::move(log)),
      auditor_(auditor),
      gauges_(metrics.gauges(kScore)) {}

void Scores::want(std::span<const ScoreWish> wishes) {
  if (told_ && wishes.empty() && wishes_.empty()) return;
  told_ = due_ = true;
  wishes_.assign(wishes.begin(), wishes.end());
}

void Scores::tick() {
  if (!told_ || under_way_ || (wishes_.empty() && book_.empty() && shown_.empty())) return;
  const MonoTime now = clock_.mono();
  if (!due_ && began_ && now - *began_ < options_.again) return;
  due_ = false;
  under_way_ = true;
  began_ = now;
  auto wishes = std::make_shared<const std::vector<ScoreWish>>(wishes_);
  auto outcome = std::make_shared<ScoreBook::Outcome>();
  later_([this, wishes, outcome] { *outcome = book_.pass(*wishes); },
         [this, wishes, outcome] {
           under_way_ = false;
           finish(*wishes, *outcome);
         });
}

Result<std::size_t> Scores::give_back() {
  const ScoreBook::Outcome outcome = book_.pass({});
  if (outcome.not_returned) return outcome.not_returned->context("a process' oom_score_adj");
  std::size_t count = 0;
  for (const auto& returned : outcome.returned) count += returned.processes;
  return count;
}

void Scores::finish(const std::vector<ScoreWish>& wishes, const ScoreBook::Outcome& outcome) {
  for (std::size_t i = 0; i < wishes.size(); ++i) tell(wishes[i], outcome.containers[i]);
  std::erase_if(refused_, [&](const auto& said) {
    return std::none_of(wishes.begin(), wishes.end(),
                        [&](const ScoreWish& wish) { return wish.group == said.first; });
  });
  for (const auto& returned : outcome.returned) {
    log_.v(1, "processes have their oom_score_adj back", kv("group", returned.group),
           kv("processes", returned.processes));
    if (auditor_ == nullptr) continue;
    const std::string message = fmt::format("{} processes have back what they had", returned.processes);
    auditor_->record(kAuditVerbosity, {"group", "", returned.group, "", kReason, message});
  }
  std::string why = outcome.not_returned ? outcome.not_returned->message() : "";
  if (!why.empty() && why != not_returned_)
    log_.warn("a process' oom_score_adj cannot be given back", kv("error", *outcome.not_returned));
  not_returned_ = std::move(why);
  tell_of_file(outcome.not_saved);
  show(wishes, outcome);
}

void Scores::tell(const ScoreWish& wish, const ScoreBook::Outcome::Container& outcome) {
  const std::string pod = fmt::format("{}/{}", wish.pod->ns, wish.pod->name);
  if (outcome.set > 0) {
    log_.v(1, "processes were given an oom_score_adj", kv("pod", pod), kv("container", wish.container),
           kv("score", wish.score), kv("processes", outcome.set));
    if (auditor_ != nullptr) {
      const std::string message =
          fmt::format("oom_score_adj of {} processes set to {}", outcome.set, wish.score);
      auditor_->record(kAuditVerbosity,
                       {"pod", wish.pod->ns, wish.pod->name, wish.container, kReason, message});
    }
  }
  if (!outcome.refused) {
    refused_.erase(wish.group);
    return;
  }
  // Errors name processes, of which each pass may find others.
  std::string said = fmt::format("{} {}", wish.score, to_string(outcome.refused->code()));
  if (std::exchange(refused_[wish.group], said) == said) return;
  log_.warn(outcome.refused->code() == Code::forbidden
                ? "a container's oom_score_adj cannot be set: lowering it needs CAP_SYS_RESOURCE"
                : "a container's oom_score_adj cannot be set",
            kv("pod", pod), kv("container", wish.container), kv("score", wish.score),
            kv("error", *outcome.refused));
}

void Scores::tell_of_file(const std::optional<Error>& not_saved) {
  if (!not_saved) {
    save_failed_.reset();
    return;
  }
  if (save_failed_ && clock_.mono() - *save_failed_ < kLogAgain) return;
  save_failed_ = clock_.mono();
  log_.warn("cannot write down whose oom_score_adj is set; an agent that starts after a crash will not know",
            kv("error", *not_saved));
}

void Scores::show(const std::vector<ScoreWish>& wishes, const ScoreBook::Outcome& outcome) {
  std::set<Series> shown;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (outcome.containers[i].set + outcome.containers[i].have == 0) continue;
    const ScoreWish& wish = wishes[i];
    const PodInfo& pod = *wish.pod;
    gauges_.with({pod.name, pod.ns, pod.uid, wish.container}).set(static_cast<double>(wish.score));
    shown.insert({pod.name, pod.ns, pod.uid, wish.container});
  }
  for (const Series& one : shown_)
    if (!shown.contains(one)) gauges_.remove({one.pod, one.ns, one.uid, one.container});
  shown_ = std::move(shown);
}

}  // namespace koord::koordlet
