// The controller of reservations: the loops around Upkeep, and what they write.
#include "scheduling/plugins/reservation/control/controller.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "koord/kube/work_queue.hpp"
#include "scheduling/plugin/work_off.hpp"
#include "scheduling/plugins/reservation/control/gauges.hpp"
#include "scheduling/plugins/reservation/control/upkeep.hpp"
#include "scheduling/plugins/reservation/rules/facts.hpp"

namespace koord::scheduling::reservation {

namespace {

/// As the scheduler's own informer of pods, which this one is then a part of.
kube::Scope unfinished() {
  kube::Scope scope;
  scope.fields = "status.phase!=Succeeded,status.phase!=Failed";
  return scope;
}

class Controller final : public PluginController {
 public:
  Controller(const ControllerOptions& options, kube::InformerSet& informers, kube::Client& client)
      : options_(options),
        reservations_(informers.informer<api::Reservation>(client)),
        pods_(informers.informer<api::Pod>(client, unfinished())),
        nodes_(informers.informer<api::Node>(client)) {}

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
          gauges(context.metrics),
          work(context.clock),
          tasks(executor) {}

    Task<Result<>> all();
    Task<Result<>> follow();
    Task<Result<>> settle();
    Task<Result<>> collect();
    Task<Result<>> look_at(const ReservationKey& key);
    Task<Result<>> clean_pods(const ReservationKey& key);
    void changed(const kube::Change& change);
    bool has_node(const api::Reservation& reservation) const {
      return is.nodes_.get("", reservation.status.node_name) != nullptr;
    }
    void add(const std::vector<ReservationKey>& keys) {
      for (const ReservationKey& key : keys) work.add(key);
    }

    Controller& is;
    Context context;
    Gauges gauges;
    Holders holders;
    kube::DeliveryQueue queue;
    kube::WorkQueue<ReservationKey, ReservationKeyHash> work;
    TaskGroup tasks;
  };

