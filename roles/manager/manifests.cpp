// Webhook configurations as the API has them: see manifests.hpp.
#include "manifests.hpp"

#include <fmt/format.h>

#include "framework/webhook/configuration.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/admissionregistration_v1/webhook_configuration.hpp"
#include "koord/json/value.hpp"
#include "koord/json/yaml.hpp"

namespace koord::manager {

namespace {

/// Without entries: until a manager answers nobody is to be asked.
template <class Configuration>
std::string manifest(std::string_view name) {
  Configuration configuration;
  configuration.metadata.name = name;
  configuration.metadata.annotations[kEntriesAnnotation] = kOwnEntries;
  json::Document document;
  document = api::encode(configuration, document.arena());
  json::array_at(document, "webhooks", document.arena());
  return json::to_yaml(document);
}

}  // namespace

std::string webhook_manifests() {
  return fmt::format(
      "{}---\n{}", manifest<api::MutatingWebhookConfiguration>("koordinator-mutating-webhook-configuration"),
      manifest<api::ValidatingWebhookConfiguration>("koordinator-validating-webhook-configuration"));
}

}  // namespace koord::manager
