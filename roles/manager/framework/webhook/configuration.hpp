// A webhook configuration, kept right: what its entries say of where the server is, and that each has a
// handler.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/webhook/settings.hpp"
#include "koord/api/koordinator/admission.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

/// The annotation of configurations whose entries are the manager's (kOwnEntries): those of the manifests,
/// which begin without any. All others, such as the chart's, keep the entries that they came with.
inline constexpr std::string_view kEntriesAnnotation = api::kWebhookEntries, kOwnEntries = "manager";

struct KeptConfiguration {
  bool changed = false;        // the document is to be written
  bool template_lost = false;  // the annotation could not be read: the entries that are there took its place
  bool migrated = false;       // its entries were those of koord's first manifests, and are the manager's now
  /// Its entries are as they should be but for their conditions: they are asked about too much.
  bool unconditional = false;
  std::vector<std::string> left_out;  // entries that nobody serves
};

/// Makes the `webhooks` of a configuration, as an API server has it, those of its annotation `template` for
/// whose path `served` is true, with the CA (PEM; one or several) and the place of the server. Where the
/// annotation is empty it gets the entries that are there: so a gate that is on again has its entry back.
/// With `overlap` the CA that the entries believed so far is believed beside the new one. Of an entry nothing
/// else changes. A configuration with kEntriesAnnotation has the entries `own` (see webhook_entries()) in
/// their place, its annotation `template` goes; so has one whose entries are those of koord's first
/// manifests, which said failurePolicy Fail. What an API server adds to an entry of ours is left as it is.
/// API servers before Kubernetes 1.28 drop conditions: entries that lack nothing else are written only with
/// `conditions`.
KeptConfiguration keep_configuration(json::Document& configuration, const WebhookSettings& settings,
                                     std::string_view ca_pem, bool overlap,
                                     const std::function<bool(std::string_view path)>& served,
                                     const json::Value& own, bool conditions = true);

/// What --cleanup makes of a configuration.
enum class CleanedConfiguration : std::uint8_t { others, emptied, changed };
/// Takes koord's entries, those of these names, out of a configuration whose entries are the manager's, with
/// the annotation that says so. CleanedConfiguration::emptied: nothing else is in it. A configuration of
/// others, such as the chart's, stays as it is: what installed it removes it.
CleanedConfiguration clean_configuration(json::Document& configuration, const json::Value& own);

}  // namespace koord::manager
