// ClusterFigures: adds up a cluster's objects, as they are read, to a ClusterView.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/api/figures/cluster_view.hpp"

namespace koord::api {
struct ElasticQuota;
struct Node;
struct NodeMetric;
struct ObjectMeta;
struct Pod;
struct PodGroup;
struct Reservation;
}  // namespace koord::api

namespace koord::figures {

/// A value of one thread. Bounded by nodes, quotas, gangs and reservations, not by pods: of those that wait,
/// what holds them back is counted, with a few names. Objects are anybody's: amounts are clamped, texts kept
/// as they are.
class ClusterFigures {
 public:
  /// Nodes come first.
  void add(const api::Node& node);
  void add(const api::NodeMetric& metric);
  /// A pod that has a node counts with the batch resources that it asks for; a pod without one waits; either
  /// is a member of the gang that it names.
  void add(const api::Pod& pod);
  /// One without a node waits, as pods do.
  void add(const api::Reservation& reservation);
  /// What it is sure of, uses, may use now and is asked for, as the scheduler has written it; the pods that
  /// wait for it are those of which the scheduler said so. The root says what all of them do.
  void add(const api::ElasticQuota& quota);
  void add(const api::PodGroup& group);

  /// All of that kind were added: what pods name and is not among them does not exist.
  void know_quotas() { knows_quotas_ = true; }
  void know_groups() { knows_groups_ = true; }
  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// Shares are of the nodes that have reported: of others nobody knows what they use.
  ClusterView view(std::string_view server, api::Time now) const;

 private:
  struct Sum {
    double cpu = 0, memory = 0;  // CPUs and bytes
    Sum& operator+=(const Sum& other) {
      cpu += other.cpu;
      memory += other.memory;
      return *this;
    }
    Amount amount() const;
  };
  enum Tier : std::uint8_t { prod, mid, batch, free_, none, system, kTiers };
  struct Tiers {
    std::array<Sum, kTiers> used{};
    std::array<std::int64_t, kTiers> pods{};
    std::vector<TierRow> rows(bool all) const;
  };
  struct Node {
    std::string name;
    bool ready = false, cordoned = false;
    Sum capacity, lent, asked, used;
    Tiers tiers;
    std::optional<api::Time> reported;
  };
  struct Reason {
    std::int64_t pods = 0;
    std::vector<std::string> names;  // the first few
    std::optional<api::Time> oldest;
  };
  struct Quota {
    std::string name, parent;
    Sum min, used, runtime, request;
    bool lends = true;
  };
  struct Gang {
    bool exists = false, ended = false;
    std::optional<std::int64_t> min;
    std::int64_t pods = 0, placed = 0, waiting = 0;
    std::optional<api::Time> since;
    std::string why;
  };
  static Sum sum(const api::ResourceList& list, std::string_view cpu, std::string_view memory);
  static Tier tier(std::string_view priority);
  static std::string state(const Node& node, api::Time now);
  static NodeRow row(const Node& node, api::Time now);
  void wait(std::string why, std::string name, const api::Time& since);
  void add_member(const api::Pod& pod, const std::string& why);
  void add_quotas(ClusterView& view) const;
  void add_gangs(ClusterView& view) const;
  void add_waiting(ClusterView& view) const;

  std::vector<Node> nodes_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::map<std::string, Reason> waiting_;  // by what holds them back
  std::vector<Quota> quotas_;
  std::map<std::string, std::int64_t, std::less<>> quota_waiters_;  // pods by the quota that refuses them
  std::map<std::string, std::int64_t, std::less<>> quotas_named_;  // waiting pods by the quota that they name
  std::map<std::string, Gang, std::less<>> gangs_;                 // by namespace/name
  std::vector<ReservationRow> reservations_;
  std::vector<std::string> notes_;
  std::int64_t wait_ = 0, waiting_reservations_ = 0, unlisted_ = 0;  // the second are among the first
  bool knows_quotas_ = false, knows_groups_ = false;
};

}  // namespace koord::figures
