// Cluster: what the descheduler follows of the cluster, and what a pass is made on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/snapshot.hpp"
#include "koord/kube/informer.hpp"
#include "koord/scheduling/cluster/transforms.hpp"

namespace koord {
class Logger;
}

namespace koord::descheduler {

/// Belongs to the role's strand.
class Cluster {
 public:
  Cluster(kube::InformerSet& informers, kube::Client& client, Clock& clock, const Logger& log);

  /// These have to be here, too, and must not be stale, unless they are refused(); those that are followed
  /// anyway count once.
  void follow_also(std::vector<kube::AnyInformer> others);

  /// Ok once all that there was at the start is here, but for what is refused(); what is awaited and why
  /// else. NodeMetrics that the API server does not serve count as none.
  Result<> synced() const;
  Task<Result<>> wait_synced();
  /// Waits until what others wrote a moment ago is here: whose lease this process has taken may have evicted.
  Task<Result<>> catch_up();
  /// Of budgets, and of what is followed also, that which this account has not been allowed to list for ten
  /// seconds, and never was: it is done without. An API server that starts may not know its roles yet.
  std::vector<std::string> refused() const;
  /// What has not been followed for too long to be acted upon, and why; empty: all is well.
  std::string stale() const;

  /// Nodes less what their annotations keep back, and present names of resources, as the scheduler sees them.
  SnapshotObjects objects();

 private:
  /// Without which nobody is evicted.
  std::vector<kube::AnyInformer> needed() const;
  std::vector<kube::AnyInformer> all() const;
  std::vector<kube::AnyInformer> dispensable() const;
  bool is_refused(const kube::AnyInformer& informer) const;

  Clock& clock_;
  scheduling::Transforms transforms_;
  kube::Informer<api::Node> nodes_;
  kube::Informer<api::Pod> pods_;
  kube::Informer<api::NodeMetric> metrics_;
  kube::Informer<api::Namespace> namespaces_;
  kube::Informer<api::PriorityClass> classes_;
  kube::Informer<api::PodDisruptionBudget> budgets_;
  std::vector<kube::AnyInformer> others_;
};

}  // namespace koord::descheduler
