// PermitWaits: see permit_waits.hpp.
#include "koord/scheduling/engine/permit_waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/values/time.hpp"
#include "koord/scheduling/config/profile.hpp"

namespace koord::scheduling {

void PermitWaits::add(QueuedPod& pod, std::span<const On> plugins, MonoTime now, Decision decision,
                      std::uint64_t events) {
  const std::uint64_t order = next_order_++;
  Wait wait{&pod, order, {}, {plugins.begin(), plugins.end()}, std::move(decision), now, events, {}};
  for (const On& on : plugins) {
    wait.pending.emplace_back(on.plugin, now + on.timeout);
    deadlines_.emplace(now + on.timeout, order, on.plugin);
  }
  Wait& added = waits_.emplace(pod.info.pod->metadata.uid, std::move(wait)).first->second;
  by_order_.emplace(order, &added);
  for (const On& on : added.asked)
    if (!on.key.empty()) by_key_[key_of(added, on)].emplace(order, &added);
}

RejectorKey PermitWaits::key_of(const Wait& wait, const On& on) {
  return {wait.pod->profile->plugin_name(on.plugin), on.key};
}

void PermitWaits::remove(QueuedPod& pod) {
  const auto it = waits_.find(pod.info.pod->metadata.uid);
  if (it == waits_.end()) return;
  for (const auto& pending : it->second.pending) drop_deadline(it->second, pending);
  for (const On& on : it->second.asked) leave_group(it->second, on);
  by_order_.erase(it->second.order);
  waits_.erase(it);
}

std::vector<const QueuedPod*> PermitWaits::pods() const {
  std::vector<const QueuedPod*> all;
  for (const auto& [order, wait] : by_order_) all.push_back(wait->pod);
  return all;
}

std::size_t PermitWaits::size(const RejectorKey& key) const {
  const auto it = by_key_.find(key);
  return it != by_key_.end() ? it->second.size() : 0;
}

std::vector<const QueuedPod*> PermitWaits::pods(const RejectorKey& key) const {
  std::vector<const QueuedPod*> all;
  if (const auto it = by_key_.find(key); it != by_key_.end())
    for (const auto& [order, wait] : it->second) all.push_back(wait->pod);
  return all;
}

std::uint64_t PermitWaits::oldest_events() const {
  return by_order_.empty() ? std::numeric_limits<std::uint64_t>::max() : by_order_.begin()->second->events;
}

void PermitWaits::allow(std::string_view uid, PluginIndex plugin) {
  const auto it = waits_.find(uid);
  if (it != waits_.end()) allow(it->second, plugin);
}

void PermitWaits::allow(Wait& wait, PluginIndex plugin) {
  const auto pending = std::find_if(wait.pending.begin(), wait.pending.end(),
                                    [&](const auto& p) { return p.first == plugin; });
  if (pending != wait.pending.end()) {
    drop_deadline(wait, *pending);
    wait.pending.erase(pending);
    for (const On& on : wait.asked)
      if (on.plugin == plugin) leave_group(wait, on);
  }
  if (wait.pending.empty()) end(wait, {}, kNoPlugin);
}

bool PermitWaits::reject(std::string_view uid, PluginIndex plugin, std::string_view message,
                         Nomination nomination) {
  const auto it = waits_.find(uid);
  if (it == waits_.end()) return false;
  end(it->second, {StatusCode::unschedulable, std::string(message), {}, nomination}, plugin);
  return true;
}

std::size_t PermitWaits::allow_all(const RejectorKey& key) {
  return tell(key, [this](Wait& wait, PluginIndex plugin) { allow(wait, plugin); });
}

std::size_t PermitWaits::reject_all(const RejectorKey& key, std::string_view message, Nomination nomination) {
  return tell(key, [&](Wait& wait, PluginIndex plugin) {
    end(wait, {StatusCode::unschedulable, std::string(message), {}, nomination}, plugin);
  });
}

/// The group goes first: none of them is in it any more.
std::size_t PermitWaits::tell(const RejectorKey& key, const std::function<void(Wait&, PluginIndex)>& each) {
  auto group = by_key_.extract(key);
  if (group.empty()) return 0;
  for (const auto& [order, wait] : group.mapped())
    for (const On& on : wait->asked)
      if (key_of(*wait, on) == key) each(*wait, on.plugin);
  return group.mapped().size();
}

void PermitWaits::leave_group(const Wait& wait, const On& on) {
  if (on.key.empty()) return;
  const auto group = by_key_.find(key_of(wait, on));
  if (group == by_key_.end()) return;
  group->second.erase(wait.order);
  if (group->second.empty()) by_key_.erase(group);
}

/// The first word counts.
void PermitWaits::end(Wait& wait, Status status, PluginIndex by) {
  if (wait.over) return;
  for (const auto& pending : wait.pending) drop_deadline(wait, pending);
  for (const On& on : wait.asked) {
    leave_group(wait, on);
    if (on.plugin == by) status.key = on.key;
  }
  wait.over.emplace(std::move(status), by);
  over_.push_back(wait.order);
}

void PermitWaits::drop_deadline(const Wait& wait, std::pair<PluginIndex, MonoTime> pending) {
  deadlines_.erase({pending.second, wait.order, pending.first});
}

std::optional<PermitWaits::Outcome> PermitWaits::next(MonoTime now) {
  while (!deadlines_.empty() && std::get<MonoTime>(*deadlines_.begin()) <= now) {
    const auto [at, order, plugin] = *deadlines_.begin();
    Wait& wait = *by_order_.find(order)->second;
    const auto asked = std::find_if(wait.asked.begin(), wait.asked.end(),
                                    [by = plugin](const On& on) { return on.plugin == by; });
    end(wait,
        {StatusCode::unschedulable,
         fmt::format("rejected due to timeout after waiting {} at plugin {}",
                     api::Duration{asked->timeout}.to_string(), wait.pod->profile->plugin_name(plugin))},
        plugin);
  }
  while (!over_.empty() && !by_order_.contains(over_.front())) over_.pop_front();
  if (over_.empty()) return std::nullopt;
  Wait& wait = *by_order_.find(over_.front())->second;
  Outcome outcome{wait.pod,          std::move(wait.over->first),
                  wait.over->second, std::move(wait.decision),
                  wait.since,        wait.events};
  over_.pop_front();
  remove(*wait.pod);
  return outcome;
}

std::optional<MonoTime> PermitWaits::next_wakeup() const {
  if (deadlines_.empty()) return std::nullopt;
  return std::get<MonoTime>(*deadlines_.begin());
}

void EventLog::add(Entry entry) {
  ends_[static_cast<std::size_t>(entry.event.kind)] = end() + 1;
  entries_.push_back(std::move(entry));
  if (entries_.size() <= kMost) return;
  entries_.pop_front();
  ++begin_;
}

bool EventLog::any(const EventMask& kinds, std::uint64_t from) const {
  for (std::size_t kind = 0; kind < ends_.size(); ++kind)
    if (ends_[kind] > from && kinds.has(static_cast<EventKind>(kind))) return true;
  return false;
}

void EventLog::forget(std::uint64_t before) {
  while (!entries_.empty() && begin_ < before) {
    entries_.pop_front();
    ++begin_;
  }
}

}  // namespace koord::scheduling
