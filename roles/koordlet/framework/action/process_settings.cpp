// ProcessSettings: see process_settings.hpp.
#include "framework/action/process_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "framework/action/cookie_book.hpp"
#include "framework/action/process_book.hpp"
#include "framework/audit/auditor.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kLogAgain = std::chrono::minutes(5);
constexpr int kAuditVerbosity = 3;
constexpr std::string_view kSucceeded = "succeeded", kFailed = "failed";

}  // namespace

ProcessSettings::ProcessSettings(const ProcessKind& kind, Options options, ProcessFiles& files, Later later,
                                 Clock& clock, Logger log, metrics::Registry& metrics, Auditor* auditor)
    : kind_(kind),
      options_(std::move(options)),
      later_(std::move(later)),
      clock_(clock),
      log_(std::move(log)),
      auditor_(auditor) {
  if (kind_.shared)
    book_ = std::make_unique<CookieBook>(kind, options_.book, files);
  else
    book_ = std::make_unique<ProcessBook>(kind, options_.book, files);
  if (kind_.gauge != nullptr) gauges_ = metrics.gauges(*kind_.gauge);
  if (kind_.passes != nullptr) passes_ = metrics.counters(*kind_.passes);
}

void ProcessSettings::want(std::span<const ProcessSetting> settings) {
  if (told_ && settings.empty() && settings_.empty()) return;
  told_ = due_ = true;
  settings_.assign(settings.begin(), settings.end());
}

void ProcessSettings::tick() {
  if (!told_ || under_way_ || (settings_.empty() && book_->empty() && shown_.empty())) return;
  const MonoTime now = clock_.mono();
  if (!due_ && began_ && now - *began_ < options_.again) return;
  due_ = false;
  under_way_ = true;
  began_ = now;
  auto settings = std::make_shared<const std::vector<ProcessSetting>>(settings_);
  auto outcome = std::make_shared<SettingBook::Outcome>();
  later_([this, settings, outcome] { *outcome = book_->pass(*settings); },
         [this, settings, outcome] {
           under_way_ = false;
           finish(*settings, *outcome);
         });
}

Result<std::size_t> ProcessSettings::give_back() {
  const SettingBook::Outcome outcome = book_->pass({});
  if (outcome.unavailable) return outcome.unavailable->context(fmt::format("a process' {}", kind_.name));
  if (outcome.not_returned) return outcome.not_returned->context(fmt::format("a process' {}", kind_.name));
  std::size_t count = 0;
  for (const auto& returned : outcome.returned) count += returned.processes;
  return count;
}

void ProcessSettings::finish(const std::vector<ProcessSetting>& settings,
                             const SettingBook::Outcome& outcome) {
  tell_of_machine(outcome.unavailable);
  if (outcome.unavailable) return show({}, outcome);
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
  count(settings, outcome);
}

void ProcessSettings::tell_of_machine(const std::optional<Error>& unavailable) {
  std::string why = unavailable ? unavailable->message() : "";
  if (!why.empty() && why != unavailable_)
    log_.warn(fmt::format("this machine has no {}s: nothing is done with them", kind_.name), kv("why", why));
  unavailable_ = std::move(why);
}

void ProcessSettings::tell(const ProcessSetting& setting, const SettingBook::Outcome::Container& outcome) {
  const std::string pod = fmt::format("{}/{}", setting.pod->ns, setting.pod->name);
  if (outcome.set > 0) {
    log_.v(1, fmt::format("processes were given {}", kind_.a_name), kv("pod", pod),
           kv("container", setting.container), kv(kind_.key, outcome.value), kv("processes", outcome.set));
    if (auditor_ != nullptr) {
      const std::string message =
          fmt::format("{} of {} processes set to {}", kind_.name, outcome.set, outcome.value);
      auditor_->record(kAuditVerbosity, {"pod", setting.pod->ns, setting.pod->name, setting.container,
                                         kind_.audit_reason, message});
    }
  }
  if (!outcome.refused) {
    refused_.erase(setting.group);
    return;
  }
  // Errors name processes, of which each pass may find others.
  std::string said = fmt::format("{} {}", outcome.value, to_string(outcome.refused->code()));
  if (std::exchange(refused_[setting.group], said) == said) return;
  const bool helps = outcome.refused->code() == Code::forbidden && !kind_.needs.empty();
  log_.warn(fmt::format("a container's {} cannot be set{}{}", kind_.name, helps ? ": " : "",
                        helps ? kind_.needs : ""),
            kv("pod", pod), kv("container", setting.container), kv(kind_.key, outcome.value),
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

void ProcessSettings::show(const std::vector<ProcessSetting>& settings, const SettingBook::Outcome& outcome) {
  if (!gauges_) return;
  Shown shown;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const SettingBook::Outcome::Container& container = outcome.containers[i];
    if (container.set + container.have == 0) continue;
    const ProcessSetting& setting = settings[i];
    const PodInfo& pod = *setting.pod;
    if (kind_.labels != nullptr)
      shown[kind_.labels(setting, container.value)] = 1;
    else
      shown[{pod.name, pod.ns, pod.uid, setting.container}] = static_cast<double>(container.value);
  }
  if (shown == shown_) return;
  gauges_->clear();
  for (const auto& [labels, value] : shown)
    gauges_->with(std::vector<std::string_view>(labels.begin(), labels.end())).set(value);
  shown_ = std::move(shown);
}

void ProcessSettings::count(const std::vector<ProcessSetting>& settings,
                            const SettingBook::Outcome& outcome) {
  if (!passes_) return;
  std::set<std::string, std::less<>> counted;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const std::string_view name = shown_name(settings[i].shared);
    passes_->with({name, outcome.containers[i].refused ? kFailed : kSucceeded}).inc();
    counted.emplace(name);
  }
  for (const std::string& name : counted_)
    if (!counted.contains(name))
      for (const std::string_view status : {kFailed, kSucceeded}) passes_->remove({name, status});
  counted_ = std::move(counted);
}

}  // namespace koord::koordlet
