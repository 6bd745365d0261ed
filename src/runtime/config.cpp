// YAML by yaml-cpp, turned into JSON text for the codec, with the lines kept for its messages.
#include "koord/runtime/config.hpp"

#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace koord::runtime {
namespace {

constexpr std::size_t kMaxJson = 16 << 20;
constexpr int kMaxDepth = 100;

Error at_line(const YAML::Mark& mark, const std::string& what) {
  return Error(Code::parse, std::to_string(mark.line + 1) + ": " + what);
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  out += '"';
}

// JSON's grammar: no leading zeros, no '+', digits on both sides of the point.
bool is_json_number(std::string_view text) {
  std::size_t i = text.starts_with('-') ? 1 : 0;
  auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i - start;
  };
  const std::size_t first = i;
  const std::size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[first] == '0')) return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (text == word) return true;
  return false;
}

class Converter {
 public:
  explicit Converter(LineMap* lines) : lines_(lines) {}

  Result<> value(const YAML::Node& node, const std::string& path, int depth) {
    if (depth > kMaxDepth) return at_line(node.Mark(), "nested too deeply");
    if (out.size() > kMaxJson) return at_line(node.Mark(), "the document unfolds to more than 16 MiB");
    if (lines_) lines_->try_emplace(path, node.Mark().line + 1);
    switch (node.Type()) {
      case YAML::NodeType::Map: return map(node, path, depth);
      case YAML::NodeType::Sequence: return sequence(node, path, depth);
      case YAML::NodeType::Scalar: scalar(node); return {};
      default: out += "null"; return {};
    }
  }

  std::string out;

 private:
  Result<> map(const YAML::Node& node, const std::string& path, int depth) {
    std::set<std::string> seen;
    out += '{';
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return at_line(entry.first.Mark(), "a key must be a text");
      const std::string& key = entry.first.Scalar();
      const std::string below = path + "." + key;
      if (!seen.insert(key).second) return at_line(entry.first.Mark(), below + ": the key is there twice");
      if (seen.size() > 1) out += ',';
      append_string(out, key);
      out += ':';
      if (lines_) lines_->try_emplace(below, entry.first.Mark().line + 1);
      KOORD_CHECK(value(entry.second, below, depth + 1));
    }
    out += '}';
    return {};
  }

  Result<> sequence(const YAML::Node& node, const std::string& path, int depth) {
    out += '[';
    std::size_t index = 0;
    for (const YAML::Node& item : node) {
      if (index > 0) out += ',';
      KOORD_CHECK(value(item, path + "[" + std::to_string(index) + "]", depth + 1));
      ++index;
    }
    out += ']';
    return {};
  }

  void scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    const bool plain = node.Tag() == "?";  // "!" is quoted, anything else an explicit tag
    if (!plain) return append_string(out, text);
    if (one_of(text, {"", "~", "null", "Null", "NULL"})) {
      out += "null";
    } else if (one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) {
      out += "true";
    } else if (one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) {
      out += "false";
    } else if (is_json_number(text)) {
      out += text;
    } else {
      append_string(out, text);
    }
  }

  LineMap* lines_;
};

// The line of the path that a codec's message starts with, or of the nearest value around it.
int line_of(const LineMap& lines, std::string_view message) {
  std::string path(message.substr(0, std::min(message.find(": "), message.size())));
  while (true) {
    if (const auto found = lines.find(path); found != lines.end()) return found->second;
    const auto cut = path.find_last_of(".[");
    if (cut == std::string::npos) return 1;
    path.resize(cut);
  }
}

Result<> check_kind(const YAML::Node& root, const api::Kind& kind) {
  const std::pair<const char*, std::string> wanted[] = {{"apiVersion", kind.api_version()},
                                                        {"kind", std::string(kind.kind)}};
  for (const auto& [key, value] : wanted) {
    const YAML::Node field = root.IsMap() ? root[key] : YAML::Node(YAML::NodeType::Undefined);
    if (!field.IsDefined() || !field.IsScalar())
      return Error(Code::invalid, "1: ." + std::string(key) + ": missing, expected " + value);
    if (field.Scalar() != value)
      return Error(Code::invalid, std::to_string(field.Mark().line + 1) + ": ." + key + ": \"" +
                                      field.Scalar() + "\", expected " + value);
  }
  return {};
}

// A struct, because YAML::Node can be made of anything, an Error too.
struct Document {
  YAML::Node root;
};

Result<Document> parse(std::string_view text) {
  try {
    std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty()) return Document{};
    if (documents.size() > 1) return at_line(documents[1].Mark(), "a second document, only one is expected");
    return Document{documents[0]};
  } catch (const YAML::Exception& e) {
    return at_line(e.mark.is_null() ? YAML::Mark() : e.mark, e.msg);
  }
}

}  // namespace

Result<std::string> yaml_to_json(std::string_view text, LineMap* lines) {
  KOORD_TRY(document, parse(text));
  Converter converter(lines);
  KOORD_CHECK(converter.value(document.root, "", 0));
  return std::move(converter.out);
}

Result<> read_config(std::string_view text, const std::string& file, const api::Schema& schema,
                     void* object) {
  auto in_file = [&](const Error& error) { return Error(error.code(), file + ":" + error.message()); };
  auto document = parse(text);
  if (!document) return in_file(document.error());
  if (const api::Kind* kind = schema.kind()) {
    if (auto done = check_kind(document->root, *kind); !done) return in_file(done.error());
  }
  LineMap lines;
  Converter converter(&lines);
  if (auto done = converter.value(document->root, "", 0); !done) return in_file(done.error());
  if (auto done = api::decode_strict(converter.out, schema, object); !done)
    return in_file(Error(done.error().code(), std::to_string(line_of(lines, done.error().message())) + ": " +
                                                  done.error().message()));
  return {};
}

Result<> load_config(const std::string& file, const api::Schema& schema, void* object) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream contents;
  if (!stream || !(contents << stream.rdbuf()))
    return Error(Code::io, file + ": " + (errno != 0 ? std::strerror(errno) : "is empty or cannot be read"));
  return read_config(contents.str(), file, schema, object);
}

}  // namespace koord::runtime
