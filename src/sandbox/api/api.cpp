// Routing: which verb on which kind.
#include "sandbox/api/api.hpp"

#include <fmt/format.h>

#include "koord/json/writer.hpp"
#include "sandbox/api/discovery.hpp"
#include "sandbox/api/openapi.hpp"

namespace koord::sandbox {

Reply json_reply(unsigned status, std::string body) {
  Reply reply;
  reply.http.status = status;
  reply.http.content_type = "application/json";
  reply.http.body = std::move(body);
  return reply;
}

Reply failure_reply(const Failure& failure) {
  Reply reply = json_reply(static_cast<unsigned>(failure.code), failure.to_json());
  if (failure.retry_after_seconds > 0)
    reply.http.headers.add("Retry-After", fmt::to_string(failure.retry_after_seconds));
  return reply;
}

Api::Api(Verbs& verbs, Options options) : verbs_(verbs), options_(std::move(options)) {}

Reply Api::handle(const net::Request& request, Gate* gate) {
  if (!gate || gate->first_run()) {
    ++requests_;
    if (interceptor_)
      if (auto reply = interceptor_(request)) return std::move(*reply);
  }
  auto answer = dispatch(request, gate);
  return answer ? std::move(*answer) : failure_reply(answer.error());
}

net::Admission Api::admit(const net::Request& request) const {
  net::Admission admission;
  const bool open = request.path == "/healthz" || request.path == "/livez" || request.path == "/readyz" ||
                    request.path == "/version";
  if (open)
    admission.max_body = 0;
  else if (!options_.token.empty() &&
           request.headers.get("Authorization") != fmt::format("Bearer {}", options_.token))
    admission.refusal = failure_reply(unauthorized()).http;
  return admission;
}

Api::Answer Api::dispatch(const net::Request& request, Gate* gate) {
  if (admit(request).refusal) return unauthorized();
  View view = parse_accept(request.headers.get("Accept"));
  if (auto reply = fixed_path(request, view)) return std::move(*reply);
  auto route = parse_route(request.path);
  if (!route) return no_route();
  if (route->resource.empty()) {
    if (auto resources = resource_list_json(verbs_.registry(), route->group, route->version))
      return json_reply(200, std::move(*resources));
    return no_route();
  }
  Call call{request, *route, nullptr, view, gate};
  if (view == View::unacceptable || view == View::aggregated) {
    Failure failure;
    failure.code = 406;
    failure.reason = "NotAcceptable";
    failure.message = "only the following media types are accepted: application/json";
    return failure;
  }
  // POST of bare bindings, as schedulers did before the subresource.
  if (route->group.empty() && route->resource == "bindings" && request.method == "POST") return bind(call);
  call.kind = verbs_.registry().find(route->group, route->version, route->resource);
  if (!call.kind) return no_route();
  const Kind& kind = *call.kind;
  if (gate && !kind.is_stored_form()) gate->asked = call.kind;
  if (!kind.namespaced && !route->ns.empty()) return no_route();
  if (kind.group == kMetricsGroup) return usage(call);
  if (!kind.objects)
    return request.method == "POST" ? review(call) : Answer(method_not_allowed(kind.named(), request.method));
  return route->subresource.empty() ? on_resource(call) : on_subresource(call);
}

Api::Answer Api::on_resource(Call& call) {
  const std::string& method = call.request.method;
  const Kind& kind = *call.kind;
  bool needs_ns = kind.namespaced && call.route.ns.empty();
  if (call.route.name.empty()) {
    if (method == "GET") return list(call);
    if (needs_ns) return method_not_allowed(kind.named(), method);
    if (method == "POST") return create(call);
    if (method == "DELETE" && kind.resource != "namespaces") return remove_collection(call);
    return method_not_allowed(kind.named(), method);
  }
  if (needs_ns) return no_route();
  if (method == "GET") return query_bool(call.request, "watch").value_or(false) ? list(call) : get(call);
  if (method == "PUT") return update(call);
  if (method == "PATCH") return patch(call);
  if (method == "DELETE") return remove(call);
  return method_not_allowed(kind.named(), method);
}

Api::Answer Api::on_subresource(Call& call) {
  const Kind& kind = *call.kind;
  const std::string& method = call.request.method;
  std::string_view sub = call.route.subresource;
  if (kind.namespaced && call.route.ns.empty()) return no_route();
  bool pods = kind.resource == "pods" && kind.group.empty();
  if (pods && sub == "binding" && method == "POST") return bind(call);
  if (pods && sub == "eviction" && method == "POST") return evict(call);
  if (pods && sub == "log" && method == "GET") return log(call);
  if (pods && (sub == "exec" || sub == "attach" || sub == "portforward" || sub == "proxy"))
    return connect(call);
  if (sub == "scale" && kind.scale) return scale(call);
  bool object_like = (sub == "status" && kind.status) ||
                     (pods && (sub == "ephemeralcontainers" || sub == "resize")) ||
                     (kind.resource == "namespaces" && sub == "finalize");
  if (!object_like) return no_route();
  if (method == "GET") return get(call);
  if (method == "PUT") return update(call);
  if (method == "PATCH") return patch(call);
  return method_not_allowed(kind.named(), method);
}

std::optional<Reply> Api::fixed_path(const net::Request& request, View view) {
  const std::string& path = request.path;
  if (path == "/healthz" || path == "/livez" || path == "/readyz") {
    Reply reply;
    reply.http = net::Response::text(200, "ok");
    reply.http.proves = false;
    return reply;
  }
  if (path == "/version" || path == "/version/") {
    Reply reply = json_reply(200, version_json());
    reply.http.proves = false;
    return reply;
  }
  bool api = path == "/api" || path == "/api/", apis = path == "/apis" || path == "/apis/";
  if (api || apis) {
    if (view == View::aggregated) {
      Reply reply = json_reply(200, aggregated_discovery_json(verbs_.registry(), api));
      reply.http.content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
      return reply;
    }
    return json_reply(200, api ? api_versions_json(options_.address) : group_list_json(verbs_.registry()));
  }
  if (path.starts_with("/apis/") && std::count(path.begin(), path.end(), '/') == 2) {
    if (auto group = group_json(verbs_.registry(), std::string_view(path).substr(6)))
      return json_reply(200, std::move(*group));
    return failure_reply(no_route());
  }
  if (path == "/openapi/v2") {
    if (request.headers.get("Accept").find("protobuf") == std::string_view::npos)
      return json_reply(200, openapi_v2_json(verbs_.registry()));
    Reply reply = json_reply(200, empty_openapi_v2_protobuf());
    reply.http.content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    return reply;
  }
  if (path == "/openapi/v3") return json_reply(200, openapi_v3_index_json(verbs_.registry()));
  if (path.starts_with("/openapi/v3/")) {
    if (auto document = openapi_v3_json(verbs_.registry(), std::string_view(path).substr(12)))
      return json_reply(200, std::move(*document));
    return failure_reply(no_route());
  }
  return std::nullopt;
}

void add_initial_objects(Verbs& verbs) {
  auto add = [&](const char* group, const char* resource, std::string body) {
    json::Document doc;
    (void)doc.read(body);
    (void)verbs.create(verbs.registry().get(group, resource), "", doc);
  };
  // koordinator-system is not a real cluster's, but every koord role needs it.
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease", "koordinator-system"})
    add("", "namespaces", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
  add("scheduling.k8s.io", "priorityclasses",
      R"({"metadata":{"name":"system-node-critical"},"value":2000001000,"description":"Used for system critical pods that must not be moved from their current node."})");
  add("scheduling.k8s.io", "priorityclasses",
      R"({"metadata":{"name":"system-cluster-critical"},"value":2000000000,"description":"Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."})");
}

}  // namespace koord::sandbox
