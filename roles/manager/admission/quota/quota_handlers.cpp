// ElasticQuotas under admission: see quota_handlers.hpp.
#include "admission/quota/quota_handlers.hpp"

#include <map>

#include "admission/raw/raw_object.hpp"
#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kPlugin = "QuotaMetaChecker", kResource = "elasticquotas";

constexpr metrics::Metric kSharedWeight{
    .name = "koord_manager_webhook_quota_shared_weight",
    .type = metrics::Type::gauge,
    .help = "The shared weight that a new ElasticQuota was given, which is its max.",
    .labels = {"elasticquota_name", "resource_name"}};

Result<api::ElasticQuota> read(const json::Value& object, std::string_view ns) {
  if (!object.is_object()) return Error(Code::parse, "ElasticQuota: an object is expected");
  KOORD_TRY(quota, api::decode<api::ElasticQuota>(object));
  if (quota.metadata.namespace_.empty()) quota.metadata.namespace_ = Symbol(ns);
  return std::move(quota);
}

/// As it was stored. One that cannot be read has its name: who mends it, or removes it, is not held up.
Result<api::ElasticQuota> stored(const AdmissionRequest& request) {
  auto quota = read(request.old_object, request.ns);
  if (quota || !request.old_object.is_object()) return quota;
  api::ElasticQuota bare;
  bare.metadata.name = json::text_at(request.old_object, "metadata", "name");
  bare.metadata.namespace_ = Symbol(request.ns);
  bare.metadata.resource_version = json::text_at(request.old_object, "metadata", "resourceVersion");
  return bare;
}

Verdict verdict(QuotaRuling ruling) {
  if (ruling.wrong.empty()) return Verdict::allow();
  return ruling.again ? Verdict::unless_soon(400, std::move(ruling.wrong))
                      : Verdict::error(400, std::move(ruling.wrong));
}

json::Value amounts(const api::ResourceList& list, json::Arena& arena) {
  json::Value all = json::Value::object();
  for (const auto& [name, amount] : list) json::set_text(all, name, amount.to_string(), arena);
  return all;
}

}  // namespace

const metrics::Table QuotaMutating::kMetrics = {&kSharedWeight};

QuotaMutating::QuotaMutating(QuotaParts parts, metrics::Registry& registry)
    : parts_(std::move(parts)), weights_(registry.gauges(kSharedWeight)) {}

Verdict QuotaMutating::handle(const AdmissionRequest& request, json::Document& object,
                              const PluginTimes& times) {
  if (!is_about(request, kResource) || request.operation != Operation::create) return Verdict::allow();
  return times.run(request.operation, kPlugin, [&] { return fill(request, object); });
}

Verdict QuotaMutating::fill(const AdmissionRequest& request, json::Document& object) {
  auto quota = read(object, request.ns);
  if (!quota) return Verdict::error(400, quota.error().message());
  const api::ObjectMeta before = quota->metadata;
  parts_.catalog->refresh();
  bool weight_set = false;
  if (QuotaRuling ruling = parts_.rules->fill(*quota, weight_set); !ruling.wrong.empty())
    return verdict(std::move(ruling));
  if (weight_set && !request.dry_run)
    for (const auto& [name, amount] : quota->spec.max)
      weights_.with({quota->metadata.name, name.view()}).set(static_cast<double>(amount.value()));
  const auto copy = [&](const api::SymbolMap& from, const api::SymbolMap& to, auto&& members) {
    for (const auto& [key, text] : to)
      if (const Symbol* const there = from.find(key); there == nullptr || *there != text)
        json::set_text(members(object, object.arena()), key, text, object.arena());
  };
  copy(before.labels, quota->metadata.labels, labels_of);
  copy(before.annotations, quota->metadata.annotations, annotations_of);
  return Verdict::allow();
}

QuotaValidating::QuotaValidating(QuotaParts parts, metrics::Registry& registry)
    : parts_(std::move(parts)), weights_(registry.gauges(kSharedWeight)) {}

Verdict QuotaValidating::handle(const AdmissionRequest& request, const PluginTimes& times) {
  if (!is_about(request, kResource) || request.operation == Operation::connect) return Verdict::allow();
  return times.run(request.operation, kPlugin, [&] { return check(request); });
}

Verdict QuotaValidating::check(const AdmissionRequest& request) {
  const bool update = request.operation == Operation::update, gone = request.operation == Operation::remove;
  auto quota = gone ? stored(request) : read(request.object, request.ns);
  if (!quota) return Verdict::error(400, quota.error().message());
  std::shared_ptr<const QuotaVersion> before;
  if (update) {
    auto old = stored(request);
    if (!old) return Verdict::error(400, "failed to get quota from old object, err:" + old.error().message());
    quota->metadata.resource_version = old->metadata.resource_version;
    before = std::make_shared<const QuotaVersion>(std::make_shared<const api::ElasticQuota>(*std::move(old)));
  } else if (!gone) {
    quota->metadata.resource_version.clear();
  }
  const auto version =
      std::make_shared<const QuotaVersion>(std::make_shared<const api::ElasticQuota>(*std::move(quota)));
  parts_.catalog->refresh();
  const QuotaRules& rules = *parts_.rules;
  QuotaRuling ruling = gone     ? rules.check_delete(*version)
                       : update ? rules.check_update(*before, *version)
                                : rules.check_create(*version);
  if (!ruling.wrong.empty()) return verdict(std::move(ruling));
  if (request.dry_run || version->name().empty()) return Verdict::allow();
  // A write of the scheduler's, say, changes nothing that others are held to.
  if (update && before->terms == version->terms && before->object->spec == version->object->spec)
    return Verdict::allow();
  if (gone)
    for (const auto& [name, amount] : version->max()) weights_.remove({version->name(), name.view()});
  const bool remembered =
      gone ? parts_.catalog->remember_removed(version) : parts_.catalog->remember(version);
  return remembered
             ? Verdict::allow()
             : Verdict::error(500, "too many ElasticQuotas are written at once: try again in a moment");
}

std::string quota_page(QuotaCatalog& catalog) {
  catalog.refresh();
  json::Document page;
  json::Arena& arena = page.arena();
  std::map<std::string, std::map<std::string, bool>> children;
  children[std::string(api::kRootQuota)];
  json::Value infos = json::Value::object();
  catalog.for_each([&](const QuotaVersion& quota) {
    children[quota.name()];
    children[quota.terms.parent][quota.name()] = true;
    if (catalog.find(quota.name())->object != quota.object) return;  // another is meant by that name
    json::Value info = json::Value::object();
    json::set_text(info, "name", quota.name(), arena);
    json::set_text(info, "parentName", quota.terms.parent, arena);
    json::set(info, "isParent", json::Value(quota.terms.is_parent), arena);
    json::set(info, "allowLentResource", json::Value(quota.terms.lends), arena);
    json::set(info, "max", amounts(quota.max(), arena), arena);
    json::set(info, "min", amounts(quota.min(), arena), arena);
    infos.append(quota.name(), std::move(info), arena);
  });
  json::Value families = json::Value::object();
  for (const auto& [parent, names] : children) {
    json::Value list = json::Value::array();
    for (const auto& [name, there] : names) list.push_back(json::make_text(name, arena), arena);
    families.append(parent, std::move(list), arena);
  }
  json::set(page, "quotaInfoMap", std::move(infos), arena);
  json::set(page, "quotaHierarchyInfo", std::move(families), arena);
  return json::to_text(page);
}

}  // namespace koord::manager
