// FeatureGates: named switches with a default and a stage, set by --feature-gates.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord {

enum class Stage : std::uint8_t { alpha, beta, ga, deprecated };
std::string_view to_string(Stage stage);  // as Kubernetes prints it: ALPHA, BETA, "" and DEPRECATED

/// One row of a role's table.
struct FeatureGate {
  std::string_view name;
  bool enabled = false;  // the default
  Stage stage = Stage::alpha;
  bool locked = false;  // to its default
  std::string_view help = {};
};

/// The help of a gate whose part is not there.
inline constexpr std::string_view kNoEffectYet = "No effect in this version.";

/// Rows as Kubernetes' habits have them: on by default is beta, off is alpha.
constexpr FeatureGate gate_on(std::string_view name, std::string_view help = kNoEffectYet) {
  return {name, true, Stage::beta, false, help};
}
constexpr FeatureGate gate_off(std::string_view name, std::string_view help = kNoEffectYet) {
  return {name, false, Stage::alpha, false, help};
}

/// Set while starting, then only read.
class FeatureGates {
 public:
  FeatureGates() = default;
  /// The table's texts outlive the gates. Two rows of one name with different defaults are misuse.
  explicit FeatureGates(std::span<const FeatureGate> table) { add(table); }
  void add(std::span<const FeatureGate> table);

  /// "A=true,B=false"; AllAlpha and AllBeta set the gates of that stage that nobody has named. Nothing is
  /// changed on error. The messages are Kubernetes'; an unknown name adds the nearest one.
  Result<> set(std::string_view text);
  /// Asking for a gate that is in no table is misuse: std::logic_error.
  bool enabled(std::string_view name) const;
  bool known(std::string_view name) const { return gates_.contains(name); }

  struct State {
    const FeatureGate* gate;
    bool enabled;
  };
  /// All gates by name.
  std::vector<State> list() const;

 private:
  struct Value {
    const FeatureGate* gate = nullptr;
    bool enabled = false;
    bool named = false;  // by set()
  };
  std::map<std::string_view, Value> gates_;
};

}  // namespace koord
