// Values written ahead of their strategies: see ahead.hpp.
#include "framework/qos/ahead.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "framework/executor/knob_values.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::koordlet {

namespace {

/// A pod's group, or one in it, that nobody has told of. Those of classes hold pods, and are no pod's.
bool is_untold(const Inventory& inventory, std::string_view group) {
  using host::KubeQos;
  const auto folder = [&](KubeQos qos) {
    return host::kubepods_folder(inventory.driver, qos, inventory.kubelet_root);
  };
  if (!host::is_below(group, folder(KubeQos::guaranteed)) || group == folder(KubeQos::burstable) ||
      group == folder(KubeQos::besteffort))
    return false;
  return std::ranges::none_of(inventory.all_pods, [&](const std::shared_ptr<const PodInfo>& pod) {
    return group == pod->group || group == pod->sandbox_group ||
           std::ranges::find(pod->containers, group, &ContainerInfo::group) != pod->containers.end();
  });
}

}  // namespace

Result<> Ahead::write(std::span<const Value> values, Executor& executor, const Arbiter& arbiter,
                      Journal& journal, MonoTime now) {
  std::erase_if(until_, [&](const auto& one) { return one.second <= now; });
  std::vector<WriteRequest> requests;
  for (const Value& one : values) {
    // What others hang on (a group that is idle has no shares) is its strategy's.
    if (one.group.empty() || !host::can_be_undone(one.knob) || host::row(one.knob).suspends) continue;
    const auto target = executor.find(one.knob, one.group);
    if (!target || arbiter.find(*target) != nullptr) continue;
    const auto found = executor.setting(one.knob, one.group);
    if (!found || same_value(one.knob, executor.version(), *found, one.value)) continue;
    if (journal.find(one.knob, one.group) == nullptr || executor.is_renewed(*target))
      journal.note({one.knob, one.group, 0, 0, *found, std::string(one.strategy)});
    until_[{one.knob, one.group}] = now + kPatience;
    requests.push_back({.target = *target, .value = &one.value, .reason = one.reason});
  }
  if (requests.empty()) return {};
  Result<> saved = journal.save();
  (void)executor.apply(requests, Executor::Pace::at_once);  // the next tick looks at what was refused
  return saved;
}

Result<> Ahead::note(std::span<const Given> values, Executor& executor, Journal& journal, MonoTime now) {
  bool any = false;
  for (const Given& one : values) {
    if (!host::can_be_undone(one.knob) || journal.find(one.knob, one.group) != nullptr) continue;
    const auto found = executor.setting(one.knob, one.group);
    if (!found || !same_value(one.knob, executor.version(), *found, one.given)) continue;
    if (same_value(one.knob, executor.version(), *found, one.free)) continue;
    journal.note({one.knob, one.group, 0, 0, one.free, one.strategy});
    until_[{one.knob, one.group}] = now + kPatience;
    any = true;
  }
  return any ? journal.save() : Result<>();
}

void Ahead::begin(MonoTime now) {
  if (!adopts_until_) adopts_until_ = now + kPatience;
}

bool Ahead::covers(const Journal::Entry& entry, MonoTime now) const {
  const auto found = until_.find(Place(entry.knob, entry.group));
  return found != until_.end() && found->second > now && entry.key.empty();
}

bool Ahead::awaits(const Journal::Entry& entry, const Inventory& inventory, MonoTime now) const {
  return adopts_until_ && now < *adopts_until_ && is_untold(inventory, entry.group);
}

}  // namespace koord::koordlet
