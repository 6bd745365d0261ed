// BestEffort: what CPU suppression and CPU blame both need of the best-effort groups: what they and the
// others use, what they are limited to, and a quota shared out between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "framework/qos/plugin.hpp"
#include "plugins/cpu_suppress/formula.hpp"

namespace koord::koordlet::cpu_suppress {

/// A group that holds best-effort work.
struct BeGroup {
  std::string_view group;
  bool kubernetes = false;                 // the kubelet's: nobody else limits it
  bool all = false;                        // it is all that is best-effort
  std::optional<std::size_t> application;  // that is it: its place in the inventory
  double used_milli = kUnknown;
};

/// What a NodeSLO says of suppression.
struct Settings {
  bool enabled = false;
  bool by_quota = false;
  std::int64_t threshold_percent = -1;
  std::optional<std::int64_t> min_percent;
  std::string_view nonsense;  // why a NodeSLO that enables it is not obeyed

  bool is_on() const { return enabled && nonsense.empty(); }
};
Settings settings_of(const api::NodeSloSpec& slo);

/// How many ticks in a row may miss a reading before their sums count although they take from somebody: by
/// then what cannot be read has gone.
inline constexpr int kPatience = 3;

class BestEffort {
 public:
  explicit BestEffort(const PluginContext& context) : context_(context) {}

  /// True if the inventory or the machine are others than before: then what is here is, too.
  bool follow(const std::shared_ptr<const Inventory>& inventory);
  /// The same for an inventory that is not kept.
  void look_at(const Inventory& inventory);
  /// What the groups used in this tick.
  void measure(const TickView& view);
  /// Who used what in it.
  const Load& weigh(const TickView& view);

  std::span<const BeGroup> groups() const { return groups_; }
  /// The Node's CPUs, but no more than are online.
  std::int64_t capacity_milli() const { return load_.capacity_milli; }
  const std::shared_ptr<const host::Topology>& topology() const { return topology_; }

  /// Reads the quotas of the groups that exist: their sum in us per 100 ms, kUnlimited where one has none.
  /// Nothing: no group exists.
  std::optional<std::int64_t> present_quota();
  /// How many groups it found.
  std::size_t present_groups() const { return present_.size(); }
  /// Shares a quota out between the groups that present_quota() found; what would grow by less than 1% of
  /// the node's CPUs stays. What they have together then.
  std::int64_t want_quota(std::int64_t us, std::string_view reason, std::string_view audit_reason,
                          Plan& plan);

 private:
  struct Present {
    const BeGroup* group;
    std::int64_t quota, period;  // us per 100 ms; us
  };
  std::optional<std::int64_t> number(host::Knob knob, std::string_view group) const;
  std::optional<std::int64_t> original_quota(std::string_view group, std::int64_t period) const;

  const PluginContext& context_;
  std::shared_ptr<const Inventory> inventory_;
  std::shared_ptr<const host::Topology> topology_;
  std::vector<BeGroup> groups_;
  std::vector<Consumer> pods_, applications_;  // who they are; what they use is load_'s
  Load load_;
  // Of one tick; kept for their memory.
  std::int64_t sum_ = 0;
  std::vector<Present> present_;
  std::vector<Claim> claims_;
  Shares shares_;
};

}  // namespace koord::koordlet::cpu_suppress
