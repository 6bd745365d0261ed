// TopologyWriter: see topology_writer.hpp.
#include "scheduling/plugins/coscheduling/control/topology_writer.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/async/task_group.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/work_queue.hpp"
#include "scheduling/plugin/work_off.hpp"
#include "scheduling/plugins/coscheduling/topology/status.hpp"

namespace koord::scheduling::coscheduling {

namespace {

using Topology = api::ClusterNetworkTopology;

constexpr nanoseconds kSoon = std::chrono::seconds(1), kEvery = std::chrono::seconds(10),
                      kSeldom = std::chrono::seconds(60);

}  // namespace

std::optional<Topology> settled(const Topology& object,
                                const std::vector<std::shared_ptr<const api::Node>>& nodes) {
  const auto layers = topology::read_layers(object.spec);
  if (!layers) return std::nullopt;
  topology::Tree tree;
  for (const auto& node : nodes)
    if (const auto path = topology::path_of(*layers, node->metadata.name, node->metadata.labels);
        path.missing == nullptr)
      tree.put(path.names);
  auto rows = topology::details(*layers, tree);
  if (rows == object.status.detail_status) return std::nullopt;
  Topology after = object;
  after.status.detail_status = std::move(rows);
  return after;
}

/// What is there while it runs.
struct TopologyWriter::Run {
  Run(TopologyWriter& writer, Context with, const asio::any_io_executor& executor)
      : is(writer),
        context(std::move(with)),
        work(context.clock, {.backoff_first = kSoon, .backoff_max = kSeldom}),
        tasks(executor) {}

  Task<Result<>> all();
  Task<Result<>> follow();
  Task<Result<>> settle();
  Task<Result<>> look_at(const std::string& name);

  TopologyWriter& is;
  Context context;
  kube::DeliveryQueue queue;
  kube::WorkQueue<std::string> work;  // of one name
  TaskGroup tasks;
  std::optional<MonoTime> written;
};

Task<Result<>> TopologyWriter::run(Context context) {
  Run run(*this, std::move(context), co_await asio::this_coro::executor);
  co_return co_await run.all();
}

Task<Result<>> TopologyWriter::Run::all() {
  is.topologies_.deliver_to(queue);
  is.nodes_.deliver_to(queue);
  tasks.spawn("the ClusterNetworkTopology and the nodes", follow());
  tasks.spawn("the ClusterNetworkTopology's status", settle());
  Task<Result<>> ended = tasks.join();
  co_return co_await with_cleanup(std::move(ended), tasks.stop(context.clock, std::chrono::seconds(2)));
}

Task<Result<>> TopologyWriter::Run::follow() {
  for (;;) {
    KOORD_CO_TRY(batch, co_await queue.next());
    // Most changes of nodes are of their status.
    const bool counts = std::ranges::any_of(batch.changes, [](const kube::Change& change) {
      if (!change.is<api::Node>()) return true;
      const auto before = change.old_object<api::Node>(), now = change.new_object<api::Node>();
      return !before || !now || before->metadata.labels != now->metadata.labels;
    });
    if (!counts) continue;
    const nanoseconds rest = written ? *written + kEvery - context.clock.mono() : kSoon;
    work.add_after(std::string(Topology::kName), std::max(rest, kSoon));
  }
}

Task<Result<>> TopologyWriter::Run::settle() {
  return work_off(
      work, [this](const std::string& name) { return look_at(name); },
      [this](const std::string& name, const Error& error) {
        context.log.warn("a ClusterNetworkTopology's status could not be written: tried again with a backoff",
                         kv("clusternetworktopology", name), kv("error", error));
      });
}

Task<Result<>> TopologyWriter::Run::look_at(const std::string& name) {
  const std::shared_ptr<const Topology> now = is.topologies_.get("", name);
  if (!now || now->metadata.deletion_timestamp || !context.may_write()) co_return Result<>();
  const std::optional<Topology> after = settled(*now, is.nodes_.list());
  if (!after) co_return Result<>();
  std::optional<api::Patch> patch = api::diff(*now, *after);
  if (!patch) co_return Result<>();
  const api::Patch guarded = std::move(*patch).with_precondition(
      {.uid = now->metadata.uid, .resource_version = now->metadata.resource_version});
  const auto done = co_await context.client.patch_raw(
      api::kind<Topology>(), {"", name}, guarded.body,
      {.type = guarded.type, .subresource = "status", .may_go = context.may_write});
  if (!done && done.error().code() != Code::not_found) co_return done.error();
  written = context.clock.mono();
  co_return Result<>();
}

}  // namespace koord::scheduling::coscheduling
