// YAML as JSON text for the codec, with the lines for its messages.
#include "koord/runtime/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/schema/table.hpp"
#include "koord/base/file.hpp"
#include "koord/json/value.hpp"

namespace koord::runtime {
namespace {

constexpr std::size_t kMaxFile = std::size_t{4} << 20;

// The line of a path, or of the nearest value around it; 0: there is none but the document.
int line_of(const json::LineMap& lines, std::string path) {
  while (!path.empty()) {
    if (const auto found = lines.find(path); found != lines.end()) return found->second;
    const std::size_t cut = path.find_last_of(".[");
    if (cut == std::string::npos) break;
    path.resize(cut);
  }
  return 0;
}

std::string path_of(std::string_view message) {
  std::string path(message.substr(0, std::min(message.find(": "), message.size())));
  if (!path.starts_with('.') && !path.starts_with('[')) path.insert(0, 1, '.');
  return path;
}

Result<> check_kind(std::string_view json, const json::LineMap& lines, const api::Kind& kind) {
  const auto document = json::parse(json);
  if (!document) return Error(Code::parse, fmt::format("1: {}", document.error().message()));
  const std::pair<std::string, std::string> wanted[] = {{"apiVersion", kind.api_version()},
                                                        {"kind", std::string(kind.kind)}};
  for (const auto& [key, value] : wanted) {
    const json::Value* found = json::find(*document, key);
    if (!found || !found->is_string())
      return Error(Code::invalid, fmt::format("1: .{}: missing, expected {}", key, value));
    if (found->text() != value)
      return Error(Code::invalid,
                   fmt::format("{}: .{}: \"{}\", expected {}", line_of(lines, fmt::format(".{}", key)), key,
                               found->text(), value));
  }
  return {};
}

}  // namespace

Error located(const Error& error, const std::string& file, const json::LineMap& lines) {
  const int line = line_of(lines, path_of(error.message()));
  const std::string at = line > 0 ? fmt::format("{}:{}", file, line) : file;
  return Error(error.code(), fmt::format("{}: {}", at, error.message()));
}

Result<> read_config(std::string_view text, const std::string& file, const api::Schema& schema, void* object,
                     json::LineMap* lines) {
  auto in_file = [&](const Error& error) {
    return Error(error.code(), fmt::format("{}:{}", file, error.message()));
  };
  json::LineMap own;
  json::LineMap& places = lines != nullptr ? *lines : own;
  const auto json = json::yaml_to_json(text, &places);
  if (!json) return in_file(json.error());
  if (const api::Kind* kind = schema.kind()) {
    if (auto done = check_kind(*json, places, *kind); !done) return in_file(done.error());
  }
  if (auto done = api::decode_strict(*json, schema, object); !done) {
    const int line = std::max(line_of(places, path_of(done.error().message())), 1);
    return in_file(Error(done.error().code(), fmt::format("{}: {}", line, done.error().message())));
  }
  return {};
}

Result<> load_config(const std::string& file, const api::Schema& schema, void* object, json::LineMap* lines) {
  KOORD_TRY(text, read_file(file, kMaxFile, Source::stream));
  return read_config(text, file, schema, object, lines);
}

}  // namespace koord::runtime
