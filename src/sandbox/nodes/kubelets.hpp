// Kubelets: the simulated node agents of all nodes together: leases, readiness, the lives of bound pods.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>

#include "koord/api/values/time.hpp"
#include "sandbox/api/verbs.hpp"
#include "sandbox/base/wheel.hpp"

namespace koord::sandbox {

struct KubeletOptions {
  std::chrono::milliseconds start_delay{100}, stop_delay{100};
  std::chrono::seconds lease_period{10};
  /// How much longer a pod runs whose kRunSeconds have passed: work that was slowed takes its time. Empty:
  /// no longer.
  std::function<nanoseconds(const Object& pod, nanoseconds whole)> work_left = {};
};

/// Annotations of a pod: how many seconds it runs (restartPolicy other than Always), and how it ends.
inline constexpr const char* kRunSeconds = "sandbox.koordinator.sh/run-seconds";
inline constexpr double kJobSeconds = 5;  // of a Job's pod that says nothing
inline constexpr const char* kExitCode = "sandbox.koordinator.sh/exit-code";
/// On a node: "false" leaves the node to someone else's kubelet.
inline constexpr const char* kKubelet = "sandbox.koordinator.sh/kubelet";

/// True where it is.
bool is_left_alone(const Object& node);

/// Looks after every node of the store, whoever made it.
class Kubelets final : public Observer {
 public:
  Kubelets(Verbs& verbs, KubeletOptions options);
  ~Kubelets() override;
  void on_change(Collection& collection, const Change& change) override;

 private:
  struct Job {
    enum class Type : std::uint8_t { adopt, renew, start, finish, stop, orphan };
    Type type;
    std::string ns, name, uid;  // of the pod; name of the node
    nanoseconds work{0};        // finish: all of the pod's
  };
  struct Node {
    std::uint64_t ip = 0;
    std::string lease_uid;
    api::Time created;
  };

  void run(Job& job);
  void pod_changed(const Change& change);
  /// Starts or stops a pod of a known node, if it is time.
  void begin(const Object& pod, std::string_view phase);
  void node_changed(const Change& change);
  void adopt(const std::string& name, const std::string& uid);
  void renew(const std::string& name);
  /// True once all claims of a pod have their volumes.
  bool has_volumes(const Object& pod) const;
  /// True once all resource claims of a pod are there and reserved for it.
  bool has_devices(const Object& pod) const;
  void start_pod(const Job& job);
  void finish_pod(const Job& job);

  Verbs& verbs_;
  const KubeletOptions options_;
  const Kind& pods_;
  const Kind& nodes_;
  const Kind& claims_;
  const Kind& device_claims_;
  Collection& leases_;
  std::unordered_map<std::string, Node> known_;
  std::unordered_map<std::string, std::set<std::string>> pods_on_;  // keys by node, also of unknown ones
  std::set<std::string> stopping_, starting_;                       // uids with a job under way
  std::uint64_t next_ip_ = 1;
  Wheel<Job> wheel_;
};

}  // namespace koord::sandbox
