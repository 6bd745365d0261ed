// What a request asks for: the place in the API, the form of the answer, the options.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "koord/runtime/http_message.hpp"
#include "sandbox/api/status.hpp"

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

std::optional<std::int64_t> query_int(const runtime::HttpRequest& request, std::string_view name);
bool query_true(const runtime::HttpRequest& request, std::string_view name);
/// dryRun=All; another value is refused.
Outcome<bool> query_dry_run(const runtime::HttpRequest& request);

}  // namespace koord::sandbox