  const ControllerOptions options_;
  kube::Informer<api::Reservation> reservations_;
  kube::Informer<api::Pod> pods_;
  kube::Informer<api::Node> nodes_;
};

Task<Result<>> Controller::Run::all() {
  is.reservations_.deliver_to(queue);
  is.pods_.deliver_to(queue);
  is.nodes_.deliver_to(queue);
  tasks.spawn("reservations' changes", follow());
  tasks.spawn("reservations' status", settle());
  if (is.options_.collects) tasks.spawn("reservations that are over", collect());
  Task<Result<>> ended = tasks.join();
  co_return co_await with_cleanup(std::move(ended), tasks.stop(context.clock, std::chrono::seconds(2)));
}

Task<Result<>> Controller::Run::follow() {
  for (;;) {
    KOORD_CO_TRY(batch, co_await queue.next());
    for (const kube::Change& change : batch.changes) changed(change);
  }
}

void Controller::Run::changed(const kube::Change& change) {
  if (change.is<api::Pod>()) {
    const auto before = change.old_object<api::Pod>(), now = change.new_object<api::Pod>();
    if (before && (!now || now->metadata.uid != before->metadata.uid)) add(holders.remove(*before));
    if (now) add(holders.put(*now));
  } else if (change.is<api::Reservation>()) {
    const auto before = change.old_object<api::Reservation>(), now = change.new_object<api::Reservation>();
    for (const auto& each : {before, now})
      if (each) work.add({each->metadata.name, each->metadata.uid});
    if (before) gauges.remove(*before);
    if (now) gauges.put(*now);
  } else if (!change.after) {
    const std::string& node = change.old_object<api::Node>()->metadata.name;
    is.reservations_.for_each([&](const kube::Object& object) {
      const auto& reservation = *static_cast<const api::Reservation*>(object.get());
      if (reservation.status.node_name == node)
        work.add({reservation.metadata.name, reservation.metadata.uid});
    });
  }
}

Task<Result<>> Controller::Run::settle() {
  return work_off(
      work, [this](const ReservationKey& key) { return look_at(key); },
      [this](const ReservationKey& key, const Error& error) {
        context.log.warn("what became of a reservation could not be written: tried again with a backoff",
                         kv("reservation", key.name), kv("error", error));
      });
}

Task<Result<>> Controller::Run::look_at(const ReservationKey& key) {
  const std::shared_ptr<const api::Reservation> now = is.reservations_.get("", key.name);
  if (!now || now->metadata.uid != key.uid) {
    if (is.options_.cleans_pods) co_return co_await clean_pods(key);
    co_return Result<>();
  }
  const std::optional<api::Reservation> after = settled(*now, holders, has_node(*now), context.clock.now());
  if (after) {
    if (!context.may_write()) co_return Result<>();
    std::optional<api::Patch> patch = api::diff(*now, *after);
    if (patch) {
      const api::Patch guarded = std::move(*patch).with_precondition(
          {.uid = now->metadata.uid, .resource_version = now->metadata.resource_version});
      const auto written = co_await context.client.patch_raw(
          api::kind<api::Reservation>(), {"", key.name}, guarded.body,
          {.type = guarded.type, .subresource = "status", .may_go = context.may_write});
      if (!written && written.error().code() != Code::not_found) co_return written.error();
    }
  }
  if (const auto again = next_look(after ? *after : *now, context.clock.now())) work.add_after(key, *again);
  co_return Result<>();
}

Task<Result<>> Controller::Run::clean_pods(const ReservationKey& key) {
  std::vector<api::ObjectReference> pods;
  for (const Holder* holder : holders.of(key.uid)) pods.push_back(holder->pod);
  for (const api::ObjectReference& each : pods) {
    const std::shared_ptr<const api::Pod> pod = is.pods_.get(each.namespace_, each.name);
    if (!pod || pod->metadata.uid != each.uid || !context.may_write()) continue;
    // The key alone: others may have written annotations that are not known here yet.
    const api::Patch guarded =
        api::Patch{.body = fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})",
                                       api::ReservationAllocated::kAnnotation)}
            .with_precondition({.uid = each.uid});
    const auto written = co_await context.client.patch_raw(
        api::kind<api::Pod>(), {std::string(each.namespace_.view()), each.name}, guarded.body,
        {.type = guarded.type, .may_go = context.may_write});
    if (!written && written.error().code() != Code::not_found) co_return written.error();
  }
  co_return Result<>();
}

Task<Result<>> Controller::Run::collect() {
  for (;;) {
    KOORD_CO_CHECK(co_await sleep(context.clock, is.options_.collect_every));
    std::vector<ReservationKey> over;
    is.reservations_.for_each([&](const kube::Object& object) {
      const auto& reservation = *static_cast<const api::Reservation*>(object.get());
      if (may_be_collected(reservation, has_node(reservation), is.options_.collect_after,
                           context.clock.now()))
        over.push_back({reservation.metadata.name, reservation.metadata.uid});
    });
    for (const ReservationKey& key : over) {
      if (!context.may_write()) break;
      const Result<> removed =
          co_await context.client.remove<api::Reservation>({"", key.name}, {.uid = key.uid});
      if (removed) {
        context.log.v(2, "a reservation that is over was deleted", kv("reservation", key.name));
      } else if (removed.error().code() == Code::cancelled) {
        co_return removed;
      } else if (removed.error().code() != Code::not_found && removed.error().code() != Code::conflict) {
        context.log.warn("a reservation that is over could not be deleted: tried again later",
                         kv("reservation", key.name), kv("error", removed.error()));
      }
    }
  }
}

}  // namespace

std::unique_ptr<PluginController> make_controller(const ControllerOptions& options,
                                                  kube::InformerSet& informers, kube::Client& client) {
  return std::make_unique<Controller>(options, informers, client);
}

}  // namespace koord::scheduling::reservation
