// Asker: `koord explain` for the page: one question at a time, off the event loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/result.hpp"

namespace koord {
class WorkerPool;
namespace api {
struct Node;
struct Pod;
}  // namespace api
namespace kube {
class Client;
}
}  // namespace koord

namespace koord::view {

class Asker {
 public:
  /// What the cluster is at the moment, from informers.
  struct Cluster {
    std::vector<std::shared_ptr<const api::Node>> nodes;
    std::vector<std::shared_ptr<const api::Pod>> pods;  // that have not ended
  };
  Asker(Clock& clock, WorkerPool& workers, kube::Client& client, std::function<Cluster()> cluster);

  /// JSON of scheduling::explain::ExplanationView. Code::unavailable while another question is answered.
  Task<Result<std::string>> explain(std::shared_ptr<const api::Pod> pod);
  /// The same of a manifest (YAML or JSON) of a pod that there is not; of a template, of its pod. It is taken
  /// as it is written: the API server and its webhooks are not asked, nothing is made.
  Task<Result<std::string>> what_if(std::string manifest);

 private:
  Task<Result<std::string>> ask(std::shared_ptr<const api::Pod> pod, bool exists);

  Clock& clock_;
  WorkerPool& workers_;
  kube::Client& client_;
  std::function<Cluster()> cluster_;
  FeatureGates gates_;
  bool busy_ = false;
};

}  // namespace koord::view
