// The levels of nodes: see overcommit_level.hpp.
#include "framework/noderesource/overcommit_level.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/json/value.hpp"

namespace koord::manager {
namespace {

constexpr std::int64_t kWhole = 100;

std::int64_t step(const ColocationStrategy& strategy) {
  return std::clamp<std::int64_t>(strategy.abnormal_node_step_percent.value_or(0), 0, kWhole);
}

std::chrono::seconds span(const ColocationStrategy& strategy) {
  constexpr std::int64_t kDefault = 10, kDay = std::int64_t{24} * 60;
  return std::chrono::minutes(
      std::clamp<std::int64_t>(strategy.abnormal_node_recover_minutes.value_or(kDefault), 1, kDay));
}

}  // namespace

bool lowers_level(const ColocationStrategy& strategy) { return step(strategy) > 0; }

OvercommitLevel OvercommitLevel::of(const api::Node& node) {
  const auto text = api::annotation_text(node.metadata.annotations, kLevelAnnotation);
  if (!text || !*text) return {};
  const auto document = json::parse(**text);
  if (!document || !document->is_object()) return {};
  const auto percent = json::int_at(*document, "percent");
  const auto time = api::Time::parse(json::text_at(*document, "time"));
  if (!percent || *percent < 0 || *percent > kWhole || !time) return {};
  return {*percent, *time};
}

std::string OvercommitLevel::to_string() const {
  return fmt::format(R"({{"percent":{},"time":"{}"}})", percent, time.to_string());
}

OvercommitLevel OvercommitLevel::lowered(const ColocationStrategy& strategy, const api::Time& now) const {
  if (percent < kWhole && now.at >= time.at && now.at - time.at < std::chrono::minutes(1)) return *this;
  return {std::max<std::int64_t>(percent - step(strategy), 0), now};
}

OvercommitLevel OvercommitLevel::recovered(const ColocationStrategy& strategy, const api::Time& now) const {
  if (percent >= kWhole || step(strategy) == 0) return {};
  if (time.at > now.at) return {percent, now};  // written by a clock that was wrong
  const std::int64_t spans = (now.at - time.at) / span(strategy);
  if (spans <= 0) return *this;
  if (spans >= kWhole) return {};
  const std::int64_t risen = percent + spans * step(strategy);
  if (risen >= kWhole) return {};
  return {risen, api::Time(time.at + spans * span(strategy))};
}

std::optional<std::chrono::seconds> OvercommitLevel::rises_in(const ColocationStrategy& strategy,
                                                              const api::Time& now) const {
  if (percent >= kWhole) return std::nullopt;
  return std::max(std::chrono::seconds(1),
                  std::chrono::duration_cast<std::chrono::seconds>(time.at + span(strategy) - now.at));
}

}  // namespace koord::manager
