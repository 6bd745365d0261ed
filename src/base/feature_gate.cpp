#include "koord/base/feature_gate.hpp"

#include <optional>
#include <stdexcept>

#include "koord/base/suggest.hpp"

namespace koord {

namespace {

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";

std::string_view trim(std::string_view s) {
  const auto first = s.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

/// Go's strconv.ParseBool.
std::optional<bool> parse_bool(std::string_view s) {
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (s == yes) return true;
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (s == no) return false;
  return std::nullopt;
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
      throw std::logic_error("feature gate " + std::string(gate.name) + " has two defaults");
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
      return Error(Code::invalid, "missing bool value for " + std::string(name));
    const std::string_view value = trim(item.substr(equals + 1));
    const auto on = parse_bool(value);
    if (!on) {
      return Error(Code::invalid, "invalid value of " + std::string(name) + "=" + std::string(value) +
                                      ", err: strconv.ParseBool: parsing \"" + std::string(value) +
                                      "\": invalid syntax");
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
      std::string message = "unrecognized feature gate: " + std::string(name);
      if (const auto best = nearest(name, names)) message += "; did you mean " + std::string(*best) + "?";
      return Error(Code::invalid, std::move(message));
    }
    const FeatureGate& gate = *it->second.gate;
    if (gate.locked && *on != gate.enabled) {
      return Error(Code::invalid, "cannot set feature gate " + std::string(name) + " to " +
                                      (*on ? "true" : "false") + ", feature is locked to " +
                                      (gate.enabled ? "true" : "false"));
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
  if (it == gates_.end()) throw std::logic_error("unknown feature gate: " + std::string(name));
  return it->second.enabled;
}

std::vector<FeatureGates::State> FeatureGates::list() const {
  std::vector<State> out;
  out.reserve(gates_.size());
  for (const auto& [name, value] : gates_) out.push_back({value.gate, value.enabled});
  return out;
}

}  // namespace koord
