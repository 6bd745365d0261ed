// CPU blame: best-effort work is held back by the waiting that it causes, and by no more than that: first it
// gives way wherever somebody else wants a CPU, then it gets a quota.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/idle.hpp"
#include "framework/qos/plugin.hpp"
#include "framework/tick/best_effort_use.hpp"
#include "framework/tick/blamed_waits.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "plugins/cpu_blame/formula.hpp"
#include "plugins/cpu_blame/settings.hpp"
#include "plugins/cpu_suppress/best_effort.hpp"

namespace koord::koordlet {

namespace cpu_blame {
namespace {

using cpu_suppress::BeGroup;
using cpu_suppress::BestEffort;
using cpu_suppress::kMinQuotaUs;
using host::Knob;

constexpr std::string_view kSuppression = "BECPUSuppress";  // its gate
constexpr std::string_view kAdjust = "AdjustBEByBlamedWaits";
constexpr std::string_view kGiveWay = "best-effort work gives way to whoever waits";
constexpr std::int64_t kLeastShares = 2;
constexpr std::int64_t kDefaultMinPercent = 5;
constexpr std::int64_t kUsPerMilli = host::kDefaultPeriodUs / 1000;

constexpr metrics::Metric kTarget{.name = "koordlet_be_blame_target_seconds",
                                  .type = metrics::Type::gauge,
                                  .help =
                                      "The p99 of waiting caused by best-effort work that is allowed; 0: "
                                      "CPU blame is off."};
constexpr metrics::Metric kCaused{
    .name = "koordlet_be_blame_caused_p99_seconds",
    .type = metrics::Type::gauge,
    .help = "The p99 of waiting caused by best-effort work, as it was judged last."};
constexpr metrics::Metric kCores{.name = "koordlet_be_blame_cpu_cores",
                                 .type = metrics::Type::gauge,
                                 .help =
                                     "CPUs that best-effort work is limited to for the waiting that it "
                                     "causes; all of the node's where it is not."};
constexpr metrics::Metric kState{.name = "koordlet_be_blame_state",
                                 .type = metrics::Type::gauge,
                                 .help = "1 for what CPU blame does now, 0 for what it does not.",
                                 .labels = {"state"}};
constexpr metrics::Metric kTightened{.name = "koordlet_be_blame_tightened_total",
                                     .help = "Times that best-effort work got less CPU."};
constexpr metrics::Metric kGivenBack{
    .name = "koordlet_be_blame_given_back_total",
    .help = "Times that less CPU for best-effort work was found not to help, and given back."};

class CpuBlame final : public Strategy {
 public:
  explicit CpuBlame(const PluginContext& context)
      : context_(context),
        tier_(context),
        target_(context.metrics.gauge(kTarget)),
        caused_(context.metrics.gauge(kCaused)),
        cores_(context.metrics.gauge(kCores)),
        tightened_(context.metrics.counter(kTightened)),
        given_back_(context.metrics.counter(kGivenBack)) {
    const auto states = context.metrics.gauges(kState);
    for (int i = 0; i < kStates; ++i)
      states_[static_cast<std::size_t>(i)] = states.with({name_of(static_cast<State>(i))});
  }

  StrategyStatus status() const override { return status_; }

  void plan(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    if (slo_ != inventory.slo) read(inventory.slo);
    if (!settings_.enable) {
      rest();
      return;
    }
    if (tier_.follow(view.inventory)) find_idle(inventory);
    tier_.measure(view);
    if (!inventory.pods_known || tier_.capacity_milli() <= 0) {
      status_.summary = "waiting: the node or its pods are not known yet";
      plan.hold();
      return;
    }
    const auto present = tier_.present_quota();
    if (!steering_) begin(present);
    steer(view);
    // What an agent before this one held stays until there has been time for a reading.
    if (steering_->is_starting()) plan.hold();
    const auto limit = steering_->limit_milli();
    say(limit);
    if (steering_->state() != State::waiting || limit) want_weights(plan);
    if (limit && present) want_quota(*limit, plan);
    show(limit);
  }

  /// Quotas and shares of the kubelet's group are suppression's to set free, those of others, and who is
  /// idle, are in the journal.
  void release(const Inventory&, Plan&) override { rest("off: no NodeSLO, or its gate is off"); }

