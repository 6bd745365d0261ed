// Kinds from CustomResourceDefinitions.
#include "sandbox/crd/registrar.hpp"

#include <fmt/format.h>

#include "koord/api/values/time.hpp"
#include "sandbox/crd/schema.hpp"

namespace koord::sandbox {
namespace {

void defaults(Json& crd, JsonAlloc& alloc) {
  Json* names = find(crd, "spec", "names");
  if (!names || !names->IsObject()) return;
  std::string kind(text_at(*names, "kind")), singular;
  for (char c : kind) singular += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (text_at(*names, "singular").empty()) set_text(*names, "singular", singular, alloc);
  if (text_at(*names, "listKind").empty()) set_text(*names, "listKind", kind + "List", alloc);
  Json& conversion = object_at(*find(crd, "spec"), "conversion", alloc);
  default_text(conversion, "strategy", "None", alloc);
}

// The names are accepted and served in the moment of writing; a real server takes a while.
void prepare_create(Json& crd, Admission& admission) {
  JsonAlloc& alloc = admission.alloc;
  Json status(rapidjson::kObjectType);
  std::string now = api::Time(admission.now).to_string();
  Json conditions(rapidjson::kArrayType);
  for (const auto& [type, reason, message] :
       {std::tuple("NamesAccepted", "NoConflicts", "no conflicts found"),
        std::tuple("Established", "InitialNamesAccepted", "the initial names have been accepted")}) {
    Json condition(rapidjson::kObjectType);
    set(condition, "type", make_const(type), alloc);
    set(condition, "status", make_const("True"), alloc);
    set_text(condition, "lastTransitionTime", now, alloc);
    set(condition, "reason", make_const(reason), alloc);
    set(condition, "message", make_const(message), alloc);
    conditions.PushBack(condition, alloc);
  }
  set(status, "conditions", std::move(conditions), alloc);
  if (const Json* names = find(crd, "spec", "names"))
    set(status, "acceptedNames", clone(*names, alloc), alloc);
  Json stored(rapidjson::kArrayType);
  if (const Json* versions = find(crd, "spec", "versions"); versions && versions->IsArray())
    for (const auto& version : versions->GetArray())
      if (true_at(version, "storage")) stored.PushBack(make_text(text_at(version, "name"), alloc), alloc);
  set(status, "storedVersions", std::move(stored), alloc);
  set(crd, "status", std::move(status), alloc);
}

void validate(const Json& crd, const Json*, Admission&, FieldErrors& errors) {
  const Json* spec = find(crd, "spec");
  if (!spec) return errors.required("spec");
  std::string_view group = text_at(*spec, "group"), plural = text_at(*spec, "names", "plural"),
                   scope = text_at(*spec, "scope");
  if (group.empty()) errors.required("spec.group");
  if (plural.empty()) errors.required("spec.names.plural");
  if (text_at(*spec, "names", "kind").empty()) errors.required("spec.names.kind");
  if (scope.empty())
    errors.required("spec.scope");
  else if (scope != "Namespaced" && scope != "Cluster")
    errors.unsupported("spec.scope", scope, {"Cluster", "Namespaced"});
  std::string_view name = text_at(crd, "metadata", "name");
  if (!group.empty() && !plural.empty() && name != fmt::format("{}.{}", plural, group))
    errors.invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group");
  const Json* versions = find(*spec, "versions");
  if (is_empty(versions) || !versions->IsArray())
    return errors.invalid_raw("spec.versions", "null",
                              "must have exactly one version marked as storage version");
  int storage = 0;
  for (rapidjson::SizeType i = 0; i < versions->Size(); ++i) {
    const Json& version = (*versions)[i];
    storage += true_at(version, "storage");
    if (text_at(version, "name").empty()) errors.required(fmt::format("spec.versions[{}].name", i));
    if (!find(version, "schema", "openAPIV3Schema"))
      errors.required(fmt::format("spec.versions[{}].schema.openAPIV3Schema", i), "schemas are required");
  }
  if (storage != 1)
    errors.invalid_raw("spec.versions", write_json(*versions),
                       "must have exactly one version marked as storage version");
}

std::vector<std::string> strings_of(const Json* list) {
  std::vector<std::string> out;
  if (list && list->IsArray())
    for (const auto& each : list->GetArray())
      if (each.IsString()) out.emplace_back(view(each));
  return out;
}

}  // namespace

KindRules crd_rules() { return {prepare_create, defaults, nullptr, validate, nullptr}; }

Registrar::Registrar(Verbs& verbs)
    : verbs_(verbs),
      definitions_(*verbs.registry().get("apiextensions.k8s.io", "customresourcedefinitions").objects),
      wheel_(verbs.clock(), [this](std::string& id) {
        // Those who watch see their objects go.
        Collection& objects = verbs_.store().collection(id);
        while (!objects.objects().empty()) {
          ObjectPtr first = objects.objects().begin()->second;
          objects.erase(first->ns, first->name);
        }
      }) {
  verbs_.store().add_observer(*this);
}

Registrar::~Registrar() { verbs_.store().remove_observer(*this); }

void Registrar::on_change(Collection& collection, const Change& change) {
  if (&collection != &definitions_) return;
  JsonDoc doc;
  if (change.previous) {
    load(*change.previous, doc);
    remove(doc);
  }
  if (change.type == Change::Type::deleted) {
    wheel_.add({}, std::string(change.object->name));
    return;
  }
  JsonDoc now;
  load(*change.object, now);
  add(now);
}

void Registrar::remove(const Json& crd) {
  const Json* versions = find(crd, "spec", "versions");
  if (!versions || !versions->IsArray()) return;
  for (const auto& version : versions->GetArray())
    verbs_.registry().remove(text_at(crd, "spec", "group"), text_at(version, "name"),
                             text_at(crd, "spec", "names", "plural"));
}

void Registrar::add(const Json& crd) {
  const Json* spec = find(crd, "spec");
  const Json* versions = spec ? find(*spec, "versions") : nullptr;
  if (!versions || !versions->IsArray()) return;
  std::string storage;
  for (const auto& version : versions->GetArray())
    if (true_at(version, "storage")) storage = text_at(version, "name");
  for (const auto& version : versions->GetArray()) {
    const Json* served = find(version, "served");
    if (served && served->IsFalse()) continue;
    Kind kind;
    kind.group = text_at(*spec, "group");
    kind.version = text_at(version, "name");
    kind.resource = text_at(*spec, "names", "plural");
    kind.singular = text_at(*spec, "names", "singular");
    kind.kind = text_at(*spec, "names", "kind");
    kind.namespaced = text_at(*spec, "scope") == "Namespaced";
    kind.short_names = strings_of(find(*spec, "names", "shortNames"));
    kind.categories = strings_of(find(*spec, "names", "categories"));
    kind.verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
    kind.status = find(version, "subresources", "status") != nullptr;
    kind.scale = false;
    kind.counts_generation = true;
    kind.custom = true;
    if (kind.version != storage) kind.stored_version = kind.group + "/" + storage;
    if (const Json* schema = find(version, "schema", "openAPIV3Schema"))
      kind.schema = std::make_shared<const CrdSchema>(*schema);
    kind.columns.push_back({"Name", "string", "name", "Name must be unique within a namespace.", 0, ""});
    const Json* columns = find(version, "additionalPrinterColumns");
    if (!is_empty(columns) && columns->IsArray())
      for (const auto& column : columns->GetArray())
        kind.columns.push_back({std::string(text_at(column, "name")), std::string(text_at(column, "type")),
                                std::string(text_at(column, "format")),
                                std::string(text_at(column, "description")),
                                static_cast<int>(int_at(column, "priority").value_or(0)),
                                std::string(text_at(column, "jsonPath"))});
    else
      kind.columns.push_back(
          {"Age", "date", "", "Time since the object was created.", 0, ".metadata.creationTimestamp"});
    kind.objects = &verbs_.store().collection(std::string(text_at(crd, "metadata", "name")));
    verbs_.registry().add(std::move(kind));
  }
}

}  // namespace koord::sandbox
