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
  const auto it = waits_.emplace(pod.info.pod->metadata.uid, std::move(wait)).first;
  by_order_.emplace(order, &it->second);
}

void PermitWaits::remove(QueuedPod& pod) {
  const auto it = waits_.find(pod.info.pod->metadata.uid);
  if (it == waits_.end()) return;
  for (const auto& pending : it->second.pending) drop_deadline(it->second, pending);
  std::erase(over_, it->second.order);
  by_order_.erase(it->second.order);
  waits_.erase(it);
}

std::vector<const QueuedPod*> PermitWaits::pods() const {
  std::vector<const QueuedPod*> all;
  for (const auto& [order, wait] : by_order_) all.push_back(wait->pod);
  return all;
}

std::uint64_t PermitWaits::oldest_events() const {
  return by_order_.empty() ? std::numeric_limits<std::uint64_t>::max() : by_order_.begin()->second->events;
}

void PermitWaits::allow(std::string_view uid, PluginIndex plugin) {
  const auto it = waits_.find(uid);
  if (it == waits_.end()) return;
  Wait& wait = it->second;
  const auto pending = std::find_if(wait.pending.begin(), wait.pending.end(),
                                    [&](const auto& p) { return p.first == plugin; });
  if (pending != wait.pending.end()) {
    drop_deadline(wait, *pending);
    wait.pending.erase(pending);
  }
  if (wait.pending.empty()) end(wait, {}, kNoPlugin);
}

bool PermitWaits::reject(std::string_view uid, PluginIndex plugin, std::string_view message) {
  const auto it = waits_.find(uid);
  if (it == waits_.end()) return false;
  end(it->second, {StatusCode::unschedulable, std::string(message)}, plugin);
  return true;
}

/// The first word counts.
void PermitWaits::end(Wait& wait, Status status, PluginIndex by) {
  if (wait.over) return;
  for (const auto& pending : wait.pending) drop_deadline(wait, pending);
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
  if (over_.empty()) return std::nullopt;
  Wait& wait = *by_order_.find(over_.front())->second;
  Outcome outcome{wait.pod,          std::move(wait.over->first),
                  wait.over->second, std::move(wait.decision),
                  wait.since,        wait.events};
  remove(*wait.pod);
  return outcome;
}

std::optional<MonoTime> PermitWaits::next_wakeup() const {
  if (deadlines_.empty()) return std::nullopt;
  return std::get<MonoTime>(*deadlines_.begin());
}

void EventLog::add(Entry entry) {
  entries_.push_back(std::move(entry));
  if (entries_.size() <= kMost) return;
  entries_.pop_front();
  ++begin_;
}

void EventLog::forget(std::uint64_t before) {
  while (!entries_.empty() && begin_ < before) {
    entries_.pop_front();
    ++begin_;
  }
}

}  // namespace koord::scheduling
