// Hook servers' files: see hook_file.hpp.
#include "hooks/hook_file.hpp"

#include <fmt/format.h>

#include <array>

#include "koord/base/suggest.hpp"
#include "koord/base/text.hpp"
#include "koord/json/value.hpp"

namespace koord::proxy {

namespace {

constexpr std::string_view kEndpoint = "remote-endpoint", kPolicy = "failure-policy",
                           kHooks = "runtime-hooks", kScheme = "unix://";
constexpr std::size_t kLongestPath = 107;  // a socket's, as the kernel has it

std::string shown(std::string_view text) { return quote(utf8_prefix(text, 64)); }

Error wrong(std::string_view file, std::string_view field, std::string_view what) {
  return Error(Code::invalid, fmt::format("{}: {}: {}", file, field, what));
}

Result<> read_endpoint(std::string_view file, const json::Value& value, HookServer& server) {
  if (!value.is_string()) return wrong(file, kEndpoint, "not a text");
  std::string_view path = value.text();
  if (path.starts_with(kScheme)) path.remove_prefix(kScheme.size());
  if (path.empty() || path.front() != '/' || path.size() > kLongestPath ||
      path.find('\0') != std::string_view::npos)
    return wrong(
        file, kEndpoint,
        fmt::format("{} is not the absolute path of a socket, {} bytes at most", shown(path), kLongestPath));
  server.endpoint = path;
  return {};
}

Result<> read_policy(std::string_view file, const json::Value& value, HookServer& server) {
  const std::string_view text = value.text();
  if ((value.is_string() || value.is_null()) && text.empty()) return {};
  if (text != "Fail" && text != "Ignore")
    return wrong(file, kPolicy,
                 fmt::format("{} is neither \"Fail\" nor \"Ignore\"",
                             value.is_string() ? shown(text) : std::string("what is no text")));
  server.fail = text == "Fail";
  return {};
}

Result<> read_stages(std::string_view file, const json::Value& value, HookServer& server,
                     std::vector<std::string>& notes) {
  if (value.is_null()) return {};
  if (!value.is_array()) return wrong(file, kHooks, "not a list");
  std::size_t index = 0;
  for (const json::Value& item : value.elements()) {
    const auto stage = item.is_string() ? rpc::hooks::stage_named(item.text()) : std::nullopt;
    if (!stage) {
      std::array<std::string_view, rpc::hooks::kStages> known;
      for (std::size_t i = 0; i < known.size(); ++i)
        known[i] = rpc::hooks::to_string(static_cast<rpc::hooks::Stage>(i));
      const auto near = nearest(item.text(), known);
      return wrong(file, fmt::format("{}[{}]", kHooks, index),
                   fmt::format("{} is no hook{}",
                               item.is_string() ? shown(item.text()) : std::string("what is no text"),
                               near ? fmt::format("; did you mean \"{}\"?", *near) : std::string()));
    }
    if (rpc::hooks::method_of(*stage).empty())
      notes.push_back(fmt::format("{}: {}[{}]: {} is never asked for by a proxy", file, kHooks, index,
                                  rpc::hooks::to_string(*stage)));
    server.stages.set(static_cast<std::size_t>(*stage));
    ++index;
  }
  return {};
}

}  // namespace

bool is_hook_file(std::string_view name) { return name.ends_with("json"); }

Result<HookServer> parse_hook_file(std::string_view file, std::string_view text,
                                   std::vector<std::string>& notes) {
  auto document = json::parse(text);
  if (!document) return std::move(document).error().context(file);
  if (!document->is_object())
    return Error(Code::invalid, fmt::format("{}: not an object with \"{}\"", file, kEndpoint));
  HookServer server;
  server.file = file;
  for (const json::Member& member : document->members()) {
    if (member.key() == kEndpoint) {
      KOORD_CHECK(read_endpoint(file, member.value, server));
    } else if (member.key() == kPolicy) {
      KOORD_CHECK(read_policy(file, member.value, server));
    } else if (member.key() == kHooks) {
      KOORD_CHECK(read_stages(file, member.value, server, notes));
    } else {
      notes.push_back(fmt::format("{}: {}: unknown, and ignored", file, shown(member.key())));
    }
  }
  if (server.endpoint.empty()) return wrong(file, kEndpoint, "missing");
  if (server.stages.none()) notes.push_back(fmt::format("{}: {}: none: it is never asked", file, kHooks));
  return server;
}

}  // namespace koord::proxy