 private:
  void read(const std::shared_ptr<const api::NodeSloSpec>& slo) {
    slo_ = slo;
    wrong_.clear();
    suppression_ =
        context_.gates.enabled(kSuppression) ? cpu_suppress::settings_of(*slo) : cpu_suppress::Settings{};
    auto settings = read_settings(slo->extensions.text);
    if (settings) {
      settings_ = *settings;
      told_.clear();
      return;
    }
    settings_ = {};
    wrong_ = fmt::format("off: {}", settings.error().message());
    if (told_ == wrong_) return;
    told_ = wrong_;
    context_.log.warn("the NodeSLO's extension cannot be read: best-effort work is not held back by it",
                      kv("error", settings.error()));
  }

  void rest() { rest(wrong_.empty() ? "off: the NodeSLO does not enable it" : std::string_view(wrong_)); }
  void rest(std::string_view why) {
    status_.active = false;
    status_.summary = why;
    if (!steering_) return;
    steering_.reset();
    most_milli_.reset();
    incomplete_ = 0;
    target_.set(0);
    caused_.set(0);
    cores_.set(static_cast<double>(tier_.capacity_milli()) / 1000);
    for (const metrics::Gauge& state : states_) state.set(0);
  }

  /// Goes on from the quotas that it finds, if they are not what there was before koord came.
  void begin(std::optional<std::int64_t> present) {
    steering_.emplace();
    counted_cuts_ = counted_returns_ = 0;
    if (!present || *present == host::kUnlimited) return;
    for (const BeGroup& group : tier_.groups()) {
      const auto now = context_.knobs.current(Knob::cpu_quota, group.group);
      const auto before = context_.knobs.original(Knob::cpu_quota, group.group);
      if (now && before && *now != *before) {
        steering_->begin_at(*present / kUsPerMilli);
        return;
      }
    }
  }

  void steer(const TickView& view) {
    const std::int64_t machine = tier_.capacity_milli();
    const auto groups = static_cast<std::int64_t>(std::max<std::size_t>(tier_.present_groups(), 1));
    const std::int64_t percent =
        takes_quota() ? settings_.min_percent.value_or(suppression_.min_percent.value_or(kDefaultMinPercent))
                      : 100;
    // At or below its minimum nothing is taken.
    steering_->step({.target_us = static_cast<double>(settings_.target_microseconds),
                     .machine_milli = machine,
                     .least_milli = std::max(machine * std::clamp<std::int64_t>(percent, 0, 100) / 100,
                                             groups * kMinQuotaUs / kUsPerMilli),
                     .most_milli = most(view)},
                    {.at = view.at,
                     .blamed = view.find<BlamedWaits>(),
                     .used_milli = best_effort_use(view).usage_milli,
                     .interval = view.interval});
  }

  bool takes_quota() const { return settings_.quota.value_or(!settings_.idle || !has_idle_); }

  /// What suppression leaves, by what is known of it; without it all.
  std::int64_t most(const TickView& view) {
    if (!suppression_.is_on()) return tier_.capacity_milli();
    incomplete_ = view.complete ? 0 : incomplete_ + 1;
    if (known(view.node.cpu)) {
      const std::int64_t milli =
          cpu_suppress::budget(tier_.weigh(view), suppression_.threshold_percent, suppression_.min_percent)
              .milli;
      const bool counts = incomplete_ == 0 || incomplete_ > cpu_suppress::kPatience;
      most_milli_ = counts || !most_milli_ ? milli : std::max(milli, *most_milli_);
    }
    return most_milli_.value_or(tier_.capacity_milli());
  }

  /// The containers of pods, which keep their weights: the kubelet writes shares to its own folder now and
  /// then, which an idle group does not take.
  void find_idle(const Inventory& inventory) {
    idle_.clear();
    has_idle_ = false;
    if (context_.is_set("disable-cpu-idle")) return;
    for (const BeGroup& root : tier_.groups())
      if (!root.kubernetes) idle_.push_back({root.group});
    for (const auto& pod : inventory.pods) {
      if (!pod->is_be() || !containers_may_idle(inventory, *pod)) continue;
      for (const ContainerInfo& container : pod->containers)
        for (const BeGroup& root : tier_.groups())
          if (root.kubernetes && host::is_below(container.group, root.group))
            idle_.push_back({container.group, true});
    }
    if (inventory.node.static_cpu_policy) return;
    has_idle_ = std::any_of(tier_.groups().begin(), tier_.groups().end(), [this](const BeGroup& root) {
      return context_.knobs.current(Knob::cpu_idle, root.group).has_value();
    });
  }

