// Reading paths, headers and options of requests.
#include "sandbox/api/request.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <ratio>

#include "koord/base/text.hpp"

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

namespace {

template <class Number>
Outcome<std::optional<Number>> number_of(std::string_view function, std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && function == "ParseInt") digits.remove_prefix(1);
  Number value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range && end == digits.data() + digits.size())
    return bad_request(fmt::format("strconv.{}: parsing {}: value out of range", function, quote(text)));
  if (error != std::errc() || end != digits.data() + digits.size() || digits.starts_with('-') != (value < 0))
    return bad_request(fmt::format("strconv.{}: parsing {}: invalid syntax", function, quote(text)));
  return std::optional(value);
}

Outcome<void> check_list_options(const ListOptions& options, std::string_view version) {
  StatusCauses errors;
  const auto forbid = [&](std::string_view why) { errors.forbidden("resourceVersionMatch", why); };
  if (options.watch) {
    if (options.initial_events && options.match != "NotOlderThan")
      forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (!options.match.empty()) {
      if (!options.initial_events)
        forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
      if (options.match != "NotOlderThan")
        errors.unsupported("resourceVersionMatch", options.match, {"NotOlderThan"});
      if (!options.continue_token.empty())
        forbid("resourceVersionMatch is forbidden when continue is provided");
    }
  } else {
    if (!options.match.empty()) {
      if (version.empty()) forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
      if (!options.continue_token.empty())
        forbid("resourceVersionMatch is forbidden when continue is provided");
      if (options.match != "Exact" && options.match != "NotOlderThan")
        errors.unsupported("resourceVersionMatch", options.match, {"Exact", "NotOlderThan", ""});
      if (options.match == "Exact" && version == "0")
        forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
    if (options.initial_events)
      errors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
  }
  if (errors.empty()) return {};
  return errors.failure("meta.k8s.io", "ListOptions", "");
}

}  // namespace

Outcome<std::optional<std::int64_t>> query_int(const net::Request& request, std::string_view name) {
  if (!request.query_has(name)) return std::optional<std::int64_t>();
  return number_of<std::int64_t>("ParseInt", request.query_get(name));
}

std::optional<bool> query_bool(const net::Request& request, std::string_view name) {
  if (!request.query_has(name)) return std::nullopt;
  std::string text(request.query_get(name));
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text != "0" && text != "false";
}

Outcome<std::optional<std::uint64_t>> query_version(const net::Request& request) {
  const std::string_view text = request.query_get("resourceVersion");
  if (text.empty()) return std::optional<std::uint64_t>();
  auto version = number_of<std::uint64_t>("ParseUint", text);
  if (version) return version;
  Failure failure = std::move(version).error();
  failure.causes.push_back({"FieldValueInvalid",
                            fmt::format("Invalid value: {}: {}", quote(text), failure.message),
                            "resourceVersion"});
  failure.message = failure.causes.back().message;
  return failure;
}

Outcome<ListOptions> parse_list_options(const net::Request& request) {
  ListOptions options;
  options.labels = request.query_get("labelSelector");
  options.fields = request.query_get("fieldSelector");
  options.match = request.query_get("resourceVersionMatch");
  options.continue_token = request.query_get("continue");
  auto limit = query_int(request, "limit");
  if (!limit) return std::move(limit).error();
  options.limit = limit->value_or(0);
  auto timeout = query_int(request, "timeoutSeconds");
  if (!timeout) return std::move(timeout).error();
  options.timeout_seconds = *timeout;
  if (*timeout && **timeout > std::numeric_limits<std::int64_t>::max() / std::nano::den)
    return bad_request(fmt::format("timeoutSeconds: {} is longer than a time.Duration", **timeout));
  options.watch = query_bool(request, "watch").value_or(false);
  options.bookmarks = query_bool(request, "allowWatchBookmarks").value_or(false);
  options.initial_events = query_bool(request, "sendInitialEvents");
  KOORD_PASS(check_list_options(options, request.query_get("resourceVersion")));
  auto version = query_version(request);
  if (!version) return std::move(version).error();
  options.version = *version;
  return options;
}

Outcome<bool> query_dry_run(const net::Request& request) {
  using Value = Outcome<bool>;
  if (!request.query_has("dryRun")) return Value(boost::system::in_place_value, false);
  std::string_view text = request.query_get("dryRun");
  if (text == "All") return Value(boost::system::in_place_value, true);
  StatusCauses errors;
  errors.unsupported("dryRun", text, {"All"});
  Failure failure = errors.failure("meta.k8s.io", "CreateOptions", "");
  return failure;
}

}  // namespace koord::sandbox
