// Webhook configurations as raw documents, so that fields which koord does not know stay.
#include "framework/webhook/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "koord/base/base64.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {

namespace {

constexpr std::string_view kTemplate = "template";
constexpr std::int64_t kFirstTimeout = 10;

/// The path of "https://host:port/path?query".
std::string_view path_of_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  url.remove_prefix(scheme + 3);
  const std::size_t slash = url.find('/');
  return slash == std::string_view::npos ? "/" : url.substr(slash, url.find_first_of("?#", slash) - slash);
}

std::string_view path_of(const json::Value& entry) {
  const json::Value* service = json::find(entry, "clientConfig", "service");
  if (!service || !service->is_object()) return path_of_url(json::text_at(entry, "clientConfig", "url"));
  const std::string_view path = json::text_at(*service, "path");
  return path.empty() ? "/" : path;
}

/// Where the server is, and by which CA it is believed.
void point_to_server(json::Value& entry, const WebhookSettings& settings, std::string_view bundle,
                     json::Arena& arena) {
  json::Value& client = json::object_at(entry, "clientConfig", arena);
  json::set_text(client, "caBundle", bundle, arena);
  json::Value* service = json::find(client, "service");
  if (!service || !service->is_object()) return;
  if (settings.host.empty()) {
    json::set_text(*service, "namespace", settings.ns, arena);
    json::set_text(*service, "name", settings.service, arena);
    return;
  }
  const bool v6 = settings.host.find(':') != std::string::npos;
  const std::string host = v6 ? fmt::format("[{}]", settings.host) : settings.host;
  json::set_text(client, "url", fmt::format("https://{}:{}{}", host, settings.port, path_of(entry)), arena);
  json::remove(client, "service");
}

/// The first CA that the entries believe and that is not in `ca_pem`; empty if there is none.
std::string other_ca(const json::Value& entries, std::string_view ca_pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----", kEnd = "-----END CERTIFICATE-----";
  for (const json::Value& entry : entries.elements()) {
    const std::string pem = decode_base64(json::text_at(entry, "clientConfig", "caBundle")).value_or("");
    std::string_view rest = pem;
    for (;;) {
      rest.remove_prefix(std::min(rest.find(kBegin), rest.size()));
      const std::size_t end = rest.find(kEnd);
      if (end == std::string_view::npos) break;
      const std::string_view certificate = rest.substr(0, end + kEnd.size());
      if (ca_pem.find(certificate) == std::string_view::npos) return fmt::format("{}\n", certificate);
      rest.remove_prefix(certificate.size());
    }
  }
  return {};
}

/// The annotation's entries; nothing if it is no list of objects.
std::optional<json::Document> read_template(std::string_view text) {
  auto read = json::parse(text);
  if (!read || !read->is_array()) return std::nullopt;
  for (const json::Value& entry : read->elements())
    if (!entry.is_object()) return std::nullopt;
  return std::move(*read);
}

/// As koord's first manifests had them: with failurePolicy Fail and ten seconds, and, unlike everybody
/// else's, none of pods of koord's namespace by its name.
bool is_of_first_manifests(const json::Value& entries) {
  bool spares_us = false;
  for (const json::Value& entry : entries.elements()) {
    if (!json::text_at(entry, "name").ends_with(".koordinator.sh") ||
        json::int_at(entry, "timeoutSeconds") != kFirstTimeout)
      return false;
    const json::Value* const rules = json::find(entry, "namespaceSelector", "matchExpressions");
    if (rules == nullptr || !rules->is_array()) continue;
    for (const json::Value& rule : rules->elements())
      spares_us = spares_us || (json::text_at(rule, "key") == "kubernetes.io/metadata.name" &&
                                json::text_at(rule, "operator") == "NotIn");
  }
  return spares_us;
}

/// Whether `live` says all that `wanted` says, with or without its conditions: API servers add their
/// defaults.
bool says_all(const json::Value& live, const json::Value& wanted, bool conditions) {
  if (wanted.is_object())
    return live.is_object() && std::ranges::all_of(wanted.members(), [&](const json::Member& member) {
             const json::Value* const there = json::find(live, member.key());
             if (there == nullptr) return !conditions && member.key() == "matchConditions";
             return says_all(*there, member.value, conditions);
           });
  if (!wanted.is_array()) return live == wanted;
  return live.is_array() &&
         std::ranges::equal(live.elements(), wanted.elements(), [conditions](const auto& a, const auto& b) {
           return says_all(a, b, conditions);
         });
}

}  // namespace

KeptConfiguration keep_configuration(json::Document& configuration, const WebhookSettings& settings,
                                     std::string_view ca_pem, bool overlap,
                                     const std::function<bool(std::string_view path)>& served,
                                     const json::Value& own, bool conditions) {
  KeptConfiguration kept;
  json::Arena& arena = configuration.arena();
  json::Value& annotations =
      json::object_at(json::object_at(configuration, "metadata", arena), "annotations", arena);
  json::Value& live =
      json::array_at(configuration, "webhooks", arena);  // the last: what is added moves the others
  const std::string_view text = json::text_at(annotations, kTemplate);
  std::optional<json::Document> entries = read_template(text);
  bool ours = json::text_at(annotations, kEntriesAnnotation) == kOwnEntries;
  if (!ours && is_of_first_manifests(entries ? *entries : live)) {
    json::set_text(annotations, kEntriesAnnotation, kOwnEntries, arena);
    kept.migrated = kept.changed = ours = true;
  }
  if (ours) {
    kept.changed = json::remove(annotations, kTemplate) || kept.changed;
    entries = json::clone(own);
  } else if (!entries) {
    kept.template_lost = !text.empty();
    kept.changed = true;
    entries = json::clone(live);
    json::set_text(annotations, kTemplate, json::to_text(live), arena);
  }
  const std::string bundle =
      encode_base64(overlap ? fmt::format("{}{}", ca_pem, other_ca(live, ca_pem)) : ca_pem);
  json::Value wanted = json::Value::array();
  for (const json::Value& entry : entries->elements()) {
    if (!served(path_of(entry))) {
      kept.left_out.emplace_back(json::text_at(entry, "name"));
      continue;
    }
    point_to_server(wanted.push_back(json::clone(entry, arena), arena), settings, bundle, arena);
  }
  const bool whole = ours ? says_all(live, wanted, true) : wanted == live;
  kept.unconditional = !whole && ours && says_all(live, wanted, false);
  if (!whole && (conditions || !kept.unconditional)) {
    kept.changed = true;
    live = std::move(wanted);
  }
  return kept;
}

CleanedConfiguration clean_configuration(json::Document& configuration, const json::Value& own) {
  json::Arena& arena = configuration.arena();
  json::Value& annotations =
      json::object_at(json::object_at(configuration, "metadata", arena), "annotations", arena);
  json::Value& live = json::array_at(configuration, "webhooks", arena);
  if (json::text_at(annotations, kEntriesAnnotation) != kOwnEntries && !is_of_first_manifests(live))
    return CleanedConfiguration::others;
  live.erase_if([&own](const json::Value& entry) {
    return std::ranges::any_of(own.elements(), [name = json::text_at(entry, "name")](const json::Value& one) {
      return json::text_at(one, "name") == name;
    });
  });
  json::remove(annotations, kEntriesAnnotation);
  return live.elements().empty() ? CleanedConfiguration::emptied : CleanedConfiguration::changed;
}

}  // namespace koord::manager
