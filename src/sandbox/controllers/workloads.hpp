// Workloads: ReplicaSets keep as many pods as they should, Deployments their ReplicaSets.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "sandbox/api/verbs.hpp"
#include "sandbox/base/wheel.hpp"

namespace koord::sandbox {

/// A Deployment that changes its template replaces all pods at once (new ReplicaSet up, old ones to 0):
/// rolling updates step by step are not simulated.
class Workloads final : public Observer {
 public:
  using Done = std::function<void(const Outcome<ObjectPtr>&)>;
  /// Creates an object and tells what became of it, now or later.
  using Create = std::function<void(const Kind& kind, std::string ns, json::Document doc, Done done)>;
  /// Without `create` objects are made at once, and nobody is asked.
  explicit Workloads(Verbs& verbs, Create create = {});
  ~Workloads() override;
  void on_change(Collection& collection, const Change& change) override;

 private:
  struct Job {
    bool deployment;
    std::string ns, name;
    auto operator<=>(const Job&) const = default;
  };
  void later(Job job);
  void sync_replica_set(const Job& job);
  void sync_deployment(const Job& job);
  std::vector<ObjectPtr> owned(const Kind& kind, const std::string& ns, const std::string& uid) const;
  void make_pod(const Object& set, json::Document& doc);
  void pod_made(const Job& job, const std::string& uid, const Outcome<ObjectPtr>& made);

  Verbs& verbs_;
  const Kind &pods_, &sets_, &deployments_;
  std::set<Job> dirty_;
  // By the controlling owner's uid: the keys of pods and ReplicaSets.
  std::map<std::string, std::set<std::string>> children_;
  /// Of a ReplicaSet, by its uid, while pods of it are being created or are refused.
  struct Making {
    std::int64_t under_way = 0;
    int refused = 0;  // times in a row
    std::string why;
    MonoTime not_before{};
  };
  std::map<std::string, Making> making_;
  const Create create_;
  Wheel<Job> wheel_;
};

/// A pod of a template, owned by `owner` of that kind, not created yet.
json::Document pod_of(const json::Value& part, const Kind& kind, const Object& owner);
/// An element of metadata.ownerReferences: `owner` of that kind, which controls.
json::Value owner_reference(const Kind& kind, const Object& owner, json::Arena& arena);
/// Null where nothing controls the object.
const OwnerRef* controller_of(const Object& object);
/// The shape of Kubernetes' hash of a pod template, not its value.
std::string template_hash(const json::Value& part);

}  // namespace koord::sandbox