  void want_weights(Plan& plan) const {
    for (const BeGroup& group : tier_.groups()) {
      Intent& intent = plan.want(Knob::cpu_shares, group.group, kLeastShares, kGiveWay);
      intent.audit_reason = kAdjust;
      if (group.kubernetes) intent.undo = kLeastShares;  // which is what the kubelet gives it
    }
    if (!settings_.idle) return;
    for (const Idle& one : idle_) {
      Intent& intent = plan.want(Knob::cpu_idle, one.group, std::int64_t{1}, kGiveWay);
      intent.audit_reason = kAdjust;
      intent.unique = one.container;
    }
  }

  void want_quota(std::int64_t limit_milli, Plan& plan) {
    tier_.want_quota(limit_milli * kUsPerMilli, status_.summary, kAdjust, plan);
  }

  /// "holding: 1.20 of 16.00 CPUs for best-effort work; it causes a p99 of 812 us, 1000 are allowed".
  void say(std::optional<std::int64_t> limit) {
    const State state = steering_->state();
    std::string& text = status_.summary;
    const auto add = [&text](fmt::format_string<> what) { fmt::format_to(std::back_inserter(text), what); };
    status_.active = state != State::waiting || limit;
    text = name_of(state);
    if (limit)
      fmt::format_to(std::back_inserter(text), ": {:.2f} of {:.2f} CPUs for best-effort work",
                     static_cast<double>(*limit) / 1000, static_cast<double>(tier_.capacity_milli()) / 1000);
    else
      add(": no limit beside the others'");
    if (!takes_quota()) add(", no quota");
    if (steering_->at_minimum()) add(", the minimum");
    if (state == State::waiting) {
      text.append("; CPU suppression alone: ").append(steering_->why());
      return;
    }
    const Sample& sample = steering_->sample();
    fmt::format_to(std::back_inserter(text), "; it causes a p99 of {:.0f} us, {} are allowed",
                   sample.caused_us, settings_.target_microseconds);
    if (sample.part < kMuch && sample.caused_us > static_cast<double>(settings_.target_microseconds))
      fmt::format_to(std::back_inserter(text), ", but only {:.0f}% of what is waited", sample.part * 100);
    if (state == State::giving_back || state == State::resting)
      add("; less did not help enough: it tries again later");
  }

  void show(std::optional<std::int64_t> limit) {
    target_.set(static_cast<double>(settings_.target_microseconds) / 1e6);
    caused_.set(steering_->sample().caused_us / 1e6);
    cores_.set(static_cast<double>(limit.value_or(tier_.capacity_milli())) / 1000);
    for (std::size_t i = 0; i < states_.size(); ++i)
      states_[i].set(static_cast<std::size_t>(steering_->state()) == i ? 1 : 0);
    tightened_.add(
        static_cast<double>(steering_->tightened() - std::exchange(counted_cuts_, steering_->tightened())));
    if (steering_->given_back() == counted_returns_) return;
    counted_returns_ = steering_->given_back();
    given_back_.inc();
    context_.log.info("less CPU for best-effort work does not shorten what others wait: it is given back",
                      kv("status", status_.summary));
  }

  const PluginContext& context_;
  BestEffort tier_;
  metrics::Gauge target_, caused_, cores_;
  metrics::Counter tightened_, given_back_;
  std::array<metrics::Gauge, kStates> states_;
  StrategyStatus status_;

  std::shared_ptr<const api::NodeSloSpec> slo_;  // the one that settings are of
  Settings settings_;
  cpu_suppress::Settings suppression_;
  std::string wrong_, told_;  // what is wrong with the extension, and what was logged of it

  std::optional<Steering> steering_;  // while it is on
  std::uint64_t counted_cuts_ = 0, counted_returns_ = 0;
  std::optional<std::int64_t> most_milli_;
  int incomplete_ = 0;  // ticks in a row
  /// Of the inventory that tier_ follows.
  struct Idle {
    std::string_view group;
    bool container = false;
  };
  std::vector<Idle> idle_;
  bool has_idle_ = false;  // the kernel
};

constexpr metrics::Table kMetrics = {&kTarget, &kCaused, &kCores, &kState, &kTightened, &kGivenBack};
constexpr std::string_view kGates[] = {"BECPUBlame"};

}  // namespace
}  // namespace cpu_blame

extern const StrategyEntry kCpuBlame{
    .name = "CPUBlame",
    .gates = cpu_blame::kGates,
    .metrics = cpu_blame::kMetrics,
    .make = &make<cpu_blame::CpuBlame>,
};

}  // namespace koord::koordlet
