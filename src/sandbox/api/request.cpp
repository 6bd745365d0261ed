// Reading paths, headers and options of requests.
#include "sandbox/api/request.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace koord::sandbox {

std::optional<Route> parse_route(std::string_view path) {
  std::array<std::string_view, 10> parts;
  std::size_t count = 0;
  while (!path.empty()) {
    if (path.front() == '/') {
      path.remove_prefix(1);
      continue;
    }
    std::size_t slash = std::min(path.find('/'), path.size());
    if (count == parts.size()) return std::nullopt;
    parts[count++] = path.substr(0, slash);
    path.remove_prefix(slash);
  }
  Route route;
  std::size_t i = 0;
  if (count >= 2 && parts[0] == "api") {
    route.version = parts[1];
    i = 2;
  } else if (count >= 3 && parts[0] == "apis") {
    route.group = parts[1];
    route.version = parts[2];
    i = 3;
  } else {
    return std::nullopt;
  }
  if (i == count) return route;
  // "namespaces/NS/RESOURCE" is something inside, unless RESOURCE is a subresource of the namespace.
  bool inside =
      parts[i] == "namespaces" && count >= i + 3 && parts[i + 2] != "status" && parts[i + 2] != "finalize";
  if (inside) {
    route.ns = parts[i + 1];
    i += 2;
  }
  route.resource = parts[i++];
  if (i < count) route.name = parts[i++];
  if (i < count) route.subresource = parts[i++];
  if (i < count) return std::nullopt;
  return route;
}

View parse_accept(std::string_view accept) {
  if (accept.empty()) return View::object;
  while (!accept.empty()) {
    std::size_t comma = std::min(accept.find(','), accept.size());
    std::string_view clause = accept.substr(0, comma);
    accept.remove_prefix(std::min(comma + 1, accept.size()));
    while (!clause.empty() && clause.front() == ' ') clause.remove_prefix(1);
    std::string_view type = clause.substr(0, clause.find(';'));
    while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
    if (type != "application/json" && type != "*/*" && type != "application/*") continue;
    std::string_view as;
    if (std::size_t at = clause.find("as="); at != std::string_view::npos) {
      as = clause.substr(at + 3);
      as = as.substr(0, as.find(';'));
    }
    if (as.empty()) return View::object;
    bool v1 =
        clause.find("v=v1") != std::string_view::npos && clause.find("v=v1beta1") == std::string_view::npos;
    if (as == "Table" && v1) return View::table;
    if ((as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") && v1) return View::partial;
    if (as == "APIGroupDiscoveryList" && clause.find("v=v2") != std::string_view::npos &&
        clause.find("v=v2beta1") == std::string_view::npos)
      return View::aggregated;
  }
  return View::unacceptable;
}

BodyType parse_content_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  if (type.empty() || type == "application/json") return BodyType::json;
  if (type == "application/yaml") return BodyType::yaml;
  if (type == "application/vnd.kubernetes.protobuf") return BodyType::protobuf;
  if (type == "application/merge-patch+json") return BodyType::merge_patch;
  if (type == "application/json-patch+json") return BodyType::json_patch;
  if (type == "application/strategic-merge-patch+json") return BodyType::strategic_patch;
  if (type == "application/apply-patch+yaml") return BodyType::apply_patch;
  return BodyType::other;
}

std::optional<std::int64_t> query_int(const runtime::HttpRequest& request, std::string_view name) {
  std::string_view text = request.query_get(name);
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool query_true(const runtime::HttpRequest& request, std::string_view name) {
  std::string_view text = request.query_get(name);
  return text == "true" || text == "1" || text == "True" || text == "t";
}

Outcome<bool> query_dry_run(const runtime::HttpRequest& request) {
  using Value = Outcome<bool>;
  if (!request.query_has("dryRun")) return Value(boost::system::in_place_value, false);
  std::string_view text = request.query_get("dryRun");
  if (text == "All") return Value(boost::system::in_place_value, true);
  FieldErrors errors;
  errors.unsupported("dryRun", text, {"All"});
  Failure failure = errors.failure("meta.k8s.io", "CreateOptions", "");
  return failure;
}

}  // namespace koord::sandbox
