// The controller of PodGroups, which has the ClusterNetworkTopology's beside it: see controller.hpp.
#include "scheduling/plugins/coscheduling/control/controller.hpp"

#include <chrono>
#include <string>
#include <unordered_map>
#include <utility>

#include "koord/api/koordinator/gang.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/async/task_group.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/kube/work_queue.hpp"
#include "scheduling/plugin/work_off.hpp"
#include "scheduling/plugins/coscheduling/control/status.hpp"
#include "scheduling/plugins/coscheduling/control/topology_writer.hpp"

namespace koord::scheduling::coscheduling {

namespace {

constexpr nanoseconds kEvery = std::chrono::seconds(1), kSeldom = std::chrono::seconds(60);
/// So many are written at a time: what one of them waits for does not hold up the others.
constexpr int kWriters = 8;

using Key = std::pair<std::string, std::string>;  // namespace, name
struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept {
    return std::hash<std::string>()(key.first) * 31 + std::hash<std::string>()(key.second);
  }
};

/// As the scheduler's own informer of pods, which this one is then a part of.
kube::Scope unfinished() {
  kube::Scope scope;
  scope.fields = "status.phase!=Succeeded,status.phase!=Failed";
  return scope;
}

class Controller final : public PluginController {
 public:
  Controller(kube::InformerSet& informers, kube::Client& client, bool topology)
      : groups_(informers.informer<api::PodGroup>(client)),
        pods_(informers.informer<api::Pod>(client, unfinished())) {
    if (topology) topology_ = std::make_unique<TopologyWriter>(informers, client);
  }

  Task<Result<>> run(Context context) override {
    Run run(*this, std::move(context), co_await asio::this_coro::executor);
    co_return co_await run.all();
  }

 private:
  /// What is there while it runs.
  struct Run {
    Run(Controller& controller, Context with, const asio::any_io_executor& executor)
        : is(controller),
          context(std::move(with)),
          work(context.clock, {.backoff_first = kEvery, .backoff_max = kSeldom}),
          tasks(executor) {}

    Task<Result<>> all();
    Task<Result<>> follow();
    Task<Result<>> settle();
    Task<Result<>> look_at(const Key& key);
    void changed(const kube::Change& change);
    void leaves(const api::Pod& pod);

    Controller& is;
    Context context;
    kube::DeliveryQueue queue;
    kube::WorkQueue<Key, KeyHash> work;
    TaskGroup tasks;
    std::unordered_map<Key, GroupPods, KeyHash> pods;  // of all gangs, with a PodGroup or without
  };

  kube::Informer<api::PodGroup> groups_;
  kube::Informer<api::Pod> pods_;
  std::unique_ptr<TopologyWriter> topology_;  // nullptr: it is nobody's
};

std::optional<Key> group_of(const api::Pod& pod) {
  const auto gang = api::gang_of(pod.metadata);
  if (!gang) return std::nullopt;
  return Key{pod.metadata.namespace_.str(), gang->name.str()};
}

Task<Result<>> Controller::Run::all() {
  is.groups_.deliver_to(queue);
  is.pods_.deliver_to(queue);
  tasks.spawn("PodGroups and their pods", follow());
  for (int i = 0; i < kWriters; ++i) tasks.spawn("PodGroups' status", settle());
  if (is.topology_) tasks.spawn("the network's topology", is.topology_->run(context));
  Task<Result<>> ended = tasks.join();
  co_return co_await with_cleanup(std::move(ended), tasks.stop(context.clock, std::chrono::seconds(2)));
}

Task<Result<>> Controller::Run::follow() {
  for (;;) {
    KOORD_CO_TRY(batch, co_await queue.next());
    for (const kube::Change& change : batch.changes) changed(change);
  }
}

void Controller::Run::leaves(const api::Pod& pod) {
  const auto key = group_of(pod);
  if (!key) return;
  const auto of = pods.find(*key);
  if (of == pods.end()) return;
  of->second.remove(pod.metadata.name);
  if (of->second.empty()) pods.erase(of);
  work.add_after(*key, kEvery);
}

void Controller::Run::changed(const kube::Change& change) {
  if (!change.is<api::Pod>()) {
    const auto now = change.new_object<api::PodGroup>();
    if (now) work.add({now->metadata.namespace_.str(), now->metadata.name});
    return;
  }
  const auto before = change.old_object<api::Pod>(), now = change.new_object<api::Pod>();
  const auto key = now ? group_of(*now) : std::nullopt;
  if (before && group_of(*before) != key) leaves(*before);
  if (!key) return;
  pods[*key].put(*now);
  work.add_after(*key, kEvery);
}

Task<Result<>> Controller::Run::settle() {
  return work_off(
      work, [this](const Key& key) { return look_at(key); },
      [this](const Key& key, const Error& error) {
        context.log.warn("a PodGroup's status could not be written: tried again with a backoff",
                         kv("namespace", key.first), kv("podgroup", key.second), kv("error", error));
      });
}

Task<Result<>> Controller::Run::look_at(const Key& key) {
  const std::shared_ptr<const api::PodGroup> now = is.groups_.get(key.first, key.second);
  if (!now || now->metadata.deletion_timestamp || !context.may_write()) co_return Result<>();
  static const GroupPods kNone;
  const auto of = pods.find(key);
  const std::optional<api::PodGroup> after =
      settled(*now, of != pods.end() ? of->second : kNone, context.clock.now());
  if (!after) co_return Result<>();
  std::optional<api::Patch> patch = api::diff(*now, *after);
  if (!patch) co_return Result<>();
  const api::Patch guarded = std::move(*patch).with_precondition(
      {.uid = now->metadata.uid, .resource_version = now->metadata.resource_version});
  const auto written =
      co_await context.client.patch_raw(api::kind<api::PodGroup>(), {key.first, key.second}, guarded.body,
                                        {.type = guarded.type, .may_go = context.may_write});
  if (!written && written.error().code() != Code::not_found) co_return written.error();
  co_return Result<>();
}

}  // namespace

std::unique_ptr<PluginController> make_controller(kube::InformerSet& informers, kube::Client& client,
                                                  bool topology) {
  return std::make_unique<Controller>(informers, client, topology);
}

}  // namespace koord::scheduling::coscheduling
