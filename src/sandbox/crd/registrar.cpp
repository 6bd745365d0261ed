// Kinds from CustomResourceDefinitions.
#include "sandbox/crd/registrar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "koord/api/rules/validation_names.hpp"
#include "koord/api/values/time.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/crd/schema.hpp"

namespace koord::sandbox {
namespace {

void defaults(json::Value& crd, json::Arena& arena) {
  json::Value* names = find(crd, "spec", "names");
  if (!names || !names->is_object()) return;
  std::string kind(text_at(*names, "kind")), singular;
  for (char c : kind) singular += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (text_at(*names, "singular").empty()) set_text(*names, "singular", singular, arena);
  if (text_at(*names, "listKind").empty()) set_text(*names, "listKind", fmt::format("{}List", kind), arena);
  json::Value& conversion = object_at(*find(crd, "spec"), "conversion", arena);
  default_text(conversion, "strategy", "None", arena);
}

// The names are accepted and served in the moment of writing; a real server takes a while.
void prepare_create(json::Value& crd, Admission& admission) {
  json::Arena& arena = admission.arena;
  json::Value status = json::Value::object();
  std::string now = api::Time(admission.now).to_string();
  json::Value conditions = json::Value::array();
  for (const auto& [type, reason, message] :
       {std::tuple("NamesAccepted", "NoConflicts", "no conflicts found"),
        std::tuple("Established", "InitialNamesAccepted", "the initial names have been accepted")}) {
    json::Value condition = json::Value::object();
    set(condition, "type", json::make_const(type), arena);
    set(condition, "status", json::make_const("True"), arena);
    set_text(condition, "lastTransitionTime", now, arena);
    set(condition, "reason", json::make_const(reason), arena);
    set(condition, "message", json::make_const(message), arena);
    conditions.push_back(std::move(condition), arena);
  }
  set(status, "conditions", std::move(conditions), arena);
  if (const json::Value* names = find(crd, "spec", "names"))
    set(status, "acceptedNames", clone(*names, arena), arena);
  json::Value stored = json::Value::array();
  if (const json::Value* versions = find(crd, "spec", "versions"); versions && versions->is_array())
    for (const auto& version : versions->elements())
      if (true_at(version, "storage")) stored.push_back(make_text(text_at(version, "name"), arena), arena);
  set(status, "storedVersions", std::move(stored), arena);
  set(crd, "status", std::move(status), arena);
}

// How much of each a definition may have: a Kubernetes without bounds here has a user who pays for it.
constexpr std::size_t kMaxVersions = 100, kMaxColumns = 256, kMaxNames = 100;

void validate_label(std::string_view value, const FieldPath& path, std::string_view prefix,
                    StatusCauses& errors) {
  std::string lower(value);
  if (!prefix.empty())
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (const auto wrong = api::check_dns1035_label(lower); !value.empty() && !wrong.empty())
    errors.invalid(path.text(), value, fmt::format("{}{}", prefix, fmt::join(wrong, ",")));
}

void validate_names(const json::Value& spec, const FieldPath& path, StatusCauses& errors) {
  constexpr std::string_view kMixed = "may have mixed case, but should otherwise match: ";
  const json::Value* names = find(spec, "names");
  const FieldPath at = path.field("names");
  const auto text = [&](std::string_view field) {
    return names ? text_at(*names, field) : std::string_view{};
  };
  for (const char* field : {"plural", "singular"}) validate_label(text(field), at.field(field), "", errors);
  for (const char* field : {"kind", "listKind"}) validate_label(text(field), at.field(field), kMixed, errors);
  for (const char* field : {"shortNames", "categories"}) {
    const json::Value* list = names ? find(*names, field) : nullptr;
    const FieldPath list_at = at.field(field);
    if (!list) continue;
    if (list->size() > kMaxNames)
      errors.forbidden(list_at.text(), fmt::format("must have at most {} items", kMaxNames));
    for (std::size_t i = 0; i < std::min(list->elements().size(), kMaxNames); ++i)
      validate_label((*list)[i].text(), list_at.at(i), "", errors);
  }
  if (!text("kind").empty() && text("kind") == text("listKind"))
    errors.invalid(at.field("listKind").text(), text("listKind"), "kind and listKind may not be the same");
}

void validate_columns(const json::Value& columns, const FieldPath& path, StatusCauses& errors) {
  constexpr std::string_view kTypes[] = {"boolean", "date", "integer", "number", "string"};
  const std::string one_of = fmt::format("must be one of {}", fmt::join(kTypes, ","));
  if (columns.size() > kMaxColumns)
    errors.forbidden(path.text(), fmt::format("must have at most {} items", kMaxColumns));
  for (std::size_t i = 0; i < std::min(columns.elements().size(), kMaxColumns); ++i) {
    const FieldPath at = path.at(i);
    const std::string_view name = text_at(columns[i], "name"), type = text_at(columns[i], "type"),
                           way = text_at(columns[i], "jsonPath");
    if (name.empty()) errors.required(at.field("name").text());
    if (type.empty())
      errors.required(at.field("type").text(), one_of);
    else if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes))
      errors.invalid(at.field("type").text(), type, one_of);
    if (way.empty())
      errors.required(at.field("JSONPath").text());
    else if (way.front() != '.')
      errors.invalid(at.field("jsonPath").text(), way, "must be a simple json path starting with .");
  }
}

