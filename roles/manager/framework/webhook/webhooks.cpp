// The webhooks' parts, put together.
#include "framework/webhook/webhooks.hpp"

#include <fmt/format.h>

#include "framework/webhook/entries.hpp"
#include "koord/api/types/admissionregistration_v1/webhook_configuration.hpp"
#include "koord/api/types/core_v1/secret.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/system.hpp"

namespace koord::manager {

namespace {

kube::Scope named(const std::string& name, const std::string& ns = {}) {
  kube::Scope scope;
  scope.ns = ns;
  scope.fields = fmt::format("metadata.name={}", name);
  return scope;
}

std::vector<kube::AnyInformer> watched(kube::InformerSet& informers, kube::Client& client,
                                       const WebhookSettings& settings) {
  std::vector<kube::AnyInformer> all;
  all.push_back(informers.informer<api::MutatingWebhookConfiguration>(client, named(settings.mutating)));
  all.push_back(informers.informer<api::ValidatingWebhookConfiguration>(client, named(settings.validating)));
  if (settings.in_secret)
    all.push_back(informers.informer<api::Secret>(client, named(settings.secret, settings.ns)));
  return all;
}

}  // namespace

Result<std::unique_ptr<Webhooks>> Webhooks::make(runtime::RoleContext& context, kube::Client& client,
                                                 std::span<const HandlerRow> rows) {
  if (!context.gates.enabled("WebhookFramework")) return std::unique_ptr<Webhooks>();
  KOORD_TRY(settings, webhook_settings(context.flags.get("webhook-port"), environment));
  if (settings.port == 0) return std::unique_ptr<Webhooks>();
  KOORD_TRY(server, WebhookServer::make(context, client, rows));
  std::unique_ptr<Webhooks> made(new Webhooks(context, client, std::move(settings), std::move(server), rows));
  context.health.add(
      "webhook-ready", [keeper = &made->keeper_] { return keeper->ready(); }, runtime::HealthChecks::readyz);
  context.health.add(
      "webhook-informers", [server = made->server_.get()] { return server->ready(); },
      runtime::HealthChecks::readyz | runtime::HealthChecks::told);
  return made;
}

Webhooks::Webhooks(runtime::RoleContext& context, kube::Client& client, WebhookSettings settings,
                   std::unique_ptr<WebhookServer> server, std::span<const HandlerRow> rows)
    : log_(context.log),
      settings_(std::move(settings)),
      server_(std::move(server)),
      keeper_({.clock = context.clock,
               .log = context.log,
               .workers = context.workers,
               .client = client,
               .settings = settings_,
               .watched = watched(context.informers, client, settings_),
               .served = [this](std::string_view path) { return server_->serves(path); },
               .mutating_entries = webhook_entries(rows, WebhookType::mutate, settings_),
               .validating_entries = webhook_entries(rows, WebhookType::validate, settings_),
               .serve = [this](const Certificates& certificates) { return serve(certificates); }}) {}

void Webhooks::start(TaskGroup& tasks) { tasks.spawn("webhooks", keeper_.run()); }

Result<> Webhooks::serve(const Certificates& certificates) {
  KOORD_TRY(port, server_->serve(certificates, settings_.port));
  if (!listening_) log_.info("webhooks are served", kv("port", port));
  listening_ = true;
  return {};
}

}  // namespace koord::manager
