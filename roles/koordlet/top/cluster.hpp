// What `koord top --cluster` shows: nodes, tiers, what is lent to batch work, quotas and who waits for a
// node, added up from the objects as they are read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"

namespace koord::koordlet {

enum class ClusterOrder : std::uint8_t { cpu, batch, name };
/// By "cpu" (the busiest first), "batch" (who lends most first) or "name".
std::optional<ClusterOrder> parse_cluster_order(std::string_view text);

struct ClusterPage {
  ClusterOrder order = ClusterOrder::cpu;
  std::size_t number = 1;  // from 1
  std::size_t rows = 0;    // nodes a page; 0: as many as fit, all where nothing bounds them
};

/// Bounded by the nodes, not by the pods: of those that wait, what holds them back is counted, with a few
/// names.
class ClusterFigures {
 public:
  /// Nodes come first.
  void add(const api::Node& node);
  void add(const api::NodeMetric& metric);
  /// A best-effort pod that has a node counts with what it asked for; a pod without one waits.
  void add(const api::Pod& pod);
  /// One without a node waits, as pods do.
  void add(const api::Reservation& reservation);
  /// What it is sure of, uses, may use now and is asked for, as the scheduler has written it; the pods that
  /// wait for it are those of which the scheduler said so. The root says what all of them do.
  void add(const api::ElasticQuota& quota);

  /// Shares are of the nodes that have reported: of others nobody knows what they use.
  /// Lines of at most `width` columns (at least 80), each ended; what does not fit into `height` lines is
  /// counted (0: everything is shown).
  std::string render(std::string_view server, api::Time now, const ClusterPage& page, std::size_t width,
                     std::size_t height) const;

 private:
  struct Amount {
    double cpu = 0, memory = 0;  // CPUs and bytes
    Amount& operator+=(const Amount& other) {
      cpu += other.cpu;
      memory += other.memory;
      return *this;
    }
  };
  enum Tier : std::uint8_t { prod, mid, batch, free_, none, system, kTiers };
  struct Node {
    std::string name;
    bool ready = false, cordoned = false;
    Amount capacity, lent, asked, used;
    std::array<Amount, kTiers> by_tier{};
    std::optional<api::Time> reported;
  };
  struct Reason {
    std::size_t pods = 0;
    std::vector<std::string> names;  // the first few
    std::optional<api::Time> oldest;
  };
  struct Quota {
    std::string name;
    Amount min, used, runtime, request;
    bool lends = true;
    double lent() const { return lends ? std::max(0.0, min.cpu - std::max(request.cpu, used.cpu)) : 0; }
    double borrowed() const { return std::max(0.0, used.cpu - min.cpu); }
  };
  static Amount amount(const api::ResourceList& list, std::string_view cpu, std::string_view memory);
  static Tier tier(std::string_view priority);
  static std::string state(const Node& node, api::Time now);
  void wait(std::string why, std::string name, const api::Time& since);
  void add_head(std::string& out, std::string_view server, api::Time now, std::size_t width) const;
  void add_tiers(std::string& out, std::size_t width) const;
  void add_waiting(std::string& out, api::Time now, std::size_t width, std::size_t most) const;
  void add_quotas(std::string& out, std::size_t width, std::size_t most) const;

  std::vector<Node> nodes_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::array<std::size_t, kTiers> pods_{};  // that were reported
  std::map<std::string, Reason> waiting_;   // by what holds them back
  std::vector<Quota> quotas_;
  std::map<std::string, std::size_t, std::less<>> quota_waiters_;  // pods by the quota that refuses them
  std::size_t wait_ = 0, reservations_ = 0, unlisted_ = 0;         // the second are among the first
};

}  // namespace koord::koordlet
