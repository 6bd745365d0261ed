// Controller: goes on with DrainNodeGroups and DrainNodes.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "drain/scenes.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/delivery.hpp"
#include "koord/kube/work_queue.hpp"

namespace koord::kube {
class EventRecorder;
}

namespace koord::descheduler::drain {

/// Woken by what happens to groups, DrainNodes, nodes, pods, reservations and jobs; one thing is done at a
/// time. Nothing is kept that a process after it would need. Belongs to the role's strand.
class Controller {
 public:
  struct Parts {
    Clock& clock;
    Logger log;
    kube::InformerSet& informers;
    kube::Client& client;
    kube::EventRecorder* events = nullptr;
    std::function<bool()> may_write;
    std::function<std::string(const api::Pod&)> why_not;  // why a pod may not be evicted; empty: it may
    Placement& placement;
  };
  explicit Controller(Parts parts);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// Once, when the role leads; `tasks` are the role's.
  void start(TaskGroup& tasks);
  void stop();

 private:
  using Again = std::optional<nanoseconds>;  // nothing: once something changes
  enum class Kind : char { group = 'g', drain = 'd', node = 'n' };
  static std::string key_of(Kind kind, std::string_view name);

  Task<Result<>> watch();
  Task<Result<>> work();
  void apply(const kube::Change& change);
  void look_at_node(std::string_view node);
  void look_at_groups();
  template <class T>
  void look_at_maker(const kube::Change& change);

  Task<Result<Again>> reconcile(std::string key);
  Task<Result<Again>> advance_group(std::string name);
  Task<Result<Again>> advance_drain(std::string name);
  Task<Result<Again>> clean_node(std::string name);
  Task<Result<>> carry_out(std::shared_ptr<const api::DrainNodeGroup> group, GroupWrite write);
  Task<Result<>> carry_out(std::shared_ptr<const api::DrainNode> drain, NodeWrite write);
  Task<Result<>> reserve(std::shared_ptr<const api::DrainNode> drain, std::shared_ptr<const api::Pod> pod,
                         kube::By by);
  template <class T>
  Task<Result<>> patch(std::shared_ptr<const T> before, T after, kube::By by, std::string subresource = {});
  template <class T>
  Task<Result<>> remove(std::string name, std::string uid, kube::By by);
  Again until(const std::optional<WallTime>& at) const;

  Parts parts_;
  Scenes scenes_;
  kube::DeliveryQueue changes_;
  kube::WorkQueue<std::string> queue_{
      parts_.clock,
      {.backoff_first = std::chrono::milliseconds(100), .backoff_max = std::chrono::seconds(30)}};
  /// DrainNodes that this process has made and not seen yet: a group is not planned without them.
  std::map<std::string, MonoTime> unseen_;
  TaskGroup* tasks_ = nullptr;
};

}  // namespace koord::descheduler::drain
