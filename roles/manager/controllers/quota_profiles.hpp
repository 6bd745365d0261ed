// quotaprofile: each ElasticQuotaProfile has a tree of quotas, whose root has what the profile's nodes have.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/quota_v1alpha1/elastic_quota_profile.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/kube/work_queue.hpp"

namespace koord::manager {

/// What the nodes of a profile have together.
struct ProfileTotals {
  api::ResourceList total;
  api::ResourceList unschedulable;  // part of it, on nodes that are cordoned or not ready
  friend bool operator==(const ProfileTotals&, const ProfileTotals&) = default;
};

/// The tree's id where the profile says none: the decimal FNV-1a of 64 bits of "NAMESPACE/NAME".
std::string default_tree_id(const api::ObjectMeta& profile);
/// What the root has of an amount: the product, cut to whole thousandths of a CPU and whole units of the
/// rest.
api::Quantity scaled(const api::Quantity& amount, std::string_view resource, double ratio);
/// Both with the profile's ratio; one that cannot be read, or is not in (0, 1], is 1.
void apply_ratio(const api::ElasticQuotaProfileSpec& spec, ProfileTotals& totals);
/// The root as it shall be; what else `before` (empty: there is none) says stays. `tree` is the tree's id.
api::ElasticQuota root_quota(const api::ElasticQuotaProfile& profile, const std::string& tree,
                             const ProfileTotals& totals, api::ElasticQuota before);
/// Whether a change of a node changes what profiles come to.
bool changes_totals(const api::Node& before, const api::Node& after);

/// A profile is looked at when it changes, and every ten seconds; one that fails, after two. Quotas of
/// profiles that are gone stay. Belongs to the event loop's thread.
class QuotaProfiles {
 public:
  static constexpr std::chrono::seconds kPeriod{10}, kRetry{2};

  struct Parts {
    Clock& clock;
    Logger log;
    kube::Client& client;
    kube::Informer<api::ElasticQuotaProfile> profiles;
    kube::Informer<api::ElasticQuota> quotas;
    kube::Informer<api::Node> nodes;
    metrics::Registry& registry;
    std::function<bool()> may_write;
    std::function<void(const api::ElasticQuotaProfile&, std::string_view reason, std::string_view note)> warn;
  };
  explicit QuotaProfiles(Parts parts);

  void look_at(const api::ElasticQuotaProfile& profile) { queue_.add(key_of(profile.metadata)); }
  void nodes_changed() { ++nodes_version_; }
  /// From now on there is work; `tasks` belongs to the role.
  void start(TaskGroup& tasks);
  void stop() { queue_.close(); }

  static const metrics::Table kMetrics;

 private:
  struct Known {
    std::uint64_t nodes_version = 0;
    std::string profile_version;
    ProfileTotals totals;
  };
  static std::string key_of(const api::ObjectMeta& meta);
  Task<Result<>> work();
  /// When it is to be looked at again.
  Task<Result<nanoseconds>> reconcile(std::string key);
  Task<Result<>> write(const api::ElasticQuotaProfile& profile, const std::string& tree,
                       const ProfileTotals& totals, std::string& reason);
  /// An error names what is wrong with the selector.
  Result<const ProfileTotals*> totals_of(const std::string& key, const api::ElasticQuotaProfile& profile);

  Parts parts_;
  metrics::Family<metrics::Counter> writes_;
  kube::WorkQueue<std::string> queue_;
  std::map<std::string, Known> known_;
  std::uint64_t nodes_version_ = 1;
};

}  // namespace koord::manager
