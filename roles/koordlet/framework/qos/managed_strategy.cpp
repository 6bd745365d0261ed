// Whose turn it is, and how it stands with a strategy: see managed_strategy.hpp.
#include "framework/qos/managed_strategy.hpp"

#include <fmt/format.h>

#include <span>
#include <string>

namespace koord::koordlet {

namespace {

constexpr std::string_view kDryRun = "dry run: ";

}  // namespace

bool ManagedStrategy::is_asked(const TickView& view) {
  const MonoTime soon = view.at + view.interval / 2;
  if (!turn.stands) return soon >= turn.next;
  if (soon < turn.looks) return false;
  turn.looks = view.at + settings.interval;
  return strategy->look(view);
}

void ManagedStrategy::hand_over(bool wants) const {
  wants = wants && !settings.dry;
  if (settings.processes != nullptr)
    settings.processes->want(wants ? plan.processes() : std::span<const ProcessSetting>());
  if (settings.groups != nullptr)
    settings.groups->want(row->name, wants ? plan.cache_groups() : std::span<const CacheGroup>(),
                          wants ? row->swept_groups : std::string_view());
}

StrategyStatus ManagedStrategy::status() const {
  StrategyStatus status = strategy->status();
  if (hold.since && !hold.waiting_for.empty() && !hold.neutral)
    status = {false, std::string(hold.waiting_for)};
  if (settings.processes != nullptr && !settings.processes->unavailable().empty())
    status.summary = fmt::format("{}; this machine has no {}s: {}", status.summary,
                                 settings.processes->kind()->name, settings.processes->unavailable());
  if (settings.dry) status.summary.insert(0, kDryRun);
  return status;
}

GivenBack give_back(std::span<ProcessSettings* const> processes, ResctrlGroups* groups) {
  GivenBack given;
  const auto add = [&given](const Result<std::size_t>& one) {
    if (one)
      given.count += *one;
    else if (!given.failed)
      given.failed = one.error();
  };
  for (ProcessSettings* const keeper : processes) add(keeper->give_back());
  if (groups != nullptr) add(groups->give_back());
  return given;
}

}  // namespace koord::koordlet
