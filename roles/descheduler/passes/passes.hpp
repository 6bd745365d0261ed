// Passes: one look at the cluster after the other, in which every profile's plugins choose pods that go.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "evictions/pass_limits.hpp"
#include "framework/plugin.hpp"
#include "koord/base/metrics.hpp"
#include "passes/profile.hpp"
#include "passes/report.hpp"

namespace koord::descheduler {

/// Told of what a pass is about now ("asking LowNodeLoad"), and how many pods it has chosen.
using PassProgress = std::function<void(std::string_view what, std::size_t chosen)>;

/// Belongs to the role's strand.
class Passes {
 public:
  struct Parts {
    Clock& clock;
    const Logger& log;
    metrics::Registry& metrics;
    /// Whether this process leads; asked again before each eviction.
    std::function<bool()> may_write;
    /// Whether pods fit on nodes of that snapshot; it and its nodes outlive the answerer.
    std::function<std::unique_ptr<NodeFit>(const Snapshot&)> node_fit;
    std::vector<std::string> notes = {};  // what does not count where pods fit, for reports
    bool dry_run = false;
    std::optional<api::Selector> nodes = std::nullopt;  // the configuration's; nothing: all
    PassLimits::Limits limits = {};                     // of a pass, for all profiles together
    PassProgress progress = {};                         // may be null
  };
  explicit Passes(Parts parts);
  ~Passes();
  Passes(const Passes&) = delete;
  Passes& operator=(const Passes&) = delete;

  /// Before the first run().
  void set_profiles(Profiles profiles) { profiles_ = std::move(profiles); }
  const Profiles& profiles() const { return profiles_; }
  /// What does not count where pods fit, for the reports from now on.
  void set_notes(std::vector<std::string> notes) { parts_.notes = std::move(notes); }

  /// One pass: deschedule of all profiles, then balance of all, in the configuration's order; whoever fails
  /// stops nobody else. With fewer than two ready nodes nobody is asked. It ends before the next eviction
  /// once this process does not lead any more. One at a time.
  Task<> run(SnapshotObjects objects);
  /// One that is not made, because of that.
  void skip(std::string why);

  /// Of the pass that is under way; null between passes.
  const Snapshot* snapshot() const;
  /// The same of the profile that is being asked.
  Pass* pass() const;

  const PassReports& reports() const { return reports_; }
  /// Since the last pass that was made began; nothing: there was none.
  std::optional<nanoseconds> age() const;

  static const metrics::Table kMetrics;

 private:
  struct Running;
  class ProfilePass;
  using Asked = std::vector<Profile::Asked>;

  Task<> ask_all(std::string_view point, const Asked& (Profile::*asked)() const,
                 Task<Result<>> (Plugin::*ask)(Pass&));
  void tell_progress(std::string_view what) const;
  PassReport& begin_report();
  void look_ahead(PassReport& report);
  void end_report();

  Parts parts_;
  Profiles profiles_;
  std::unique_ptr<Running> running_;
  PassReports reports_;
  std::int64_t number_ = 0;
  std::optional<MonoTime> last_;
  metrics::Family<metrics::Counter> passes_, chosen_;
  metrics::Histogram seconds_;
};

}  // namespace koord::descheduler
