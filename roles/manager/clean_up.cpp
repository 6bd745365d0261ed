// Cleaning up: see clean_up.hpp.
#include "clean_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "admission/handlers.hpp"
#include "admission/raw/raw_object.hpp"
#include "framework/noderesource/node_update.hpp"
#include "framework/noderesource/overcommit_level.hpp"
#include "framework/noderesource/zones.hpp"
#include "framework/webhook/configuration.hpp"
#include "framework/webhook/entries.hpp"
#include "koord/api/koordinator/admission.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/api/types/admissionregistration_v1/webhook_configuration.hpp"
#include "koord/api/types/coordination_v1/lease.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/core_v1/secret.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/async/event.hpp"
#include "koord/json/writer.hpp"
#include "plugins.hpp"

namespace koord::manager {
namespace {

constexpr std::array kAnnotations = {kLevelAnnotation, api::kRawAllocatable};
/// What is not of this domain has a device plugin of its own, on some nodes.
constexpr std::string_view kOurDomain = api::kKoordinatorDomain;
/// As an API server names who wrote: the user agent up to its slash.
constexpr std::string_view kFieldManager = "koord-manager";
/// The label of topologies that node agents made; of others they write what is in them alone.
constexpr std::string_view kMadeBy = "app.kubernetes.io/managed-by", kAgents = "Koordinator";
/// How often something that others wrote meanwhile is read again.
constexpr int kAttempts = 5;

void restore_amplified(api::Node& node) {
  const auto raw =
      api::read_annotation<api::AnnotatedResources>(node.metadata.annotations, api::kRawAllocatable);
  if (!raw || !*raw) return;
  for (const auto& [name, amount] : (*raw)->resources)
    if (node.status.allocatable.find(name) != nullptr) node.status.allocatable[name] = amount;
}

class Cleaner {
 public:
  Cleaner(kube::Client& client, Logger log) : client_(client), log_(std::move(log)) {}

  template <class T>
  Task<> remove(std::string ns, std::string name) {
    std::string what = fmt::format("{} {}", api::kind<T>().kind, name);
    note(std::move(what), co_await client_.remove<T>({std::move(ns), std::move(name)}));
  }

  /// Of the configuration only what is koord's.
  template <class T>
  Task<> remove_entries(std::string name, json::Document own) {
    const std::string what = fmt::format("{} {}", api::kind<T>().kind, name);
    for (int attempt = 1;; ++attempt) {
      auto text = co_await client_.get_raw(api::kind<T>(), {"", name});
      auto read = text ? json::parse(*text) : Result<json::Document>(text.error());
      Result<> done;
      if (!read) {
        done = read.error();
      } else if (const auto cleaned = clean_configuration(*read, own);
                 cleaned == CleanedConfiguration::others) {
        log_.warn("a webhook configuration is not the manager's and stays: whatever installed it removes it",
                  kv("configuration", what));
        co_return;
      } else if (cleaned == CleanedConfiguration::emptied) {
        done = co_await client_.remove<T>(
            {"", name},
            {.resource_version = std::string(json::text_at(*read, "metadata", "resourceVersion"))});
      } else {
        log_.info("a webhook configuration stays with the entries that others have in it",
                  kv("configuration", what));
        auto written = co_await client_.update_raw(api::kind<T>(), {"", name}, json::to_text(*read));
        if (!written) done = written.error();
      }
      if (!done && done.error().code() == Code::conflict && attempt < kAttempts) continue;
      note(what, done);
      co_return;
    }
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
      std::string what = fmt::format("Node {}", node->metadata.name);
      if (clean_node(*node, [](auto, auto) { return true; }).node == *node) continue;  // nothing of koord's
      auto text = co_await client_.get_raw(api::kind<api::Node>(), {"", node->metadata.name});
      const auto raw = text ? json::parse(*text) : Result<json::Document>(text.error());
      if (!raw) {
        note(what, raw.error());
        continue;
      }
      const auto [after, left] = clean_node(*node, [&raw](std::string_view section, std::string_view name) {
        return is_managers_alone(*raw, section, name);
      });
      if (!left.empty())
        log_.warn(
            "labels, annotations or resources of a node stay: others wrote them, too, or the API server does "
            "not say who: remove them by hand where they are koord's",
            kv("node", node->metadata.name), kv("left", fmt::format("{}", fmt::join(left, ", "))));
      api::Node status = *node, meta = *node;
      status.status = after.status;
      meta.metadata = after.metadata;
      if (status != *node) note(what, co_await client_.patch(*node, status, "status"));
      if (meta != *node) note(what, co_await client_.patch(*node, meta));
    }
  }

