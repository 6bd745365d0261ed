#include "koord/base/feature_gate.hpp"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>

#include "koord/base/suggest.hpp"
#include "koord/base/text.hpp"

namespace koord {

namespace {

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";

std::string_view trim(std::string_view s) {
  const auto first = s.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::alpha: return "ALPHA";
    case Stage::beta: return "BETA";
    case Stage::ga: return "";
    case Stage::deprecated: return "DEPRECATED";
  }
  return "";
}

void FeatureGates::add(std::span<const FeatureGate> table) {
  for (const FeatureGate& gate : table) {
    const auto [it, added] = gates_.emplace(gate.name, Value{&gate, gate.enabled, false});
    if (!added && it->second.gate->enabled != gate.enabled)
      throw std::logic_error(fmt::format("feature gate {} has two defaults", gate.name));
  }
}

Result<> FeatureGates::set(std::string_view text) {
  auto gates = gates_;
  std::optional<bool> all_alpha, all_beta;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = trim(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    const std::string_view name = trim(item.substr(0, equals));
    if (equals == std::string_view::npos)
      return Error(Code::invalid, fmt::format("missing bool value for {}", name));
    const std::string_view value = trim(item.substr(equals + 1));
    const auto on = parse_bool(value);
    if (!on) {
      return Error(
          Code::invalid,
          fmt::format("invalid value of {}={}, err: strconv.ParseBool: parsing \"{}\": invalid syntax", name,
                      value, value));
    }
    if (name == kAllAlpha) {
      all_alpha = on;
      continue;
    }
    if (name == kAllBeta) {
      all_beta = on;
      continue;
    }
    const auto it = gates.find(name);
    if (it == gates.end()) {
      std::vector<std::string_view> names{kAllAlpha, kAllBeta};
      for (const auto& [known, state] : gates) names.push_back(known);
      std::string message = fmt::format("unrecognized feature gate: {}", name);
      if (const auto best = nearest(name, names)) message += fmt::format("; did you mean {}?", *best);
      return Error(Code::invalid, std::move(message));
    }
    const FeatureGate& gate = *it->second.gate;
    if (gate.locked && *on != gate.enabled) {
      return Error(Code::invalid, fmt::format("cannot set feature gate {} to {}, feature is locked to {}",
                                              name, *on, gate.enabled));
    }
    it->second.enabled = *on;
    it->second.named = true;
  }
  for (auto& [name, state] : gates) {
    const auto& all = state.gate->stage == Stage::alpha  ? all_alpha
                      : state.gate->stage == Stage::beta ? all_beta
                                                         : std::nullopt;
    if (all && !state.named && !state.gate->locked) state.enabled = *all;
  }
  gates_ = std::move(gates);
  return {};
}

bool FeatureGates::enabled(std::string_view name) const {
  const auto it = gates_.find(name);
  if (it == gates_.end()) throw std::logic_error(fmt::format("unknown feature gate: {}", name));
  return it->second.enabled;
}

std::vector<FeatureGates::State> FeatureGates::list() const {
  std::vector<State> out;
  out.reserve(gates_.size());
  for (const auto& [name, value] : gates_) out.push_back({value.gate, value.enabled});
  return out;
}

}  // namespace koord
