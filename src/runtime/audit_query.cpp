// See audit_query.hpp.
#include "audit_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "koord/base/text.hpp"

namespace koord::runtime {

namespace {

constexpr std::size_t kMaxValue = 1024;

Error bad(std::string_view name, std::string_view value, std::string_view wanted) {
  return Error(Code::invalid, fmt::format("{}: {} is not {}", name, quote(utf8_prefix(value, 128)), wanted));
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The whole of it, or its first parts.
bool is_below(std::string_view path, std::string_view object) {
  return path.starts_with(object) && (path.size() == object.size() || path[object.size()] == '/');
}

}  // namespace

Result<AuditQuery> AuditQuery::parse(const net::Request& request, std::size_t default_limit,
                                     std::size_t max_limit, WallTime now) {
  AuditQuery query;
  query.limit = std::min(default_limit, max_limit);
  for (auto it = request.query.begin(); it != request.query.end(); ++it) {
    const auto& [name, value] = *it;
    const auto has_name = [&](const auto& each) { return each.first == name; };
    if (std::any_of(request.query.begin(), it, has_name))
      return Error(Code::invalid, fmt::format("{}: it is there twice", quote(utf8_prefix(name, 64))));
    if (value.size() > kMaxValue)
      return Error(Code::invalid,
                   fmt::format("{}: it is longer than {} bytes", quote(utf8_prefix(name, 64)), kMaxValue));
    if (name == "object") {
      query.object = value;
    } else if (name == "plugin") {
      query.plugin = value;
    } else if (name == "user") {
      query.user = value;
    } else if (name == "wantedBy") {
      query.wanted_by = value;
    } else if (name == "since") {
      if (value.empty()) continue;
      if (const auto time = api::Time::parse(value)) {
        query.since = time->wall();
      } else if (const auto ago = api::Duration::parse(value); ago && ago->value.count() >= 0) {
        query.since = now - ago->value;
      } else {
        return bad(name, value, "a time (2026-01-02T03:04:05Z) or how long ago (15m)");
      }
    } else if (name == "limit") {
      const auto limit = number(value);
      if (!limit || *limit < 1 || *limit > max_limit)
        return bad(name, value, fmt::format("a number from 1 to {}", max_limit));
      query.limit = *limit;
    } else if (name == "continue") {
      if (value.empty()) continue;
      const auto before = number(value);
      if (!before || *before == 0) return bad(name, value, "what an answer said");
      query.before = *before;
    } else {
      return Error(Code::invalid,
                   fmt::format("{}: there are object, plugin, user, wantedBy, since, limit and continue",
                               quote(utf8_prefix(name, 64))));
    }
  }
  return query;
}

bool AuditQuery::wants(const AuditRecord& record) const {
  if (since && record.time.wall() < *since) return false;
  if (!plugin.empty() && record.plugin != plugin) return false;
  if (!user.empty() && record.user != user) return false;
  if (!wanted_by.empty() && std::ranges::find(record.wanted_by, wanted_by) == record.wanted_by.end())
    return false;
  return object.empty() || is_below(record.object(), object);
}

}  // namespace koord::runtime