// What all versions have alike stands in the definition itself, as kube-apiserver converts it.
bool alike(const json::Value& versions, std::string_view field) {
  const auto list = versions.elements();
  return std::all_of(list.begin(), list.end(), [&](const json::Value& version) {
    return same(find(version, field), find(list.front(), field));
  });
}

void validate_versions(const json::Value& versions, const FieldPath& path, StatusCauses& errors) {
  const FieldPath at = path.field("versions");
  if (versions.size() > kMaxVersions)
    return errors.forbidden(at.text(), fmt::format("must have at most {} items", kMaxVersions));
  const bool one_schema = alike(versions, "schema"), one_table = alike(versions, "additionalPrinterColumns");
  std::set<std::string_view> names;
  int storage = 0;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const json::Value& version = versions[i];
    const FieldPath version_at = at.at(i);
    storage += true_at(version, "storage");
    const std::string_view name = text_at(version, "name");
    if (name.empty()) errors.required(version_at.field("name").text());
    validate_label(name, version_at.field("name"), "", errors);
    if (!names.insert(name).second)
      errors.invalid_raw(at.text(), json::to_text(versions), "must contain unique version names");
    const FieldPath schema_at = one_schema ? path.field("validation") : version_at.field("schema");
    const FieldPath open_at = schema_at.field("openAPIV3Schema");
    const json::Value* schema = find(version, "schema", "openAPIV3Schema");
    if (!schema) {
      const FieldPath missing_at = version_at.field("schema");
      errors.required(missing_at.field("openAPIV3Schema").text(), "schemas are required");
    } else if (i == 0 || !one_schema) {
      (void)CrdSchema::compile(*schema, open_at, errors);
    }
    const json::Value* columns = find(version, "additionalPrinterColumns");
    if (columns && (i == 0 || !one_table))
      validate_columns(*columns, (one_table ? path : version_at).field("additionalPrinterColumns"), errors);
  }
  if (storage != 1)
    errors.invalid_raw(at.text(), json::to_text(versions),
                       "must have exactly one version marked as storage version");
}

void validate(const json::Value& crd, const json::Value*, Admission&, StatusCauses& errors) {
  const json::Value* spec = find(crd, "spec");
  if (!spec) return errors.required("spec");
  std::string_view group = text_at(*spec, "group"), plural = text_at(*spec, "names", "plural"),
                   scope = text_at(*spec, "scope");
  if (group.empty())
    errors.required("spec.group");
  else if (const auto wrong = api::check_dns1123_subdomain(group); !wrong.empty())
    errors.invalid("spec.group", group, fmt::format("{}", fmt::join(wrong, ",")));
  else if (group.find('.') == std::string_view::npos)
    errors.invalid("spec.group", group, "should be a domain with at least one dot");
  if (plural.empty()) errors.required("spec.names.plural");
  if (text_at(*spec, "names", "kind").empty()) errors.required("spec.names.kind");
  if (scope.empty())
    errors.required("spec.scope");
  else if (scope != "Namespaced" && scope != "Cluster")
    errors.unsupported("spec.scope", scope, {"Cluster", "Namespaced"});
  std::string_view name = text_at(crd, "metadata", "name");
  if (!group.empty() && !plural.empty() && name != fmt::format("{}.{}", plural, group))
    errors.invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group");
  const FieldPath path("spec");
  validate_names(*spec, path, errors);
  const json::Value* versions = find(*spec, "versions");
  if (is_empty(versions) || !versions->is_array())
    return errors.invalid_raw("spec.versions", "null",
                              "must have exactly one version marked as storage version");
  validate_versions(*versions, path, errors);
}

