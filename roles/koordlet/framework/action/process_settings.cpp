// ProcessSettings: see process_settings.hpp.
#include "framework/action/process_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "framework/audit/auditor.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kLogAgain = std::chrono::minutes(5);
constexpr int kAuditVerbosity = 3;

}  // namespace

ProcessSettings::ProcessSettings(const ProcessKind& kind, Options options, ProcessFiles& files, Later later,
                                 Clock& clock, Logger log, metrics::Registry& metrics, Auditor* auditor)
    : kind_(kind),
      options_(std::move(options)),
      book_(kind, options_.book, files),
      later_(std::move(later)),
      clock_(clock),
      log_(std::move(log)),
      auditor_(auditor) {
  if (kind_.gauge != nullptr) gauges_ = metrics.gauges(*kind_.gauge);
}

void ProcessSettings::want(std::span<const ProcessSetting> settings) {
  if (told_ && settings.empty() && settings_.empty()) return;
  told_ = due_ = true;
  settings_.assign(settings.begin(), settings.end());
}

void ProcessSettings::tick() {
  if (!told_ || under_way_ || (settings_.empty() && book_.empty() && shown_.empty())) return;
  const MonoTime now = clock_.mono();
  if (!due_ && began_ && now - *began_ < options_.again) return;
  due_ = false;
  under_way_ = true;
  began_ = now;
  auto settings = std::make_shared<const std::vector<ProcessSetting>>(settings_);
  auto outcome = std::make_shared<ProcessBook::Outcome>();
  later_([this, settings, outcome] { *outcome = book_.pass(*settings); },
         [this, settings, outcome] {
           under_way_ = false;
           finish(*settings, *outcome);
         });
}

Result<std::size_t> ProcessSettings::give_back() {
  const ProcessBook::Outcome outcome = book_.pass({});
  if (outcome.not_returned) return outcome.not_returned->context(fmt::format("a process' {}", kind_.name));
  std::size_t count = 0;
  for (const auto& returned : outcome.returned) count += returned.processes;
  return count;
}

void ProcessSettings::finish(const std::vector<ProcessSetting>& settings,
                             const ProcessBook::Outcome& outcome) {
  for (std::size_t i = 0; i < settings.size(); ++i) tell(settings[i], outcome.containers[i]);
  std::erase_if(refused_, [&](const auto& said) {
    return std::none_of(settings.begin(), settings.end(),
                        [&](const ProcessSetting& setting) { return setting.group == said.first; });
  });
  for (const auto& returned : outcome.returned) {
    log_.v(1, fmt::format("processes have their {} back", kind_.name), kv("group", returned.group),
           kv("processes", returned.processes));
    if (auditor_ == nullptr) continue;
    const std::string message = fmt::format("{} processes have back what they had", returned.processes);
    auditor_->record(kAuditVerbosity, {"group", "", returned.group, "", kind_.audit_reason, message});
  }
  std::string why = outcome.not_returned ? outcome.not_returned->message() : "";
  if (!why.empty() && why != not_returned_)
    log_.warn(fmt::format("a process' {} cannot be given back", kind_.name),
              kv("error", *outcome.not_returned));
  not_returned_ = std::move(why);
  tell_of_file(outcome.not_saved);
  show(settings, outcome);
}

void ProcessSettings::tell(const ProcessSetting& setting, const ProcessBook::Outcome::Container& outcome) {
  const std::string pod = fmt::format("{}/{}", setting.pod->ns, setting.pod->name);
  if (outcome.set > 0) {
    log_.v(1, fmt::format("processes were given {}", kind_.a_name), kv("pod", pod),
           kv("container", setting.container), kv(kind_.key, setting.value), kv("processes", outcome.set));
    if (auditor_ != nullptr) {
      const std::string message =
          fmt::format("{} of {} processes set to {}", kind_.name, outcome.set, setting.value);
      auditor_->record(kAuditVerbosity, {"pod", setting.pod->ns, setting.pod->name, setting.container,
                                         kind_.audit_reason, message});
    }
  }
  if (!outcome.refused) {
    refused_.erase(setting.group);
    return;
  }
  // Errors name processes, of which each pass may find others.
  std::string said = fmt::format("{} {}", setting.value, to_string(outcome.refused->code()));
  if (std::exchange(refused_[setting.group], said) == said) return;
  const bool helps = outcome.refused->code() == Code::forbidden && !kind_.needs.empty();
  log_.warn(fmt::format("a container's {} cannot be set{}{}", kind_.name, helps ? ": " : "",
                        helps ? kind_.needs : ""),
            kv("pod", pod), kv("container", setting.container), kv(kind_.key, setting.value),
            kv("error", *outcome.refused));
}

void ProcessSettings::tell_of_file(const std::optional<Error>& not_saved) {
  if (!not_saved) {
    save_failed_.reset();
    return;
  }
  if (save_failed_ && clock_.mono() - *save_failed_ < kLogAgain) return;
  save_failed_ = clock_.mono();
  log_.warn(fmt::format("cannot write down whose {} is set; an agent that starts after a crash will not know",
                        kind_.name),
            kv("error", *not_saved));
}

void ProcessSettings::show(const std::vector<ProcessSetting>& settings, const ProcessBook::Outcome& outcome) {
  if (!gauges_) return;
  std::set<Series> shown;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (outcome.containers[i].set + outcome.containers[i].have == 0) continue;
    const ProcessSetting& setting = settings[i];
    const PodInfo& pod = *setting.pod;
    gauges_->with({pod.name, pod.ns, pod.uid, setting.container}).set(static_cast<double>(setting.value));
    shown.insert({pod.name, pod.ns, pod.uid, setting.container});
  }
  for (const Series& one : shown_)
    if (!shown.contains(one)) gauges_->remove({one.pod, one.ns, one.uid, one.container});
  shown_ = std::move(shown);
}

}  // namespace koord::koordlet
