// Tables of objects, with the columns of their kind.
#include "sandbox/api/table.hpp"

#include <fmt/format.h>

#include "koord/json/writer.hpp"
#include "sandbox/columns/columns.hpp"

namespace koord::sandbox {
namespace {

// Custom kinds: a path for each column.
void custom_cells(const Kind& kind, const json::Value& object, WallTime now,
                  std::vector<std::string>& cells) {
  cells.push_back(json::quote(text_at(object, "metadata", "name")));
  for (const Column& column : kind.columns) {
    if (!column.path) continue;
    const json::Value* value = column.path->find_in(object);
    if (!value || value->is_null())
      cells.push_back("null");
    else if (column.type == "date" && value->is_string())
      cells.push_back(json::quote(age_of(value->text(), now)));
    else if (column.type == "string" && !value->is_string())
      cells.push_back(json::quote(json::to_text(*value)));
    else
      cells.push_back(json::to_text(*value));
  }
}

const std::vector<Column>& plain_columns() {
  static const std::vector<Column> kColumns = {
      {"Name", "string", "name", "Name must be unique within a namespace.", 0},
      {"Age", "string", "", "Time since the object was created.", 0}};
  return kColumns;
}

}  // namespace

namespace {

void put_partial(json::Writer& out, const json::Value& object) {
  out.begin_object().member("kind", "PartialObjectMetadata").member("apiVersion", "meta.k8s.io/v1");
  out.member("metadata", *find(object, "metadata")).end_object();
}

void put_columns(json::Writer& out, const std::vector<Column>& columns) {
  for (const Column& column : columns) {
    out.begin_object()
        .member("name", column.name)
        .member("type", column.type)
        .member("format", column.format);
    out.member("description", column.description).member("priority", column.priority).end_object();
  }
}

}  // namespace

Bytes show(const Kind& kind, const ObjectPtr& object) {
  if (kind.is_stored_form()) return bytes_of(object);
  json::Document doc;
  load(*object, doc);
  if (kind.from_stored) kind.from_stored(doc, doc.arena());
  set_text(doc, "apiVersion", kind.api_version(), doc.arena());
  return std::make_shared<const std::string>(json::to_text(doc));
}

std::string partial_json(const Object& object) {
  json::Document doc;
  load(object, doc);
  std::string out;
  json::Writer json(out);
  put_partial(json, doc);
  return out;
}

std::string table_json(const Kind& kind, const std::vector<ObjectPtr>& objects, std::uint64_t version,
                       const std::string& next, std::optional<std::uint64_t> remaining,
                       std::string_view include, WallTime now, bool with_columns) {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("kind", "Table").member("apiVersion", "meta.k8s.io/v1");
  json.key("metadata").begin_object().member("resourceVersion", fmt::to_string(version));
  json.member_if("continue", next);
  if (remaining) json.member("remainingItemCount", *remaining);
  json.end_object().key("columnDefinitions").begin_array();
  if (with_columns) put_columns(json, kind.columns.empty() ? plain_columns() : kind.columns);
  json.end_array().key("rows").begin_array();
  std::vector<std::string> cells;
  json::Document doc;
  for (const ObjectPtr& object : objects) {
    load(*object, doc);
    cells.clear();
    if (kind.cells) {
      kind.cells(doc, now, cells);
    } else if (kind.custom) {
      custom_cells(kind, doc, now, cells);
    } else {
      cells.push_back(json::quote(object->name));
      cells.push_back(json::quote(age_of(text_at(doc, "metadata", "creationTimestamp"), now)));
    }
    json.begin_object().key("cells").begin_array();
    for (const std::string& cell : cells) json.raw(cell);
    json.end_array();
    if (include == "Object") {
      json.key("object").raw(*show(kind, object));
    } else if (include != "None") {
      json.key("object");
      put_partial(json, doc);
    }
    json.end_object();
  }
  json.end_array().end_object();
  return out;
}

}  // namespace koord::sandbox
