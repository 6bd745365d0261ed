// Ledger: who was given which CPUs and how much of which memory node, on one machine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/base/result.hpp"
#include "scheduling/plugins/node_numa_resource/numa_node.hpp"

namespace koord::api {
struct Pod;
}
namespace koord::scheduling {
struct PodInfo;
}

namespace koord::scheduling::node_numa_resource {

/// What one pod was given. Kept with the pod (PodInfo::kept) from Reserve on, or from when its annotation is
/// seen; it follows from the topology in nothing. Immutable.
struct Given {
  struct Zone {
    std::int32_t id = 0;
    std::vector<std::pair<Symbol, std::int64_t>> amounts;  // as in ZoneAmounts
    friend bool operator==(const Zone&, const Zone&) = default;
  };
  CpuSet cpus;
  Exclusive exclusive = Exclusive::none;
  std::vector<Zone> zones;
  friend bool operator==(const Given&, const Given&) = default;
};

/// What the pod's annotations say that it was given; nullptr: nothing. An error names the annotation that
/// cannot be read, or that says more than a machine has.
Result<std::shared_ptr<const Given>> given_by_annotations(const api::Pod& pod);

/// What is left of what a reservation was given, for pods to come.
struct Kept {
  CpuSet cpus = {};
  std::vector<Given::Zone> zones = {};
  bool is_all = false;  // they get nothing beside it
};

/// What a pod has of a reservation that was given parts of the machine, both hold, and it is counted once.
/// The sums follow from who holds what, in whatever order they came: with another topology they are made
/// anew. Belongs to the engine's thread.
class Ledger {
 public:
  struct Holder {
    const PodInfo* pod;
    std::shared_ptr<const Given> given;
    std::string in = {};  // the uid of the reservation of which the pod has room
  };

  /// The sums by this topology from now on.
  void bind(const NumaNode& node);
  void add(const NumaNode& node, Holder holder);
  /// Of one that was added, or of somebody in `pod`'s place: what he holds.
  void remove(const NumaNode& node, const PodInfo& pod);

  std::span<const Holder> holders() const { return holders_; }
  bool empty() const { return holders_.empty(); }
  /// nullptr: the pod holds nothing.
  const Given* of(const PodInfo& pod) const;
  /// Of this uid; nullptr: it holds nothing.
  const Holder* find(std::string_view uid) const;
  Kept kept(const Holder& reservation) const;
  /// CPUs that anybody has.
  const CpuSet& taken() const { return taken_; }
  /// By CPU, by how many; none beyond its end.
  std::span<const std::uint16_t> refs() const { return refs_; }
  const CpuSet& alone_on_core() const { return alone_on_core_; }
  const CpuSet& alone_on_zone() const { return alone_on_zone_; }
  /// By zone and resource of the node's amounts; not amplified. No more of what pods have of reservations is
  /// counted once than these have.
  std::int64_t allocated(std::size_t zone, std::size_t resource, std::size_t resources) const {
    const std::size_t at = zone * resources + resource;
    return at < allocated_.size() ? allocated_[at] - (at < twice_.size() ? twice_[at] : 0) : 0;
  }
  /// Whether anybody has some of the zone's amounts.
  bool has_shares(std::size_t zone, std::size_t resources) const {
    for (std::size_t at = zone * resources; at < (zone + 1) * resources && at < allocated_.size(); ++at)
      if (allocated_[at] != 0) return true;
    return false;
  }
  /// Where only pods of one memory node are, and where one of several is.
  NumaMask single() const;
  NumaMask shared() const;

 private:
  void count(const NumaNode& node, const Given& given, bool take_back);
  void mark_alone();
  void count_twice(const NumaNode& node);
  static std::vector<Given::Zone> taken_of(const Holder& reservation, std::span<const Holder* const> lodgers);

  std::vector<Holder> holders_;
  CpuSet taken_, alone_on_core_, alone_on_zone_;
  std::vector<std::uint16_t> refs_;
  std::vector<std::int64_t> allocated_, twice_;
  std::size_t lodgers_ = 0;                                    // with shares of zones
  std::vector<std::pair<std::uint16_t, std::uint16_t>> pods_;  // by zone: of one, of several
  std::vector<std::int32_t> zone_ids_;                         // of the same
};

}  // namespace koord::scheduling::node_numa_resource
