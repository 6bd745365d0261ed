// Cleaning up: see clean_up.hpp.
#include "clean_up.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "admission/raw_object.hpp"
#include "koord/api/rules/koord_classes.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/types/admissionregistration_v1/webhook_configuration.hpp"
#include "koord/api/types/coordination_v1/lease.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/core_v1/secret.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/async/event.hpp"
#include "noderesource/devices.hpp"
#include "noderesource/node_update.hpp"
#include "noderesource/normalization.hpp"
#include "noderesource/standing.hpp"
#include "noderesource/zones.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kRawAllocatable = "node.koordinator.sh/raw-allocatable";
constexpr std::array kAnnotations = {kOriginExtended, kNormalizationRatio, kAmplificationRatio,
                                     kStandingAnnotation, kRawAllocatable};
constexpr std::array kLent = {api::kMidCpu, api::kMidMemory, api::kBatchCpu, api::kBatchMemory};

void restore_amplified(api::Node& node) {
  const std::string_view text = api::value_or(node.metadata.annotations, kRawAllocatable);
  const auto raw = json::parse(text);
  if (text.empty() || !raw || !raw->is_object()) return;
  for (const json::Member& member : raw->members()) {
    const std::string_view name = member.name.text();
    const auto amount = to_quantity(member.value);
    if (amount && node.status.allocatable.find(name) != nullptr) node.status.allocatable[name] = *amount;
  }
}

class Cleaner {
 public:
  Cleaner(kube::Client& client, Logger log) : client_(client), log_(std::move(log)) {}

  template <class T>
  Task<> remove(std::string ns, std::string name) {
    std::string what = fmt::format("{} {}", api::kind<T>().kind, name);
    note(std::move(what), co_await client_.remove<T>({std::move(ns), std::move(name)}));
  }

  template <class T>
  Task<> remove_all() {
    auto all = co_await client_.list_pages<T>({});
    if (!all) {
      note(std::string(api::kind<T>().kind), std::move(all).error());
      co_return;
    }
    for (const auto& item : all->items) co_await remove<T>({}, item->metadata.name);
  }

  Task<> nodes() {
    auto all = co_await client_.list_pages<api::Node>({});
    if (!all) {
      note("Node", std::move(all).error());
      co_return;
    }
    for (const auto& node : all->items) {
      const api::Node after = without_loans(*node);
      api::Node status = *node, meta = *node;
      status.status = after.status;
      meta.metadata = after.metadata;
      std::string what = fmt::format("Node {}", node->metadata.name);
      if (status != *node) note(what, co_await client_.patch(*node, status, "status"));
      if (meta != *node) note(what, co_await client_.patch(*node, meta));
    }
  }

  /// A node agent's own; it is deleted with its definition.
  Task<> topologies() {
    auto all = co_await client_.list_pages<api::NodeResourceTopology>({});
    if (!all) {
      note("NodeResourceTopology", std::move(all).error());
      co_return;
    }
    for (const auto& topology : all->items)
      if (const auto after = with_zone_loans(*topology, {}, 1, 0))
        note(fmt::format("NodeResourceTopology {}", topology->metadata.name),
             co_await client_.patch(*topology, *after));
  }

  std::size_t done() const { return done_; }
  Result<> outcome() const { return first_ ? Result<>(*first_) : Result<>(); }

 private:
  void note(std::string what, const Result<>& written) {
    if (written) {
      ++done_;
      return;
    }
    if (written.error().code() == Code::not_found) return;
    log_.warn("cannot be taken away", kv("what", what), kv("error", written.error()));
    if (!first_) first_ = Error(written.error()).context(what);
  }

  kube::Client& client_;
  Logger log_;
  std::size_t done_ = 0;
  std::optional<Error> first_;
};

class CleaningRole final : public runtime::Role {
 public:
  CleaningRole(runtime::RoleContext& context, kube::Client& client, CleanUpPlace place)
      : context_(context), client_(client), place_(std::move(place)) {}
  Task<Result<>> run() override {
    KOORD_CO_CHECK(co_await clean_up(client_, context_.clock, context_.log, std::move(place_)));
    context_.finish();
    co_return co_await ended_.wait();
  }

 private:
  runtime::RoleContext& context_;
  kube::Client& client_;
  CleanUpPlace place_;
  Event ended_;
};

}  // namespace

api::Node without_loans(const api::Node& node) {
  api::Node after = node;
  for (const std::string_view name : kLent)
    for (api::ResourceList* list : {&after.status.capacity, &after.status.allocatable}) list->erase(name);
  set_devices(after, gpu_resource_names(), {});
  set_devices(after, rdma_resource_names(), {});
  restore_amplified(after);
  for (const std::string_view name : kAnnotations) after.metadata.annotations.erase(name);
  for (const std::string_view name : gpu_label_names()) after.metadata.labels.erase(name);
  return after;
}

Task<Result<>> clean_up(kube::Client& client, Clock& clock, Logger log, CleanUpPlace place) {
  auto lease = co_await client.get<api::Lease>({place.lease_namespace, place.lease});
  if (!lease && lease.error().code() != Code::not_found) co_return lease.error();
  if (lease && !lease->spec.holder_identity.empty() && lease->spec.renew_time) {
    const auto ends =
        lease->spec.renew_time->at + std::chrono::seconds(lease->spec.lease_duration_seconds.value_or(0));
    if (clock.now() < ends)
      co_return Error(
          Code::already_exists,
          fmt::format("the manager {} leads and would write all of it anew: delete its Deployment, "
                      "and try again when its lease {} has run out",
                      lease->spec.holder_identity, place.lease));
  }
  Cleaner cleaner(client, log);
  const WebhookSettings& webhooks = place.webhooks;
  co_await cleaner.remove<api::MutatingWebhookConfiguration>({}, webhooks.mutating);
  co_await cleaner.remove<api::ValidatingWebhookConfiguration>({}, webhooks.validating);
  co_await cleaner.nodes();
  co_await cleaner.topologies();
  co_await cleaner.remove_all<api::NodeSlo>();
  co_await cleaner.remove_all<api::NodeMetric>();
  co_await cleaner.remove<api::Secret>(webhooks.ns, webhooks.secret);
  co_await cleaner.remove<api::ConfigMap>(place.config_namespace, place.last_good);
  co_await cleaner.remove<api::Lease>(place.lease_namespace, place.lease);
  KOORD_CO_CHECK(cleaner.outcome());
  log.info("nothing of the manager's is left in the cluster", kv("written", cleaner.done()));
  co_return Result<>();
}

std::unique_ptr<runtime::Role> cleaning_role(runtime::RoleContext& context, kube::Client& client,
                                             CleanUpPlace place) {
  return std::make_unique<CleaningRole>(context, client, std::move(place));
}

}  // namespace koord::manager
