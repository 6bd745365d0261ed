// CustomResourceDefinitions from the schema tables, and the YAML that they are printed in.
#include "koord/api/schema/crd.hpp"

#include <algorithm>
#include <cctype>

#include "document_dom.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/json/writer.hpp"
#include "openapi.hpp"

namespace koord::api {
namespace {

JsonValue names_of(std::span<const std::string_view> names) {
  JsonValue out = JsonValue::make_array();
  for (const std::string_view name : names) out.array().emplace_back(name);
  return out;
}

JsonValue column(const PrinterColumn& from) {
  JsonValue out = JsonValue::make_object();
  out.set("name", JsonValue(from.name));
  out.set("type", JsonValue(from.type));
  out.set("jsonPath", JsonValue(from.json_path));
  if (!from.description.empty()) out.set("description", JsonValue(from.description));
  if (!from.format.empty()) out.set("format", JsonValue(from.format));
  if (from.priority != 0) out.set("priority", JsonValue(int64_t{from.priority}));
  return out;
}

JsonValue manifest(const Schema& schema) {
  const Kind& kind = *schema.kind();
  JsonValue names = JsonValue::make_object();
  names.set("kind", JsonValue(kind.kind));
  names.set("listKind", JsonValue(std::string(kind.kind) + "List"));
  names.set("plural", JsonValue(kind.plural));
  names.set("singular", JsonValue(kind.singular()));
  if (!kind.short_names.empty()) names.set("shortNames", names_of(kind.short_names));
  if (!kind.categories.empty()) names.set("categories", names_of(kind.categories));

  JsonValue version = JsonValue::make_object();
  version.set("name", JsonValue(kind.version));
  version.set("served", JsonValue(true));
  version.set("storage", JsonValue(true));
  if (!kind.columns.empty()) {
    JsonValue columns = JsonValue::make_array();
    for (const PrinterColumn& c : kind.columns) columns.array().push_back(column(c));
    version.set("additionalPrinterColumns", std::move(columns));
  }
  if (kind.has_status) version["subresources"].set("status", JsonValue::make_object());
  version["schema"].set("openAPIV3Schema", openapi(schema, OpenApiFor::crd, false));

  JsonValue out = JsonValue::make_object();
  out.set("apiVersion", JsonValue("apiextensions.k8s.io/v1"));
  out.set("kind", JsonValue("CustomResourceDefinition"));
  out["metadata"].set("name", JsonValue(std::string(kind.plural) + "." + std::string(kind.group)));
  JsonValue& spec = out["spec"];
  spec.set("group", JsonValue(kind.group));
  spec.set("names", std::move(names));
  spec.set("scope", JsonValue(kind.namespaced ? "Namespaced" : "Cluster"));
  spec.set("versions", JsonValue::make_array());
  spec["versions"].array().push_back(std::move(version));
  return out;
}

// True if YAML reads the text as this very string without quotes.
bool is_plain(std::string_view text) {
  static constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  if (text.empty() || text.back() == ' ' || !std::isalpha(static_cast<unsigned char>(text.front())))
    return false;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (std::ranges::find(kWords, lower) != std::end(kWords)) return false;
  return std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/' || c == ' ';
  });
}

void append_yaml(std::string& out, const JsonValue& value, size_t indent) {
  const auto line = [&] { out.append(indent, ' '); };
  const auto inline_or_block = [&](const JsonValue& v, bool in_list) {
    if (v.size() == 0) {
      if (!in_list) out.push_back(' ');
      if (v.is_string() && is_plain(v.as_string()))
        out.append(v.as_string());
      else
        append_json(out, v);
      out.push_back('\n');
    } else if (in_list) {
      const size_t start = out.size();
      append_yaml(out, v, indent + 2);
      out.erase(start, indent + 2);  // the first line stands beside the dash
    } else {
      out.push_back('\n');
      append_yaml(out, v, v.is_array() ? indent : indent + 2);
    }
  };
  if (value.is_array()) {
    for (const JsonValue& element : value.array()) {
      line();
      out.append("- ");
      inline_or_block(element, true);
    }
  } else if (value.is_object()) {
    for (const JsonMember& member : value.object()) {
      line();
      if (is_plain(member.key))
        out.append(member.key);
      else
        json::append_string(out, member.key);
      out.push_back(':');
      inline_or_block(member.value, false);
    }
  }
}

}  // namespace

std::span<const Schema* const> custom_resources() {
  static const Schema* const kAll[] = {&schema<NodeMetric>(), &schema<NodeSlo>()};
  return kAll;
}

std::string crd_manifest_json(const Schema& schema) { return to_json(manifest(schema)); }

std::string crd_manifest_yaml(const Schema& schema) {
  std::string out;
  append_yaml(out, manifest(schema), 0);
  return out;
}

}  // namespace koord::api
