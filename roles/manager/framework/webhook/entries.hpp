// The entries of webhook configurations that are koord's own, from the table of handlers.
#pragma once

#include <span>

#include "framework/webhook/admission.hpp"
#include "framework/webhook/settings.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

/// What API servers ask the webhooks of that type about, as the `webhooks` of a configuration (an array).
/// Pods of kube-system and of the manager's own namespace are never asked about, so that no manager is needed
/// for what a cluster, or the manager, starts with.
json::Document webhook_entries(std::span<const HandlerRow> rows, WebhookType type,
                               const WebhookSettings& settings);

}  // namespace koord::manager
