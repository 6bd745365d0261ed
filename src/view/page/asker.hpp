// Asker: `koord explain` for the page: one question at a time, off the event loop.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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

/// One question at a time, and a while between two that list. One thread.
class Turns {
 public:
  explicit Turns(nanoseconds between) : between_(between) {}
  /// False: it is somebody's.
  bool take() { return std::exchange(taken_, true) == false; }
  void give_back() { taken_ = false; }
  /// How long the one whose turn it is waits before it lists.
  nanoseconds wait(MonoTime now) const { return next_ && *next_ > now ? *next_ - now : nanoseconds::zero(); }
  void lists(MonoTime now) { next_ = now + between_; }

 private:
  const nanoseconds between_;
  bool taken_ = false;
  std::optional<MonoTime> next_;
};

class Asker {
 public:
  /// What the cluster is at the moment, from informers.
  struct Cluster {
    std::vector<std::shared_ptr<const api::Node>> nodes;
    std::vector<std::shared_ptr<const api::Pod>> pods;  // that have not ended
  };
  /// How long the engine is asked for an answer; what it is asked then is finished, the rest left out.
  static constexpr std::chrono::seconds kLongest{5};
  /// A question lists what informers do not have: so long lies between two of these.
  static constexpr std::chrono::seconds kBetween{2};

  Asker(Clock& clock, WorkerPool& workers, kube::Client& client, std::function<Cluster()> cluster);

  /// JSON of scheduling::explain::ExplanationView. Code::unavailable while another question is answered.
  Task<Result<std::string>> explain(std::shared_ptr<const api::Pod> pod);
  /// The same of a manifest (YAML or JSON) of a pod that there is not; of a template, of its pod. It is taken
  /// as it is written: the API server and its webhooks are not asked, nothing is made.
  Task<Result<std::string>> what_if(std::string manifest);
  /// A question that is being answered gives up.
  void stop() { ending_ = true; }

 private:
  Task<Result<std::string>> ask(std::shared_ptr<const api::Pod> pod, bool exists);

  Clock& clock_;
  WorkerPool& workers_;
  kube::Client& client_;
  std::function<Cluster()> cluster_;
  FeatureGates gates_;
  Turns turns_;
  std::atomic<bool> ending_ = false;
};

}  // namespace koord::view
