// Search: the devices of all claims, found depth first.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "scheduling/plugins/dynamic_resources/allocate/asks.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/constraints.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/counters.hpp"

namespace koord::scheduling::dynamic_resources {

/// A device of a claim, for one of its requests.
struct Chosen {
  std::uint32_t ask;
  std::uint32_t device;  // of NodePools::devices
  bool shared = false;   // a part of it, as `consumed` says
  bool took_counters = false;
  api::ResourceList consumed;
};

class Search {
 public:
  /// Both outlive it; `asks` are bound.
  Search(const Question& question, Asks& asks);

  /// Whether all claims get all that they ask for.
  bool run();
  /// Why the search ended early.
  const Failure& failure() const { return failure_; }
  /// By claim, in the order in which they were chosen.
  const std::vector<std::vector<Chosen>>& chosen() const { return chosen_; }
  std::uint64_t steps() const { return steps_; }

 private:
  enum class Outcome : std::uint8_t {
    found,
    none,
    too_many,  // a claim would have more than kMostResults, whatever was chosen before
    failed,
  };
  /// Where the search stands.
  struct At {
    std::size_t claim = 0, request = 0;
  };

  bool enter();  // a step; false: the budget is spent
  Outcome from(At at);
  Outcome any_way(At at, const Asks::Request& request);
  Outcome devices(At at, std::uint32_t ask, std::int64_t index, std::uint32_t first);
  Outcome all_devices(At at, std::uint32_t ask, std::int64_t index);
  Outcome one_of(At at, std::uint32_t ask, std::int64_t index, std::uint32_t first);
  /// How many there are, from `first` on, that can still be had; not more than `most` are looked for.
  Outcome enough(At at, std::uint32_t ask, std::uint32_t first, std::int64_t most);
  /// Whether nothing but what the device is, and who has it, speaks against it.
  bool eligible(At at, std::uint32_t ask, std::uint32_t device);
  /// Chooses the device if all speaks for it; `must`: a constraint that forbids it is a mistake of the claim.
  bool choose(At at, std::uint32_t ask, std::uint32_t device, bool must);
  void undo(At at);

  /// On another memory node than it may be.
  bool elsewhere(std::uint32_t device) const;
  bool shared(std::uint32_t device) const;
  bool in_use(At at, const Ask& ask, std::uint32_t device) const;
  bool tolerated(const Ask& ask, std::uint32_t device) const;
  const api::ResourceList* being_consumed(std::uint32_t device) const;

  const Question& question_;
  const NodePools& pools_;
  Asks& asks_;
  Failure failure_;
  std::uint64_t steps_ = 0;
  std::vector<std::vector<Chosen>> chosen_;
  std::vector<std::vector<Constraint>> constraints_;  // by claim
  std::vector<std::uint32_t> users_;                  // by device: how often it was chosen as a whole
  struct Shares {
    api::ResourceList capacity;
    std::uint32_t count = 0;
  };
  std::unordered_map<std::uint32_t, Shares> shares_;  // of devices that were chosen in part
  Counters counters_;
};

}  // namespace koord::scheduling::dynamic_resources
