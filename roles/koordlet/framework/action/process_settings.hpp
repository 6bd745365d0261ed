// ProcessSettings: has a ProcessBook set what strategies want of processes, one kind of it, off the loop, now
// and again: who is new in a container is found by the next pass.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/action/process_book.hpp"
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

  Result<> load() { return book_.load(); }
  /// From now on this, and nothing else. Before the first call nothing is touched, what an earlier agent has
  /// set neither.
  void want(std::span<const ProcessSetting> settings);
  /// Once a tick: begins a pass, if it is time.
  void tick();
  /// For --cleanup, which may block: gives everything back. How many processes had anything to be given.
  Result<std::size_t> give_back();

 private:
  void finish(const std::vector<ProcessSetting>& settings, const ProcessBook::Outcome& outcome);
  void tell(const ProcessSetting& setting, const ProcessBook::Outcome::Container& outcome);
  void tell_of_file(const std::optional<Error>& not_saved);
  void show(const std::vector<ProcessSetting>& settings, const ProcessBook::Outcome& outcome);

  const ProcessKind& kind_;
  Options options_;
  ProcessBook book_;  // the pass's while one is under way
  Later later_;
  Clock& clock_;
  Logger log_;
  Auditor* auditor_;
  std::optional<metrics::Family<metrics::Gauge>> gauges_;  // where the kind has one
  std::vector<ProcessSetting> settings_;
  bool told_ = false, due_ = false, under_way_ = false;
  std::optional<MonoTime> began_, save_failed_;
  struct Series {
    std::string pod, ns, uid, container;
    auto operator<=>(const Series&) const = default;
  };
  std::set<Series> shown_;
  std::map<std::string, std::string> refused_;  // what was said of a container, until it is not true any more
  std::string not_returned_;
};

}  // namespace koord::koordlet