  /// Those that node agents made go; of others what zones lend.
  Task<> topologies() {
    auto all = co_await client_.list_pages<api::NodeResourceTopology>({});
    if (!all) {
      note("NodeResourceTopology", std::move(all).error());
      co_return;
    }
    for (const auto& topology : all->items) {
      if (const auto* made_by = topology->metadata.labels.find(kMadeBy);
          made_by != nullptr && *made_by == kAgents)
        co_await remove<api::NodeResourceTopology>({}, topology->metadata.name);
      else
        co_await zones(*topology);
    }
  }

  /// Those that node agents made, which are their nodes' own.
  Task<> devices() {
    auto all = co_await client_.list_pages<api::Device>({});
    if (!all) {
      note("Device", std::move(all).error());
      co_return;
    }
    for (const auto& device : all->items)
      if (std::ranges::any_of(device->metadata.owner_references, [&](const api::OwnerReference& owner) {
            return owner.kind == "Node" && owner.name == device->metadata.name;
          }))
        co_await remove<api::Device>({}, device->metadata.name);
  }

  std::size_t done() const { return done_; }
  Result<> outcome() const { return first_ ? Result<>(*first_) : Result<>(); }

 private:
  Task<> zones(api::NodeResourceTopology topology) {
    const std::string name = topology.metadata.name, what = fmt::format("NodeResourceTopology {}", name);
    for (int attempt = 1;; ++attempt) {
      const auto after = without_zone_amounts(topology);
      if (!after) co_return;
      const Result<> done = co_await client_.patch(topology, *after);  // with its resourceVersion
      if (done || done.error().code() != Code::conflict || attempt == kAttempts) {
        note(what, done);
        co_return;
      }
      auto now = co_await client_.get<api::NodeResourceTopology>({"", name});
      if (!now) {
        note(what, now.error());
        co_return;
      }
      topology = std::move(*now);
    }
  }

  void note(std::string what, const Result<>& written) {
    if (written) {
      ++done_;
      return;
    }
    if (written.error().code() == Code::not_found) return;
    log_.warn("an object could not be removed: run the cleanup again", kv("what", what),
              kv("error", written.error()));
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

bool is_managers_alone(const json::Value& node, std::string_view section, std::string_view name) {
  const std::string_view part = section == "allocatable" ? "f:status" : "f:metadata";
  const std::string list = fmt::format("f:{}", section), field = fmt::format("f:{}", name);
  const json::Value* const managed = json::find(node, "metadata", "managedFields");
  if (managed == nullptr || !managed->is_array()) return false;
  bool ours = false;
  for (const json::Value& entry : managed->elements()) {
    if (json::find(entry, "fieldsV1", part, list, field) == nullptr) continue;
    if (json::text_at(entry, "manager") != kFieldManager) return false;
    ours = true;
  }
  return ours;
}

CleanedNode clean_node(const api::Node& node, const WroteIt& managers_alone) {
  CleanedNode cleaned{node, {}};
  api::Node& after = cleaned.node;
  const auto goes = [&](std::string_view section, std::string_view what, std::string_view name, bool there) {
    if (!there || managers_alone(section, name)) return there;
    cleaned.left.push_back(fmt::format("{} {}", what, name));
    return false;
  };
  const auto erase = [&after](std::string_view name) {
    for (api::ResourceList* list : {&after.status.capacity, &after.status.allocatable}) list->erase(name);
  };
  for (const ResourcePlugin* plugin : resource_plugin_table()) {
    for (const std::string_view name : plugin->resources) {
      const bool there =
          after.status.allocatable.find(name) != nullptr || after.status.capacity.find(name) != nullptr;
      if (!plugin->of_devices || name.starts_with(kOurDomain) || goes("allocatable", "resource", name, there))
        erase(name);
    }
    for (const std::string_view name : plugin->status_annotations) after.metadata.annotations.erase(name);
  }
  restore_amplified(after);
  for (const std::string_view name : kAnnotations) after.metadata.annotations.erase(name);
  // Users may say these themselves.
  for (const ResourcePlugin* plugin : resource_plugin_table()) {
    for (const std::string_view name : plugin->annotations)
      if (goes("annotations", "annotation", name, after.metadata.annotations.contains(name)))
        after.metadata.annotations.erase(name);
    for (const std::string_view name : plugin->labels)
      if (goes("labels", "label", name, after.metadata.labels.contains(name)))
        after.metadata.labels.erase(name);
  }
  return cleaned;
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
  co_await cleaner.remove_entries<api::MutatingWebhookConfiguration>(
      webhooks.mutating, webhook_entries(handlers(), WebhookType::mutate, webhooks));
  co_await cleaner.remove_entries<api::ValidatingWebhookConfiguration>(
      webhooks.validating, webhook_entries(handlers(), WebhookType::validate, webhooks));
  co_await cleaner.nodes();
  co_await cleaner.topologies();
  co_await cleaner.devices();
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
