// Workloads: ReplicaSets keep as many pods as they should, Deployments their ReplicaSets.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sandbox/api/verbs.hpp"
#include "sandbox/nodes/wheel.hpp"

namespace koord::sandbox {

/// A Deployment that changes its template replaces all pods at once (new ReplicaSet up, old ones to 0):
/// rolling updates step by step are not simulated.
class Workloads final : public Observer {
 public:
  explicit Workloads(Verbs& verbs);
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

  Verbs& verbs_;
  const Kind &pods_, &sets_, &deployments_;
  std::set<Job> dirty_;
  // By the controlling owner's uid: the keys of pods and ReplicaSets.
  std::map<std::string, std::set<std::string>> children_;
  Wheel<Job> wheel_;
};

}  // namespace koord::sandbox
