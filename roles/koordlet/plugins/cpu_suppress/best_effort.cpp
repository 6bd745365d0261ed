#include "plugins/cpu_suppress/best_effort.hpp"

#include <algorithm>
#include <variant>

#include "framework/tick/best_effort_use.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::koordlet::cpu_suppress {
namespace {

using host::Knob;

constexpr std::string_view kQuotaPolicy = "cfsQuota";
constexpr int kHungryPercent = 90;
constexpr std::int64_t kLeastValue = 1000;  // the kernel's

}  // namespace

Settings settings_of(const api::NodeSloSpec& slo) {
  Settings settings;
  if (!slo.resource_used_threshold_with_be) return settings;
  const api::ResourceThresholdStrategy& strategy = *slo.resource_used_threshold_with_be;
  settings.enabled = strategy.enable.value_or(false);
  settings.by_quota = strategy.cpu_suppress_policy == kQuotaPolicy;
  settings.threshold_percent = strategy.cpu_suppress_threshold_percent.value_or(settings.threshold_percent);
  settings.min_percent = strategy.cpu_suppress_min_percent;
  const auto is_percent = [](std::int64_t value) { return value >= 0 && value <= 100; };
  if (!is_percent(settings.threshold_percent))
    settings.nonsense = "cpuSuppressThresholdPercent is not between 0 and 100";
  else if (settings.min_percent && !is_percent(*settings.min_percent))
    settings.nonsense = "cpuSuppressMinPercent is not between 0 and 100";
  return settings;
}

bool BestEffort::follow(const std::shared_ptr<const Inventory>& inventory) {
  if (inventory_ == inventory && topology_ == context_.topology()) return false;
  look_at(*inventory);
  inventory_ = inventory;
  return true;
}

void BestEffort::look_at(const Inventory& inventory) {
  inventory_.reset();
  topology_ = context_.topology();
  const std::string kubelets =
      host::kubepods_folder(inventory.driver, host::KubeQos::besteffort, inventory.kubelet_root);
  groups_.clear();
  for (const std::string& root : inventory.be_roots) {
    BeGroup group{.group = root, .kubernetes = root == kubelets};
    group.all = group.kubernetes || inventory.be_roots.size() == 1;
    for (std::size_t i = 0; i < inventory.host_applications.size(); ++i)
      if (inventory.host_applications[i].group == root) group.application = i;
    groups_.push_back(group);
  }
  load_.capacity_milli = inventory.node.capacity_milli_cpu;
  // The kubelet counts the CPUs when it starts; some may be offline by now.
  if (topology_)
    load_.capacity_milli = std::min(load_.capacity_milli, std::int64_t{1000} * topology_->online.size());
  load_.reserved_milli = std::max(inventory.node.capacity_milli_cpu - inventory.node.allocatable_milli_cpu,
                                  inventory.node.reserved_milli_cpu);
  pods_.clear();
  for (const auto& pod : inventory.pods)
    pods_.push_back({.best_effort = pod->is_be(), .inside = inventory.in_best_effort(pod->group)});
  applications_.clear();
  for (const HostApplication& application : inventory.host_applications) {
    const bool inside = inventory.in_best_effort(application.group);
    applications_.push_back({.best_effort = inside && application.qos == Qos::be, .inside = inside});
  }
}

void BestEffort::measure(const TickView& view) {
  for (BeGroup& group : groups_) {
    group.used_milli = group.all ? best_effort_use(view).usage_milli : kUnknown;
    if (group.application && *group.application < view.host_applications.size())
      group.used_milli = view.host_applications[*group.application].cpu * 1000;
  }
}

const Load& BestEffort::weigh(const TickView& view) {
  // What cannot be read is part of what the system uses.
  const auto add = [](std::span<const Usage> usage, const std::vector<Consumer>& who,
                      std::vector<Consumer>& to) {
    to.clear();
    for (std::size_t i = 0; i < usage.size(); ++i) {
      if (!known(usage[i].cpu)) continue;
      to.push_back(who[i]);
      to.back().cpu = usage[i].cpu;
    }
  };
  load_.node_cpu = view.node.cpu;
  // A best-effort pod that the kubelet has not named yet is in its root, and not the system's.
  const double roots = best_effort_use(view).usage_milli;
  load_.best_effort_cpu = known(roots) ? roots / 1000 : 0;
  add(view.pods, pods_, load_.pods);
  add(view.host_applications, applications_, load_.host_applications);
  return load_;
}

std::optional<std::int64_t> BestEffort::number(Knob knob, std::string_view group) const {
  const auto value = context_.knobs.current(knob, group);
  if (!value || !std::holds_alternative<std::int64_t>(*value)) return std::nullopt;
  return std::get<std::int64_t>(*value);
}

std::optional<std::int64_t> BestEffort::original_quota(std::string_view group, std::int64_t period) const {
  const auto value = context_.knobs.original(Knob::cpu_quota, group);
  if (!value || !std::holds_alternative<std::int64_t>(*value)) return std::nullopt;
  const std::int64_t quota = std::get<std::int64_t>(*value);
  if (quota <= 0) return std::nullopt;
  return quota * host::kDefaultPeriodUs / period;
}

std::optional<std::int64_t> BestEffort::present_quota() {
  present_.clear();
  claims_.clear();
  sum_ = 0;
  for (const BeGroup& group : groups_) {
    const auto quota = number(Knob::cpu_quota, group.group);
    const auto period = number(Knob::cpu_period, group.group);
    if (!quota) continue;  // there is no such group yet
    Present p{&group, *quota, period && *period > 0 ? *period : host::kDefaultPeriodUs};
    if (p.quota > 0) p.quota = p.quota * host::kDefaultPeriodUs / p.period;
    if (p.quota == host::kUnlimited || sum_ == host::kUnlimited)
      sum_ = host::kUnlimited;
    else
      sum_ += p.quota;
    Claim claim;
    claim.used_us = known(group.used_milli) ? static_cast<std::int64_t>(group.used_milli * 100) : 0;
    claim.hungry = !known(group.used_milli) || p.quota == host::kUnlimited ||
                   claim.used_us * 100 >= p.quota * kHungryPercent;
    if (!group.kubernetes) claim.most_us = original_quota(group.group, p.period);
    present_.push_back(p);
    claims_.push_back(claim);
  }
  if (present_.empty()) return std::nullopt;
  return sum_;
}

std::int64_t BestEffort::want_quota(std::int64_t us, std::string_view reason, std::string_view audit_reason,
                                    Plan& plan) {
  const bool same = us == sum_ && present_.size() == 1;
  share_out(us, claims_, shares_);
  const std::int64_t small = capacity_milli();  // 1% of the node's CPUs, in us per 100 ms
  std::int64_t total = 0;
  for (std::size_t i = 0; i < present_.size(); ++i) {
    std::int64_t share = shares_.us[i];
    const std::int64_t had = present_[i].quota;
    if (same || (had != host::kUnlimited && had <= share && share - had < small && us >= sum_)) share = had;
    total += share;
    const std::int64_t value = std::max(share * present_[i].period / host::kDefaultPeriodUs, kLeastValue);
    Intent& intent = plan.want(Knob::cpu_quota, present_[i].group->group, value, reason);
    intent.audit_reason = audit_reason;
    if (present_[i].group->kubernetes) intent.undo = host::kUnlimited;
  }
  return total;
}

}  // namespace koord::koordlet::cpu_suppress
