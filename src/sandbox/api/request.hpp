// What a request asks for: the place in the API, the form of the answer, the options.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "koord/net/message.hpp"
#include "sandbox/base/status.hpp"

namespace koord::sandbox {

/// /api/v1/namespaces/NS/RESOURCE/NAME/SUBRESOURCE and the like.
struct Route {
  std::string_view group, version, ns, resource, name, subresource;
};
/// Nothing if the path is not of that form.
std::optional<Route> parse_route(std::string_view path);

enum class View : std::uint8_t { object, table, partial, aggregated, unacceptable };
/// The first form of the Accept header that the sandbox can answer in.
View parse_accept(std::string_view accept);

enum class BodyType : std::uint8_t {
  json,
  yaml,
  protobuf,
  merge_patch,
  json_patch,
  strategic_patch,
  apply_patch,
  other
};
BodyType parse_content_type(std::string_view content_type);

/// A number of 64 bits as Go reads one; nothing if the parameter is absent, 400 if it is no number.
Outcome<std::optional<std::int64_t>> query_int(const net::Request& request, std::string_view name);
/// As Kubernetes reads one: only "0" and "false" are false, nothing if the parameter is absent.
std::optional<bool> query_bool(const net::Request& request, std::string_view name);
/// dryRun=All; another value is refused.
Outcome<bool> query_dry_run(const net::Request& request);
/// The resourceVersion of the query, nothing if there is none; 400 if it is no number.
Outcome<std::optional<std::uint64_t>> query_version(const net::Request& request);

/// What GET and DELETE of a collection ask for, checked as kube-apiserver checks it. Lives as long as the
/// request.
struct ListOptions {
  std::string_view labels, fields, match, continue_token;
  std::int64_t limit = 0;
  std::optional<std::int64_t> timeout_seconds;
  std::optional<std::uint64_t> version;
  bool watch = false, bookmarks = false;
  std::optional<bool> initial_events;
};
Outcome<ListOptions> parse_list_options(const net::Request& request);

}  // namespace koord::sandbox
