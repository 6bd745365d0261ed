// what_is_wrong(): see check.hpp.
#include "migration/jobs/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "koord/base/text.hpp"
#include "koord/json/value.hpp"

namespace koord::descheduler::migration {
namespace {

/// Of what somebody said so much is repeated.
constexpr std::size_t kShown = 64;
/// Of names and of namespaces.
constexpr std::size_t kLongestName = 253, kLongestNamespace = 63;

std::string invalid(std::string_view field, std::string_view value, std::string_view why) {
  const std::string_view shown = utf8_prefix(value, kShown);
  return fmt::format("{}: Invalid value: {}{}: {}", field, quote(shown),
                     shown.size() < value.size() ? "..." : "", why);
}

struct Part {
  std::string_view path;
  bool is_list = false;
};
/// Each comes after those that it is in.
constexpr Part kParts[] = {{"metadata"},
                           {"metadata.labels"},
                           {"spec"},
                           {"spec.owners", true},
                           {"spec.template"},
                           {"spec.template.metadata"},
                           {"spec.template.spec"},
                           {"spec.template.spec.affinity"}};

/// nullptr: there is none.
const json::Value* find_part(const json::Value& whole, std::string_view path) {
  const json::Value* at = &whole;
  while (at != nullptr && !path.empty()) {
    const std::string_view key = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(key.size() + 1, path.size()));
    at = json::find(*at, key);
  }
  return at == nullptr || at->is_null() ? nullptr : at;
}

/// Of a template that says something else than an object, or a list, where it has to.
std::string wrong_in_template(std::string_view text) {
  constexpr std::string_view kField = "spec.reservationOptions.template";
  const auto document = json::parse(text);
  if (!document) return invalid(kField, text, document.error().message());
  if (document->is_null()) return {};
  if (!document->is_object()) return invalid(kField, text, "must be an object");
  for (const Part& part : kParts) {
    const json::Value* const value = find_part(*document, part.path);
    if (value == nullptr || (part.is_list ? value->is_array() : value->is_object())) continue;
    return fmt::format("{}.{}: Invalid value: must be {}", kField, part.path,
                       part.is_list ? "a list" : "an object");
  }
  return {};
}

}  // namespace

std::string what_is_wrong(const api::PodMigrationJob& job) {
  const api::PodMigrationJobSpec& spec = job.spec;
  if (spec.ttl && spec.ttl->value.count() < 0)
    return invalid("spec.ttl", spec.ttl->to_string(), "must not be negative");
  if (!spec.mode.empty() && spec.mode != "ReservationFirst" && spec.mode != "EvictDirectly")
    return invalid("spec.mode", spec.mode.view(), "must be ReservationFirst or EvictDirectly");
  if (spec.pod_ref && spec.pod_ref->name.size() > kLongestName)
    return invalid("spec.podRef.name", spec.pod_ref->name,
                   fmt::format("must be no more than {} characters", kLongestName));
  if (spec.pod_ref && spec.pod_ref->namespace_.view().size() > kLongestNamespace)
    return invalid("spec.podRef.namespace", spec.pod_ref->namespace_.view(),
                   fmt::format("must be no more than {} characters", kLongestNamespace));
  if (spec.reservation_options && !spec.reservation_options->template_.empty())
    return wrong_in_template(spec.reservation_options->template_.text);
  return {};
}

}  // namespace koord::descheduler::migration
