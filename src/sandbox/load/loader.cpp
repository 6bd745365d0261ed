// Reading manifests piece by piece.
#include "sandbox/load/loader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/base/file.hpp"
#include "koord/json/writer.hpp"
#include "koord/json/yaml.hpp"

namespace koord::sandbox {
namespace {

constexpr std::size_t kMaxFile = std::size_t{512} << 20;
constexpr std::size_t kMaxYaml = std::size_t{16}
                                 << 20;  // of one document: YAML is read a hundred times slower
constexpr std::string_view kBlank = " \t\r\n";

// The end of the JSON value that begins at `at`; npos if it does not end.
std::size_t value_end(std::string_view text, std::size_t at) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = at; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') {
      if (--depth == 0) return i + 1;
    }
  }
  return std::string_view::npos;
}

bool is_list(const json::Value& doc) {
  return text_at(doc, "kind").ends_with("List") && find(doc, "items") && find(doc, "items")->is_array();
}

}  // namespace

Result<ManifestReader> ManifestReader::open(const std::string& path) {
  KOORD_TRY(text, read_file(path, kMaxFile, Source::stream));
  return from_text(std::move(text), path);
}

ManifestReader ManifestReader::from_text(std::string text, std::string name) {
  ManifestReader reader;
  reader.name_ = std::move(name);
  reader.text_ = std::move(text);
  std::size_t first = reader.text_.find_first_not_of(kBlank);
  reader.json_ = first != std::string::npos && reader.text_[first] == '{';
  return reader;
}

std::size_t ManifestReader::line_at(std::size_t offset) {
  if (offset < counted_at_) counted_at_ = 0, counted_ = 1;
  counted_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_at_),
                                                  text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
  counted_at_ = offset;
  return counted_;
}

Result<std::optional<ManifestReader::Item>> ManifestReader::next() {
  if (queued_next_ < queued_.size()) return std::optional(std::move(queued_[queued_next_++]));
  return json_ ? next_json() : next_yaml();
}

Result<std::optional<ManifestReader::Item>> ManifestReader::next_json() {
  for (;;) {
    at_ = text_.find_first_not_of(in_list_ ? " \t\r\n," : " \t\r\n", at_);
    if (at_ == std::string::npos) {
      if (in_list_) return Error(Code::parse, fmt::format("{}: the list does not end", name_));
      return std::optional<Item>();
    }
    if (in_list_ && text_[at_] == ']') {  // the rest of the List object
      in_list_ = false;
      std::size_t close = text_.find('}', at_);
      if (close == std::string::npos)
        return Error(Code::parse, fmt::format("{}:{}: the list does not end", name_, line_at(at_)));
      at_ = close + 1;
      continue;
    }
    std::size_t line = line_at(at_);
    if (text_[at_] != '{') return Error(Code::parse, fmt::format("{}:{}: expected an object", name_, line));
    if (!in_list_) {
      // A List of many objects is not parsed whole: its items are found by their brackets.
      std::size_t items = text_.find("\"items\"", at_);
      std::string_view head =
          std::string_view(text_).substr(at_, items == std::string::npos ? 0 : items - at_);
      bool top = std::count(head.begin(), head.end(), '{') - std::count(head.begin(), head.end(), '}') == 1;
      std::size_t open = items == std::string::npos ? items : text_.find_first_not_of(" \t\r\n:", items + 7);
      if (top && open != std::string::npos && text_[open] == '[' &&
          (head.find("List\"") != std::string_view::npos ||
           head.find("\"kind\"") == std::string_view::npos)) {
        in_list_ = true;
        at_ = open + 1;
        continue;
      }
    }
    std::size_t end = value_end(text_, at_);
    if (end == std::string::npos)
      return Error(Code::parse, fmt::format("{}:{}: the object does not end", name_, line));
    Item item{text_.substr(at_, end - at_), line};
    at_ = end;
    return std::optional(std::move(item));
  }
}

Result<std::optional<ManifestReader::Item>> ManifestReader::next_yaml() {
  while (at_ < text_.size()) {
    std::size_t begin = at_, end = at_;
    // A document ends at a line that begins with "---".
    for (;;) {
      if (end >= text_.size() || (end > begin && std::string_view(text_).substr(end).starts_with("---")))
        break;
      std::size_t newline = text_.find('\n', end);
      end = newline == std::string::npos ? text_.size() : newline + 1;
    }
    std::string_view part = std::string_view(text_).substr(begin, end - begin);
    at_ = end;
    std::size_t line = line_at(begin);
    if (part.starts_with("---")) {
      std::size_t newline = std::min(part.find('\n'), part.size());
      part.remove_prefix(std::min(newline + 1, part.size()));
      ++line;
    }
    if (part.size() > kMaxYaml)
      return Error(Code::too_large,
                   fmt::format("{}:{}: a YAML document of {} bytes, expected at most {}; larger "
                               "lists can be JSON",
                               name_, line, part.size(), kMaxYaml));
    auto json = json::yaml_to_json(part, nullptr, static_cast<int>(line));
    if (!json) return Error(Code::parse, fmt::format("{}:{}", name_, json.error().message()));
    if (*json == "null") continue;
    json::Document doc;
    if (auto read = doc.read(*json); !read)
      return Error(Code::parse, fmt::format("{}:{}: {}", name_, line, read.error().message()));
    if (!doc.is_object()) return Error(Code::parse, fmt::format("{}:{}: expected an object", name_, line));
    if (!is_list(doc)) return std::optional(Item{std::move(*json), line});
    queued_.clear();
    queued_next_ = 0;
    for (const auto& each : find(doc, "items")->elements()) queued_.push_back({json::to_text(each), line});
    if (!queued_.empty()) return std::optional(std::move(queued_[queued_next_++]));
  }
  return std::optional<Item>();
}

Result<> load_object(Verbs& verbs, const std::string& json, Gate* gate) {
  json::Document doc;
  KOORD_CHECK(doc.read(json));
  std::string_view version = text_at(doc, "apiVersion"), name = text_at(doc, "kind");
  if (version.empty()) return Error(Code::invalid, "apiVersion: Required value");
  if (name.empty()) return Error(Code::invalid, "kind: Required value");
  auto kind = verbs.registry().find_kind(version, name);
  if (!kind || !kind->objects)
    return Error(Code::invalid, fmt::format("no matches for kind \"{}\" in version \"{}\"", name, version));
  json::Arena& arena = doc.arena();
  json::Value& meta = object_at(doc, "metadata", arena);
  for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "generation"})
    json::remove(meta, field);
  std::string ns = kind->namespaced ? std::string(text_at(meta, "namespace")) : "";
  if (kind->namespaced && ns.empty()) ns = "default";
  auto stored = kind;
  if (!kind->is_stored_form()) {
    if (kind->to_stored) kind->to_stored(doc, arena);
    if (!kind->stored_version.empty()) set_text(doc, "apiVersion", kind->stored_version, arena);
    stored = verbs.registry().find_kind(text_at(doc, "apiVersion"), kind->kind);
    if (!stored) return Error(Code::invalid, "its storage version is not served");
  }
  WriteOptions options;
  options.gate = gate;
  auto made = verbs.create(*stored, ns, doc, options);
  if (made) return {};
  // The initial namespaces and classes may be listed once more.
  if (made.error().reason == "AlreadyExists" &&
      (kind->resource == "namespaces" || kind->resource == "priorityclasses" ||
       kind->resource == "customresourcedefinitions"))
    return {};
  return Error(Code::invalid, made.error().message);
}

}  // namespace koord::sandbox
