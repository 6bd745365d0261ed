// A plan's memory: intents are overwritten from tick to tick, not made anew.
#include "framework/strategy.hpp"

#include <utility>

namespace koord::koordlet {

std::string to_string(const KnobValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::get<host::CpuSet>(value).to_string();
}

Intent& Plan::want(host::Knob knob, std::string_view group, KnobValue value, std::string_view reason) {
  const auto* cpus = std::get_if<host::CpuSet>(&value);
  Intent* intent = &dropped_;
  if (!cpus || !cpus->empty()) {
    if (size_ == intents_.size()) intents_.emplace_back();
    intent = &intents_[size_++];
  }
  intent->knob = knob;
  intent->group = group;
  intent->value = std::move(value);
  intent->strategy = strategy_;
  intent->reason = reason;
  intent->audit_reason = kUpdateCgroups;
  intent->reach = {};
  intent->undo.reset();
  return *intent;
}

void Plan::start(std::string_view strategy) {
  strategy_ = strategy;
  size_ = 0;
  held_ = false;
}

}  // namespace koord::koordlet
