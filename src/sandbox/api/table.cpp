// Tables of objects, with the columns of their kind.
#include "sandbox/api/table.hpp"

#include <fmt/format.h>

#include "sandbox/crd/json_path.hpp"
#include "sandbox/kinds/columns.hpp"

namespace koord::sandbox {
namespace {

// Custom kinds: a path for each column.
void custom_cells(const Kind& kind, const Json& object, WallTime now, std::vector<std::string>& cells) {
  cells.push_back(quote_json(text_at(object, "metadata", "name")));
  for (const Column& column : kind.columns) {
    if (column.json_path.empty()) continue;
    const Json* value = json_path(object, column.json_path);
    if (!value || value->IsNull())
      cells.push_back("null");
    else if (column.type == "date" && value->IsString())
      cells.push_back(quote_json(age_of(view(*value), now)));
    else if (column.type == "string" && !value->IsString())
      cells.push_back(quote_json(write_json(*value)));
    else
      cells.push_back(write_json(*value));
  }
}

const std::vector<Column>& plain_columns() {
  static const std::vector<Column> kColumns = {
      {"Name", "string", "name", "Name must be unique within a namespace.", 0, ""},
      {"Age", "string", "", "Time since the object was created.", 0, ""}};
  return kColumns;
}

}  // namespace

std::string partial_json(const Kind& kind, const Object& object) {
  (void)kind;
  JsonDoc doc;
  load(object, doc);
  return R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)" +
         write_json(*find(doc, "metadata")) + "}";
}

std::string table_json(const Kind& kind, const std::vector<ObjectPtr>& objects, std::uint64_t version,
                       const std::string& next, std::optional<std::uint64_t> remaining,
                       std::string_view include, WallTime now, bool with_columns) {
  std::string out = fmt::format(
      R"({{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{{"resourceVersion":"{}")", version);
  if (!next.empty()) out += ",\"continue\":" + quote_json(next);
  if (remaining) out += fmt::format(",\"remainingItemCount\":{}", *remaining);
  out += "},\"columnDefinitions\":[";
  const std::vector<Column>& columns = kind.columns.empty() ? plain_columns() : kind.columns;
  if (with_columns)
    for (const Column& column : columns)
      out += fmt::format(R"({}{{"name":{},"type":{},"format":{},"description":{},"priority":{}}})",
                         &column == &columns.front() ? "" : ",", quote_json(column.name),
                         quote_json(column.type), quote_json(column.format), quote_json(column.description),
                         column.priority);
  out += "],\"rows\":[";
  std::vector<std::string> cells;
  for (const ObjectPtr& object : objects) {
    JsonDoc doc;
    load(*object, doc);
    cells.clear();
    if (kind.cells) {
      kind.cells(doc, now, cells);
    } else if (kind.custom) {
      custom_cells(kind, doc, now, cells);
    } else {
      cells.push_back(quote_json(object->name));
      cells.push_back(quote_json(age_of(text_at(doc, "metadata", "creationTimestamp"), now)));
    }
    out += object == objects.front() ? "{\"cells\":[" : ",{\"cells\":[";
    for (std::size_t i = 0; i < cells.size(); ++i) out += (i ? "," : "") + cells[i];
    out += "]";
    if (include == "Object") {
      if (kind.is_stored_form()) {
        out += ",\"object\":" + object->bytes;
      } else {
        if (kind.from_stored) kind.from_stored(doc, doc.GetAllocator());
        set_text(doc, "apiVersion", kind.api_version(), doc.GetAllocator());
        out += ",\"object\":" + write_json(doc);
      }
    } else if (include != "None") {
      out += R"(,"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)" +
             write_json(*find(doc, "metadata")) + "}";
    }
    out += "}";
  }
  return out + "]}";
}

}  // namespace koord::sandbox
