// Whether the role's rights allow what it asks of the API server: a right that is used seldom (after a
// conflict, of a reservation that is there already) is missed by whoever tries the role for a minute.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "koord/kube/transport.hpp"
#include "rights.hpp"

namespace koord::descheduler::test {

/// The right that is lacking: "get podmigrationjobs.scheduling.koordinator.sh"; empty: it is allowed.
/// `needed_by`: the gate that is on.
inline std::string lacking_right(const net::Request& request, std::string_view needed_by = {}) {
  std::vector<std::string> parts;
  const std::string path = request.target.substr(0, request.target.find('?'));
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  const bool core = parts[0] == "api";
  const std::string group = core ? "" : parts[1];
  parts.erase(parts.begin(), parts.begin() + (core ? 2 : 3));
  if (parts.size() > 2 && parts[0] == "namespaces") parts.erase(parts.begin(), parts.begin() + 2);
  const std::string resource = parts.size() > 2 ? fmt::format("{}/{}", parts[0], parts[2]) : parts[0];
  const std::string verb = request.method == "POST"                             ? "create"
                           : request.method == "PATCH"                          ? "patch"
                           : request.method == "PUT"                            ? "update"
                           : request.method == "DELETE"                         ? "delete"
                           : parts.size() > 1                                   ? "get"
                           : request.target.find("watch=") != std::string::npos ? "watch"
                                                                                : "list";
  const auto allows = [&](const runtime::Right& right) {
    return right.group == group && right.resource == resource &&
           (right.needed_by.empty() || right.needed_by == needed_by) &&
           fmt::format(" {} ", right.verbs).find(fmt::format(" {} ", verb)) != std::string::npos;
  };
  if (std::ranges::any_of(rights(), allows)) return {};
  return fmt::format("{} {}{}{}", verb, resource, group.empty() ? "" : ".", group);
}

}  // namespace koord::descheduler::test
