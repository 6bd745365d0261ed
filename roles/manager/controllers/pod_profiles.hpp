// PodProfiles: the controller colocationprofile: pods that slipped past the webhook are told of, and those
// that still wait for a node get what profiles in its care give them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "admission/profile.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/token_bucket.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/kube/work_queue.hpp"

namespace koord::manager {

/// Belongs to the event loop's thread.
class PodProfiles {
 public:
  struct Settings {
    bool tells = true;     // the webhook is in use (PodMutatingWebhook)
    bool patches = false;  // the gate ColocationProfileController
    bool all = false;      // every profile is in its care, not just those with the label
    nanoseconds interval{}, again_after{};
    double qps = 10;
    int burst = 100;
  };
  struct Parts {
    Clock& clock;
    Logger log;
    kube::Client& client;
    kube::Informer<api::ClusterColocationProfile> profiles;
    kube::Informer<api::Pod> pods;  // indexed by "waits", those without a node
    kube::Informer<api::Namespace> namespaces;
    metrics::Registry& registry;
    Settings settings;
    std::function<bool()> may_write;
    Dice dice;
    /// A warning for whoever looks at the pod.
    std::function<void(const api::Pod&, std::string_view reason, std::string_view note)> warn;
  };
  static const metrics::Table kMetrics;

  explicit PodProfiles(Parts parts);
  /// From now on there is work; `tasks` belongs to the role.
  void start(TaskGroup& tasks);
  void stop() { queue_.close(); }
  /// A pod came or changed: it is looked at once everything is known, and told of once.
  void look_at(const api::Pod& pod);
  void forget(const api::Pod& pod) { told_.erase(pod.metadata.uid); }
  /// Pods that wait for a node are looked at now, not with the next interval.
  void profiles_changed();

 private:
  Task<Result<>> look_at_all();
  Task<Result<>> work();
  /// Over the pods that wait for a node.
  Task<Result<>> round();
  Task<Result<>> patch(const api::Pod& pod, const Profile& profile);
  bool is_for(const Profile& profile, const api::Pod& pod) const;
  void read_profiles();

  Parts parts_;
  metrics::Family<metrics::Counter> missed_, updates_;
  ProfileSet profiles_;
  ProfileFailures failures_;
  /// Since when a profile is as it is, by name: its version, and the time. A spec that was changed before
  /// this process saw it has been so for who knows how long.
  std::map<std::string, std::pair<std::int64_t, api::Time>, std::less<>> since_;
  TokenBucket writes_, events_;
  std::unordered_map<std::string, MonoTime> done_;  // profile's version and pod: when it was looked at
  std::unordered_set<std::string> told_;            // pods, by uid
  kube::WorkQueue<std::string> queue_;              // of one key
  bool all_known_ = false;
};

}  // namespace koord::manager
