// States: the inventory from Kubernetes: the node and its NodeSLO from the API server, pods from the kubelet.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "framework/model/inventory.hpp"
#include "framework/objects/pod_info.hpp"
#include "framework/states/container_events.hpp"
#include "framework/states/kubelet.hpp"
#include "framework/states/source_status.hpp"
#include "framework/states/started_containers.hpp"
#include "framework/states/warnings.hpp"
#include "koord/async/event.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/token_bucket.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/event_recorder.hpp"
#include "koord/kube/informer.hpp"

namespace koord::api {
struct NodeSlo;
}

namespace koord::koordlet {

struct StatesSettings {
  std::string node_name;
  KubeletSettings kubelet;
  nanoseconds sync_interval = std::chrono::seconds(10);
  /// Ask for its configuration: the CPU manager's policy, the cgroup driver and root.
  bool query_config = true;
  /// Its cgroupRoot, as host::kubelet_root() gives it; empty: what its configuration says.
  std::string kubelet_root;
  /// The file of what the API server said last; empty: none.
  std::string kept_file;
  std::vector<PodTermsReader> readers;  // of what pods say to single features
};

/// What nobody answers stays as it was answered last, to this agent or to the one before it. The event loop's
/// thread; the parts outlive it.
class States {
 public:
  struct Parts {
    boost::asio::any_io_executor executor;
    Clock& clock;
    Logger& log;
    metrics::Registry& metrics;
    const host::CgroupFs& cgroups;
    kube::Client& client;
    kube::InformerSet& informers;
    WorkerPool& workers;  // lists of pods are read there
    KubeletClient::Credentials credentials;
    InventoryHub& hub;
    kube::EventRecorder& recorder;
  };
  /// Declares the informers.
  States(Parts parts, StatesSettings settings);
  ~States();

  // Each is a task of its own that runs until it is cancelled.
  Task<Result<>> follow_node();
  Task<Result<>> follow_pods();
  Task<Result<>> follow_containers();
  /// Which containers run, by the runtime's word, for as long as the kubelet does not tell.
  Task<Result<>> follow_runtime(ContainerLister& runtime);

  /// What is known of claims from now on.
  void set_claims(std::shared_ptr<const ClaimVolumes> claims);

  /// Waits until node, NodeSLO and pods have been heard of.
  Task<Result<>> wait_known();
  std::vector<SourceStatus> sources() const;
  /// When the kubelet last gave a list that is believed; nothing: it never did.
  std::optional<MonoTime> pods_listed() const { return pods_listed_; }

 private:
  struct Reading;
  void recall();
  Task<Result<>> remember();
  void on_node(const std::shared_ptr<const api::Node>& node);
  void on_slo(const std::shared_ptr<const api::NodeSlo>& slo);
  void publish();
  Task<Result<>> sync_pods();
  Task<Result<>> take_pods(std::string body);
  Task<> sync_config();
  void look_at_cpu_manager();
  void detect_driver();
  /// Where the kubelet has its groups.
  void settle_in(host::CgroupDriver driver, const std::string& root);
  void tell(const PodList& list);
  Task<Result<>> ask_runtime(ContainerLister& runtime);
  void tell_of_kubelet(const Error& error);
  bool is_stale() const;
  void note(SourceStatus& source, const Result<>& result);

  Parts parts_;
  StatesSettings settings_;
  kube::Informer<api::Node> nodes_;
  kube::Informer<api::NodeSlo> slos_;
  kube::DeliveryQueue queue_;
  KubeletClient kubelet_;
  ContainerEvents events_;
  TokenBucket limit_, runtime_limit_;
  StartedContainers started_;

  host::CgroupDriver driver_ = host::CgroupDriver::systemd;
  std::string kubelet_root_;
  bool driver_seen_ = false;  // from the folders themselves
  bool nowhere_told_ = false;
  NodeInfo node_;
  std::shared_ptr<const api::Node> node_object_;
  std::shared_ptr<const api::NodeSlo> slo_object_;
  std::shared_ptr<const api::NodeSloSpec> slo_;
  // They are of the file, the API server has not said anything of them yet.
  bool node_recalled_ = false, slo_recalled_ = false;
  std::string kept_;  // what the file says
  bool kept_refused_ = false;
  std::vector<HostApplication> applications_;
  std::vector<std::shared_ptr<const PodInfo>> pods_, all_pods_;
  OwnCpus own_cpus_;
  std::shared_ptr<const ClaimVolumes> claims_;
  std::shared_ptr<const KubeletConfig> config_;  // null: it is not known
  bool pods_known_ = false, node_known_ = false, api_synced_ = false;
  std::size_t pods_hash_ = 0;
  std::optional<MonoTime> pods_listed_, asked_since_;  // asked_since_: when it first did not answer
  Warnings warnings_;
  bool untold_ = false;              // there are more than the log knows of
  std::set<std::string> node_told_;  // warnings that were logged already
  MonoTime config_due_{};
  int follow_ups_ = 0;  // early looks that are still to come after a container event
  bool events_refused_ = false, cpu_manager_refused_ = false, checkpoint_unread_ = false;
  SourceStatus api_{.name = "API server"}, kubelet_status_{.name = "kubelet"};
  Event wake_, addressed_, known_, came_;
};

}  // namespace koord::koordlet
