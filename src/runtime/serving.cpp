// Health checks and routes: what is answered, without how it is reached.
#include "koord/runtime/serving.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::runtime {
namespace {

std::string_view probe_name(HealthChecks::Probe probe) {
  switch (probe) {
    case HealthChecks::livez: return "livez";
    case HealthChecks::readyz: return "readyz";
    default: return "healthz";
  }
}

}  // namespace

void HealthChecks::add(std::string name, Check check, unsigned probes) {
  entries_.push_back({std::move(name), std::move(check), probes});
}

net::Response HealthChecks::answer(Probe probe, const net::Request& request, std::string_view name) const {
  std::vector<std::string_view> excluded;
  for (const auto& [key, value] : request.query)
    if (key == "exclude") excluded.push_back(value);
  std::string lines;
  bool failed = false, found = name == "ping" || name.empty();
  if (name.empty()) lines = "[+]ping ok\n";
  for (const Entry& entry : entries_) {
    if ((entry.probes & probe) == 0 || (!name.empty() && name != entry.name)) continue;
    found = true;
    if (std::find(excluded.begin(), excluded.end(), entry.name) != excluded.end()) {
      lines += fmt::format("[+]{} excluded: ok\n", entry.name);
      continue;
    }
    const Result<> checked = entry.check();
    failed = failed || !checked;
    const bool told = (entry.probes & HealthChecks::told) != 0;
    lines += checked ? fmt::format("[+]{} ok\n", entry.name)
                     : fmt::format("[-]{} failed: {}\n", entry.name,
                                   told ? checked.error().message() : "reason withheld");
  }
  if (!found) return net::Response::text(404, "404 page not found\n");
  if (failed)
    return net::Response::text(500, name.empty()
                                        ? fmt::format("{}{} check failed\n", lines, probe_name(probe))
                                        : "internal server error: reason withheld\n");
  if (name.empty() && request.query_has("verbose"))
    return net::Response::text(200, fmt::format("{}{} check passed\n", lines, probe_name(probe)));
  return net::Response::text(200, "ok");
}

void Routes::add(std::string path, Handler handler, Options options) {
  routes_.push_back({std::move(path), std::move(handler), options.debug, options.max_body});
}

net::Response metrics_response(std::string exposition) {
  net::Response response = net::Response::text(200, std::move(exposition));
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return response;
}

namespace {

Task<net::Response> answer_metrics(const std::function<std::string()>& text, net::Request request) {
  if (request.method != "GET" && request.method != "HEAD")
    co_return net::Response::text(405, "only GET is served here\n");
  co_return metrics_response(text());
}

}  // namespace

void Routes::add_metrics(std::string path, std::function<std::string()> text) {
  // The route keeps the text's source and outlives every request.
  add(std::move(path),
      [text = std::move(text)](net::Request request) { return answer_metrics(text, std::move(request)); });
}

void Routes::set_configz(std::string name, std::string json) {
  for (auto& [known, value] : configz_) {
    if (known != name) continue;
    value = std::move(json);
    return;
  }
  configz_.emplace_back(std::move(name), std::move(json));
}

const Routes::Route* Routes::find(std::string_view path) const {
  const Route* best = nullptr;
  for (const Route& route : routes_) {
    const bool fits = route.path.ends_with('/') ? path.starts_with(route.path) : path == route.path;
    if (fits && (!best || route.path.size() > best->path.size())) best = &route;
  }
  return best;
}

std::string Routes::configz() const {
  std::string json = "{";
  for (const auto& [name, value] : configz_)
    json += fmt::format("{}\"{}\":{}", json.size() > 1 ? "," : "", name, value);
  json += '}';
  return json;
}

}  // namespace koord::runtime
