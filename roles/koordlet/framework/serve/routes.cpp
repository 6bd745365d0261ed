// What the agent serves: see routes.hpp.
#include "framework/serve/routes.hpp"

#include <fmt/format.h>

#include "framework/audit/auditor.hpp"
#include "framework/serve/observer.hpp"
#include "koord/api/schema/codec.hpp"

namespace koord::koordlet {

namespace {

using net::Request;
using net::Response;

using Plain = std::function<Response(const Request&)>;

Task<Response> answer(const Plain& plain, Request request) {
  if (request.method != "GET" && request.method != "HEAD")
    co_return Response::text(405, "only GET is served here\n");
  co_return plain(request);
}

/// `plain` is kept by the route, which outlives every request.
runtime::Routes::Handler get(Plain plain) {
  return [plain = std::move(plain)](Request request) { return answer(plain, std::move(request)); };
}

/// Every other address may be anybody's.
bool is_local(const Request& request) {
  const std::string& address = request.peer->address;
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

}  // namespace

void add_routes(runtime::Routes& routes, ServeParts parts) {
  const ServeParts p = parts;
  routes.add_metrics("/metrics", [p] { return p.internal.exposition() + p.external.exposition(); });
  routes.add_metrics("/internal-metrics", [p] { return p.internal.exposition(); });
  routes.add_metrics("/external-metrics", [p] { return p.external.exposition(); });
  auto guarded = [p](Plain plain) {
    return get([p, plain = std::move(plain)](const Request& request) {
      if (!p.api_for_all && !is_local(request))
        return Response::text(403, "only for this host; see --api-access\n");
      return plain(request);
    });
  };
  routes.add("/apis/v1/node", guarded([p](const Request&) {
               return Response::json(200, fmt::format("{}\n", api::encode(p.observer.node())));
             }));
  routes.add("/apis/v1/pods", guarded([p](const Request&) {
               return Response::json(200, fmt::format("{}\n", api::encode(p.observer.pods())));
             }));
  if (p.auditor == nullptr) return;
  routes.add("/events", get([p](const Request& request) {
               const bool json = request.headers.get("Accept") == "application/json";
               Auditor::Answer events =
                   p.auditor->answer(request.query_get("size"), request.query_get("pageToken"), json);
               Response response;
               response.status = static_cast<unsigned>(events.status);
               response.content_type = std::move(events.content_type);
               if (!events.next_page.empty()) response.headers.add("Next-Page-Token", events.next_page);
               response.body = std::move(events.body);
               return response;
             }));
}

}  // namespace koord::koordlet
