// KubeBook: gangs as Kubernetes' own API has them: groups of Workloads (1.35), and PodGroups (from 1.36 on,
// as v1alpha2, later as v1beta1).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "koord/api/types/kube_scheduling_v1alpha1/workload.hpp"
#include "koord/api/types/kube_scheduling_v1alpha2/pod_group.hpp"
#include "koord/api/types/kube_scheduling_v1beta1/pod_group.hpp"
#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "scheduling/gangs/book.hpp"
#include "scheduling/gangs/doors.hpp"

namespace koord::scheduling::gang_scheduling {

using gangs::Gang;
using gangs::GangBook;
using gangs::Group;
using gangs::Member;

/// All forms are watched; an API server serves one of them, or none (or both versions of the later one, which
/// are the same objects). A gang is "NAMESPACE/WORKLOAD/GROUP",
/// or "NAMESPACE/WORKLOAD/GROUP/REPLICA", or of the later form "NAMESPACE/PODGROUP". Bound pods count for its
/// minimum. What is told in kube-scheduler's words is so in its plugin of 1.35, or of 1.37.
class KubeBook final : public GangBook, private ClusterObserver {
 public:
  /// How long the pods of a gang wait for their permit together; then they are rejected, and the next that
  /// waits begins anew.
  static constexpr nanoseconds kWait = std::chrono::minutes(5);

  explicit KubeBook(const PluginContext& context);

  std::optional<Symbol> gang_of(const api::Pod& pod) const override;
  nanoseconds wait_of(Gang& gang) const override;
  std::string lack(const Group& group, const Member& member) const override;
  std::string rejection(const Group& group, const api::Pod& pod, std::string_view why,
                        std::size_t placed) const override;
  /// kube-scheduler lets the others wait until their deadline.
  std::string given_up(const Gang&, const api::Pod&) const override { return {}; }
  bool hurries_others() const override { return true; }

 private:
  struct Terms;
  Terms terms_of(const Gang& gang) const;
  void read_terms(Gang& gang, const api::Pod& pod) override;
  void read(Gang& gang);
  void changed_terms(Gang& gang);
  template <class PodGroup>
  void follow(ObjectStore<PodGroup>& groups);
  template <class PodGroup>
  static Terms terms_of(std::shared_ptr<const PodGroup> found);
  // Which nodes agree on a label may be otherwise then.
  void pod_added(Row, const PodInfo&) override {}
  void pod_removed(Row, const PodInfo&) override {}
  void node_changed(Row row, const api::Node* before, const api::Node* now) override;

  const ObjectStore<api::Workload>& workloads_;
  const ObjectStore<api::KubePodGroup>& pod_groups_;
  const ObjectStore<api::EarlyKubePodGroup>& early_pod_groups_;
  const gangs::Doors& doors_;
};

}  // namespace koord::scheduling::gang_scheduling
