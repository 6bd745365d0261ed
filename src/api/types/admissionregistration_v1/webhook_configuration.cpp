// The schema tables of koord/api/types/admissionregistration_v1/webhook_configuration.hpp:
// MutatingWebhookConfiguration and ValidatingWebhookConfiguration.
#include "koord/api/types/admissionregistration_v1/webhook_configuration.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(WebhookService, ROW(namespace_).required(), ROW(name).required(), ROW(path), ROW(port));
KOORD_SCHEMA(WebhookClientConfig, ROW(url), ROW(service), ROW(ca_bundle).format("byte"));
KOORD_SCHEMA(WebhookRule, ROW(operations), ROW(api_groups), ROW(api_versions), ROW(resources), ROW(scope));
KOORD_SCHEMA(MatchCondition, ROW(name).required(), ROW(expression).required());
KOORD_SCHEMA(Webhook, ROW(name).required(), ROW(client_config).required(), ROW(rules), ROW(failure_policy),
             ROW(match_policy), ROW(namespace_selector), ROW(object_selector), ROW(side_effects).required(),
             ROW(timeout_seconds), ROW(admission_review_versions).required(), ROW(reinvocation_policy),
             ROW(match_conditions).merge_key("name"));
KOORD_OBJECT(MutatingWebhookConfiguration,
             Kind("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration",
                  "mutatingwebhookconfigurations")
                 .cluster_scoped(),
             ROW(metadata), ROW(webhooks).merge_key("name"));
KOORD_OBJECT(ValidatingWebhookConfiguration,
             Kind("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
                  "validatingwebhookconfigurations")
                 .cluster_scoped(),
             ROW(metadata), ROW(webhooks).merge_key("name"));

}  // namespace koord::api
