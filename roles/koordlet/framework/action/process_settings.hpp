// ProcessSettings: has a book set what strategies want of processes, one kind of it, off the loop, now
// and again: who is new in a container is found by the next pass.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/action/processes.hpp"
#include "framework/action/setting_book.hpp"
#include "framework/keep/boot_file.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

class Auditor;

/// Used on the event loop's thread.
class ProcessSettings {
 public:
  /// Runs `work` elsewhere, then `done` on the event loop's thread; not at all if the agent ends before.
  using Later = std::function<void(std::function<void()> work, std::function<void()> done)>;
  struct Options {
    BootFile::Place book;
    nanoseconds again = std::chrono::seconds(10);  // between two passes where nothing else is wanted
  };
  /// All outlive it; `auditor` may be null.
  ProcessSettings(const ProcessKind& kind, Options options, ProcessFiles& files, Later later, Clock& clock,
                  Logger log, metrics::Registry& metrics, Auditor* auditor);
  ProcessSettings(const ProcessSettings&) = delete;
  ProcessSettings& operator=(const ProcessSettings&) = delete;

  const ProcessKind* kind() const { return &kind_; }

  Result<> load() { return book_->load(); }
  /// From now on this, and nothing else. Before the first call nothing is touched, what an earlier agent has
  /// set neither.
  void want(std::span<const ProcessSetting> settings);
  /// Once a tick: begins a pass, if it is time.
  void tick();
  /// For --cleanup, which may block: gives everything back. How many processes had anything to be given.
  Result<std::size_t> give_back();
  /// Why this machine cannot have it, as the last pass found; empty: it can.
  const std::string& unavailable() const { return unavailable_; }

 private:
  void finish(const std::vector<ProcessSetting>& settings, const SettingBook::Outcome& outcome);
  void tell(const ProcessSetting& setting, const SettingBook::Outcome::Container& outcome);
  void tell_of_file(const std::optional<Error>& not_saved);
  void tell_of_machine(const std::optional<Error>& unavailable);
  void count(const std::vector<ProcessSetting>& settings, const SettingBook::Outcome& outcome);
  void show(const std::vector<ProcessSetting>& settings, const SettingBook::Outcome& outcome);

  const ProcessKind& kind_;
  Options options_;
  std::unique_ptr<SettingBook> book_;  // the pass's while one is under way
  Later later_;
  Clock& clock_;
  Logger log_;
  Auditor* auditor_;
  std::optional<metrics::Family<metrics::Gauge>> gauges_;  // where the kind has one
  std::optional<metrics::Family<metrics::Counter>> passes_;
  std::vector<ProcessSetting> settings_;
  bool told_ = false, due_ = false, under_way_ = false;
  std::optional<MonoTime> began_, save_failed_;
  /// By the labels of what is shown of containers; and the names of which passes are counted.
  using Shown = std::map<std::vector<std::string>, double>;
  Shown shown_;
  std::set<std::string, std::less<>> counted_;
  std::map<std::string, std::string> refused_;  // what was said of a container, until it is not true any more
  std::string not_returned_, unavailable_;
};

}  // namespace koord::koordlet