std::vector<std::string> strings_of(const json::Value* list) {
  std::vector<std::string> out;
  if (list && list->is_array())
    for (const auto& each : list->elements())
      if (each.is_string()) out.emplace_back(each.text());
  return out;
}

}  // namespace

KindRules crd_rules() { return {prepare_create, defaults, nullptr, validate, nullptr}; }

Registrar::Registrar(Registry& registry, Clock& clock)
    : registry_(registry),
      definitions_(*registry.get("apiextensions.k8s.io", "customresourcedefinitions").objects),
      wheel_(clock, [this](std::string& id) {
        // Those who watch see their objects go.
        Collection& objects = registry_.store().collection(id);
        while (!objects.objects().empty()) {
          ObjectPtr first = objects.objects().begin()->second;
          objects.erase(first->ns, first->name);
        }
      }) {
  registry_.store().add_observer(*this);
}

Registrar::~Registrar() { registry_.store().remove_observer(*this); }

void Registrar::on_change(Collection& collection, const Change& change) {
  if (&collection != &definitions_) return;
  json::Document doc;
  if (change.previous) {
    load(*change.previous, doc);
    remove(doc);
  }
  if (change.type == Change::Type::deleted) {
    wheel_.add({}, std::string(change.object->name));
    return;
  }
  json::Document now;
  load(*change.object, now);
  add(now);
}

void Registrar::remove(const json::Value& crd) {
  const json::Value* versions = find(crd, "spec", "versions");
  if (!versions || !versions->is_array()) return;
  for (const auto& version : versions->elements())
    registry_.remove(text_at(crd, "spec", "group"), text_at(version, "name"),
                     text_at(crd, "spec", "names", "plural"));
}

void Registrar::add(const json::Value& crd) {
  const json::Value* spec = find(crd, "spec");
  const json::Value* versions = spec ? find(*spec, "versions") : nullptr;
  if (!versions || !versions->is_array()) return;
  std::string storage;
  for (const auto& version : versions->elements())
    if (true_at(version, "storage")) storage = text_at(version, "name");
  for (const auto& version : versions->elements()) {
    const json::Value* served = find(version, "served");
    if (served && served->is_bool() && !served->is_true()) continue;
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
    if (kind.version != storage) kind.stored_version = fmt::format("{}/{}", kind.group, storage);
    if (const json::Value* schema = find(version, "schema", "openAPIV3Schema")) {
      StatusCauses none;  // it was validated
      kind.schema = CrdSchema::compile(*schema, FieldPath(), none);
    }
    kind.columns.push_back({"Name", "string", "name", "Name must be unique within a namespace.", 0});
    const json::Value* columns = find(version, "additionalPrinterColumns");
    if (!is_empty(columns) && columns->is_array())
      for (const auto& column : columns->elements())
        kind.columns.push_back({std::string(text_at(column, "name")), std::string(text_at(column, "type")),
                                std::string(text_at(column, "format")),
                                std::string(text_at(column, "description")),
                                static_cast<int>(int_at(column, "priority").value_or(0)),
                                JsonPath(text_at(column, "jsonPath"))});
    else
      kind.columns.push_back({"Age", "date", "", "Time since the object was created.", 0,
                              JsonPath(".metadata.creationTimestamp")});
    kind.objects = &registry_.store().collection(std::string(text_at(crd, "metadata", "name")));
    registry_.add(std::move(kind));
  }
}

}  // namespace koord::sandbox
