// A plan's memory: intents are overwritten from tick to tick, not made anew.
#include "framework/plan/strategy.hpp"

#include <algorithm>
#include <utility>

namespace koord::koordlet {

std::string to_string(const KnobValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return std::get<host::CpuSet>(value).to_string();
}

Intent& Plan::next() {
  if (size_ == intents_.size()) intents_.emplace_back();
  return intents_[size_++];
}

Intent& Plan::want(host::Knob knob, std::string_view group, KnobValue value, std::string_view reason) {
  const auto* cpus = std::get_if<host::CpuSet>(&value);
  Intent& intent = cpus && cpus->empty() ? dropped_ : next();
  intent.knob = knob;
  intent.group = group;
  intent.key.clear();
  intent.value = std::move(value);
  intent.strategy = strategy_;
  intent.reason = reason;
  intent.audit_reason = kUpdateCgroups;
  intent.reach = {};
  const auto& free = host::row(knob).default_value;
  intent.undo = free ? std::optional<KnobValue>(*free) : std::nullopt;
  intent.held = false;
  intent.yields = false;
  intent.unique = false;
  return intent;
}

void Plan::act(std::shared_ptr<const PodInfo> pod, std::string message) {
  actions_.push_back({.pod = std::move(pod), .message = std::move(message), .strategy = strategy_});
}

bool Plan::names(host::Knob knob, std::string_view group, std::string_view key,
                 std::size_t among_first) const {
  const auto all = intents().first(among_first);
  return std::any_of(all.begin(), all.end(), [&](const Intent& intent) {
    return intent.knob == knob && intent.group == group && intent.key == key;
  });
}

bool Plan::repeats() const {
  if (!is_whole() || size_ != size_before_) return false;
  const auto same = [](const Intent& a, const Intent& b) {
    return a.knob == b.knob && a.group == b.group && a.key == b.key && a.value == b.value &&
           a.undo == b.undo && a.reach == b.reach && a.yields == b.yields;
  };
  return std::equal(intents_.begin(), intents_.begin() + static_cast<std::ptrdiff_t>(size_), before_.begin(),
                    same);
}

void Plan::start(std::string_view strategy) {
  strategy_ = strategy;
  std::swap(intents_, before_);
  size_before_ = std::exchange(size_, 0);
  actions_.clear();
  processes_.clear();
  cache_groups_.clear();
  held_ = false;
  kept_.reset();
}

void Plan::keep_held() {
  if (is_whole()) return;
  const std::size_t named = size_;
  for (std::size_t i = 0; i < size_before_; ++i) {
    Intent& before = before_[i];
    if (!keeps(before.knob) || names(before.knob, before.group, before.key, named)) continue;
    before.held = true;
    std::swap(next(), before);
  }
}

}  // namespace koord::koordlet
