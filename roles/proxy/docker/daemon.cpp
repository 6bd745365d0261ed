// The daemon: see daemon.hpp.
#include "docker/daemon.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "docker/routes.hpp"

namespace koord::proxy::docker {

namespace {

constexpr nanoseconds kPatience = std::chrono::seconds(2), kListPatience = std::chrono::seconds(30);
constexpr std::string_view kList =
    "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22io.kubernetes.docker.type%22%5D%7D";

/// Written anew for each hop, by net.
constexpr std::array<std::string_view, 11> kOfHop = {
    "Host",    "Connection",        "Keep-Alive", "Proxy-Connection", "TE",
    "Trailer", "Transfer-Encoding", "Upgrade",    "Content-Length",   "Expect",
    "Date"};

bool of_hop(std::string_view name) {
  return std::ranges::any_of(kOfHop, [&](std::string_view each) {
    return std::ranges::equal(
        each, name, [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  });
}

net::Headers passed_on(const net::Headers& headers) {
  net::Headers out;
  for (std::size_t i = 0; i < headers.size(); ++i)
    if (const auto [name, value] = headers.at(i); !of_hop(name)) out.add(name, value);
  return out;
}

}  // namespace

Task<Result<net::Response>> Daemon::forward(net::Request request, nanoseconds patience) {
  request.headers = passed_on(request.headers);
  request.timeout = patience;
  auto response = co_await pool_.send(request);
  if (!response && response.error().code() == Code::unavailable) doubted_.set();
  if (!response) co_return response.error();
  response->headers = passed_on(response->headers);
  co_return std::move(*response);
}

Task<Result<std::string>> Daemon::get(std::string target, nanoseconds patience) {
  net::Request request;
  request.target = std::move(target);
  request.timeout = patience;
  KOORD_CO_TRY(response, co_await pool_.send(request));
  if (response.status == 200) co_return std::move(response.body);
  const Code code = response.status == 404 ? Code::not_found : Code::unavailable;
  co_return Error(code, fmt::format("docker: GET {}: status {}", request.target, response.status));
}

Task<Result<Inspected>> Daemon::inspect(std::string reference) {
  if (!is_reference(reference)) co_return Error(Code::not_found, "docker: no container has such a name");
  KOORD_CO_TRY(text, co_await get(fmt::format("/containers/{}/json", reference), kPatience));
  auto inspected = read_inspected(text);
  if (!inspected) co_return inspected.error().context(fmt::format("docker: container {}", reference));
  co_return std::move(*inspected);
}

Task<Result<Found>> Daemon::keep(Inspected inspected) {
  Found found{.id = inspected.id, .pod = {}, .container = {}};
  if (!inspected.of_kubernetes) co_return found;
  KOORD_CO_TRY(systemd, co_await this->systemd());
  std::string parent = path_of_parent(systemd, inspected.cgroup_parent);
  // What was made meanwhile is fuller.
  if ((found.pod = store_.pod(found.id)) || (found.container = store_.container(found.id))) co_return found;
  if (inspected.sandbox) {
    PodEntry entry{.pod = {.meta = std::move(inspected.identity.pod),
                           .runtime_handler = "docker",
                           .labels = std::move(inspected.labels),
                           .annotations = std::move(inspected.annotations),
                           .cgroup_parent = std::move(parent),
                           .overhead = {},
                           .resources = std::move(inspected.resources)}};
    store_.put(found.id, entry);
    found.pod = std::make_shared<const PodEntry>(std::move(entry));
    co_return found;
  }
  ContainerEntry entry{.sandbox = std::move(inspected.sandbox_id),
                       .meta = {.name = std::move(inspected.identity.container),
                                .attempt = inspected.identity.attempt,
                                .id = found.id},
                       .annotations = std::move(inspected.annotations),
                       .resources = std::move(inspected.resources),
                       .pod_cgroup_parent = std::move(parent),
                       .env = std::move(inspected.env)};
  store_.put(found.id, entry);
  found.container = std::make_shared<const ContainerEntry>(std::move(entry));
  co_return found;
}

Task<Result<Found>> Daemon::find(std::string reference) {
  Found found{.id = reference, .pod = store_.pod(reference), .container = store_.container(reference)};
  if (found.pod || found.container) co_return found;
  KOORD_CO_TRY(inspected, co_await inspect(std::move(reference)));
  co_return co_await keep(std::move(inspected));
}

Task<Result<PodPtr>> Daemon::pod(std::string id) {
  KOORD_CO_TRY(found, co_await find(id));
  if (!found.pod) co_return Error(Code::not_found, fmt::format("docker: {} is no sandbox", id));
  co_return std::move(found.pod);
}

Task<Result<ContainerPtr>> Daemon::whole(std::string id, ContainerPtr known) {
  if (known->env) co_return known;
  auto inspected = co_await inspect(id);
  if (!inspected && inspected.error().code() == Code::cancelled) co_return inspected.error();
  if (!inspected) co_return known;  // its environment alone is not worth a refusal
  ContainerEntry fuller = *known;
  fuller.env = std::move(inspected->env);
  store_.replace(id, fuller);
  co_return std::make_shared<const ContainerEntry>(std::move(fuller));
}

Task<Result<>> Daemon::probe() {
  KOORD_CO_CHECK(co_await get("/_ping", kPatience));
  co_return Result<>();
}

Task<Result<bool>> Daemon::systemd() {
  if (systemd_) co_return *systemd_;
  KOORD_CO_TRY(text, co_await get("/info", kListPatience));
  KOORD_CO_TRY(read, read_systemd(text));
  systemd_ = read;
  co_return read;
}

Task<Result<>> Daemon::recover(const Logger& log) {
  systemd_.reset();  // a daemon that came back may have been told otherwise
  KOORD_CO_CHECK(co_await systemd());
  const std::uint64_t began = store_.changes();
  KOORD_CO_TRY(text, co_await get(std::string(kList), kListPatience));
  KOORD_CO_TRY(listed, read_list(text));
  Store::Missing missing = store_.reconcile(std::move(listed.pods), std::move(listed.containers), began);
  std::size_t failed = 0;
  const auto ask = [](Daemon& self, std::string id, std::size_t& failures) -> Task<Result<>> {
    const auto found = co_await self.find(std::move(id));
    if (!found && found.error().code() == Code::cancelled) co_return found.error();
    if (!found) ++failures;  // it has gone, or is asked about again when somebody needs it
    co_return Result<>();
  };
  for (const auto& pod : missing.pods) KOORD_CO_CHECK(co_await ask(*this, pod.id, failed));
  for (const auto& container : missing.containers) KOORD_CO_CHECK(co_await ask(*this, container.id, failed));
  if (!missing.pods.empty() || !missing.containers.empty())
    log.info("what the back end has was asked for", kv("pods", missing.pods.size()),
             kv("containers", missing.containers.size()), kv("failed", failed));
  co_return Result<>();
}

}  // namespace koord::proxy::docker
