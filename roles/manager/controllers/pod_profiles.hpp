// PodProfiles: the controller colocationprofile: pods that slipped past the webhooks are told of, and those
// that still wait for a node get what profiles in its care give them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "admission/handlers.hpp"
#include "admission/profile/profile.hpp"
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
    bool tells = true;       // the webhook is in use (PodMutatingWebhook)
    bool translates = true;  // it makes cpu and memory of batch and mid pods theirs
    bool patches = false;    // the gate ColocationProfileController
    bool all = false;        // every profile is in its care, not just those with the label
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
    /// Of /validate-pod; empty: nobody is asked.
    PodRules rules;
    /// The manager's namespace: like kube-system's, its pods are not asked about.
    std::string own_namespace;
    std::function<bool()> may_write;
    Dice dice;
    /// A warning for whoever looks at the pod.
    std::function<void(const api::Pod&, std::string_view reason, std::string_view note)> warn;
    /// The same, once a pod and reason, whichever manager saw it first.
    std::function<void(const api::Pod&, std::string_view reason, std::string_view note)> warn_once;
  };
  static const metrics::Table kMetrics;

  explicit PodProfiles(Parts parts);
  /// From now on there is work; `tasks` belongs to the role.
  void start(TaskGroup& tasks);
  void stop() { queue_.close(); }
  /// A pod came (`before` is null) or changed: it is looked at once everything is known. Of what it lacks or
  /// breaks each is told once: a profile, a rule of /validate-pod, resources that nobody translated.
  void look_at(const api::Pod& pod, const api::Pod* before);
  void forget(const api::Pod& pod) { told_.erase(pod.metadata.uid); }
  /// Pods that wait for a node are looked at now, not with the next interval.
  void profiles_changed();

 private:
  enum Finding : unsigned { missed = 1, broken = 2, untranslated = 4 };

  Task<Result<>> look_at_all();
  void look_for_profiles(const api::Pod& pod, const api::Namespace& ns);
  void look_for_rules(const api::Pod& pod, const api::Namespace& ns);
  void look_for_resources(const api::Pod& pod, const json::Value& document, const api::Namespace& ns);
  void tell(const api::Pod& pod, Finding finding, const metrics::Counter& counter, std::string_view reason,
            std::string_view note);
  bool is_told(const api::Pod& pod, Finding finding) const;
  Task<Result<>> work();
  /// Over the pods that wait for a node.
  Task<Result<>> round();
  Task<Result<>> patch(const api::Pod& pod, const Profile& profile);
  bool is_for(const Profile& profile, const api::Pod& pod) const;
  void read_profiles();

  Parts parts_;
  metrics::Family<metrics::Counter> missed_, slipped_, updates_;
  ProfileSet profiles_;
  ProfileFailures failures_;
  /// Since when a profile is as it is, by name: its version, and the time. A spec that was changed before
  /// this process saw it has been so for who knows how long.
  std::map<std::string, std::pair<std::int64_t, api::Time>, std::less<>> since_;
  TokenBucket writes_, events_;
  std::unordered_map<std::string, MonoTime> done_;  // profile's version and pod: when it was looked at
  std::unordered_map<std::string, unsigned> told_;  // findings, by the pod's uid
  kube::WorkQueue<std::string> queue_;              // of one key
  bool all_known_ = false;
};

}  // namespace koord::manager
