// The back end: see back_end.hpp.
#include "cri/back_end.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/rpc/cri.hpp"

namespace koord::proxy {

namespace {

namespace cri = rpc::cri;

/// What is asked about one thing, on a caller's time or not, and about all things.
constexpr nanoseconds kPatience = std::chrono::seconds(2), kListPatience = std::chrono::seconds(30);

}  // namespace

Task<rpc::Reply> BackEnd::forward(rpc::Request request, const Caller& caller) {
  request.time_left = caller.left();
  rpc::Reply reply = co_await channel_.call(std::move(request));
  if (reply.status.code == rpc::StatusCode::unavailable) doubted_.set();
  co_return reply;
}

Task<Result<std::string>> BackEnd::ask(std::string_view method, std::string message,
                                       std::optional<nanoseconds> left) {
  rpc::Reply reply = co_await channel_.call(
      {.method = std::string(method), .message = std::move(message), .metadata = {}, .time_left = left});
  if (!reply.status.ok()) co_return reply.status.error();
  co_return std::move(reply.message);
}

Task<Result<PodPtr>> BackEnd::ask_pod(std::string id, std::optional<nanoseconds> left) {
  KOORD_CO_TRY(answer, co_await ask(cri::method::kPodSandboxStatus, cri::verbose_status_of(id), left));
  KOORD_CO_TRY(listed, cri::read_sandbox_status(answer));
  PodEntry entry{.pod = std::move(listed.pod)};
  if (PodPtr known = store_.pod(id)) co_return known;  // it was made meanwhile: that one is fuller
  store_.put(id, entry);
  co_return std::make_shared<const PodEntry>(std::move(entry));
}

Task<Result<ContainerPtr>> BackEnd::ask_container(std::string id, std::string sandbox,
                                                  std::optional<nanoseconds> left) {
  KOORD_CO_TRY(answer, co_await ask(cri::method::kContainerStatus, cri::verbose_status_of(id), left));
  KOORD_CO_TRY(details, cri::read_container_status(answer));
  if (!details.env) details.env.emplace();  // who does not tell is not asked again
  if (const ContainerPtr known = store_.container(id)) {
    if (known->env) co_return known;
    ContainerEntry fuller = *known;
    fuller.env = std::move(details.env);
    store_.replace(id, fuller);
    co_return std::make_shared<const ContainerEntry>(std::move(fuller));
  }
  if (sandbox.empty()) sandbox = std::move(details.sandbox);
  ContainerEntry entry{.sandbox = sandbox,
                       .meta = std::move(details.meta),
                       .annotations = std::move(details.annotations),
                       .resources = std::move(details.resources),
                       .pod_cgroup_parent = {},
                       .env = std::move(details.env)};
  entry.meta.id = id;
  if (const PodPtr pod = store_.pod(sandbox)) entry.pod_cgroup_parent = pod->pod.cgroup_parent;
  store_.put(id, entry);
  co_return std::make_shared<const ContainerEntry>(std::move(entry));
}

Task<Result<PodPtr>> BackEnd::pod(std::string id, const Caller& caller) {
  if (PodPtr known = store_.pod(id)) co_return known;
  co_return co_await ask_pod(std::move(id), std::min(caller.left().value_or(kPatience), kPatience));
}

Task<Result<ContainerPtr>> BackEnd::container(std::string id, const Caller& caller) {
  ContainerPtr known = store_.container(id);
  if (known && known->env) co_return known;
  const nanoseconds left = std::min(caller.left().value_or(kPatience), kPatience);
  auto asked = co_await ask_container(std::move(id), {}, left);
  // Its environment alone is not worth a refusal.
  if (!asked && known && asked.error().code() != Code::cancelled) co_return known;
  if (asked && !known && !(*asked)->sandbox.empty()) {
    KOORD_CO_TRY(pod, co_await this->pod((*asked)->sandbox, caller));
    if ((*asked)->pod_cgroup_parent.empty() && !pod->pod.cgroup_parent.empty()) {
      ContainerEntry fuller = **asked;
      fuller.pod_cgroup_parent = pod->pod.cgroup_parent;
      store_.replace(fuller.meta.id, fuller);
      co_return std::make_shared<const ContainerEntry>(std::move(fuller));
    }
  }
  co_return asked;
}

Task<Result<>> BackEnd::probe() {
  KOORD_CO_CHECK(co_await ask(cri::method::kVersion, {}, kPatience));
  co_return Result<>();
}

Task<Result<>> BackEnd::recover(const Logger& log) {
  const std::uint64_t began = store_.changes();
  KOORD_CO_TRY(sandboxes, co_await ask(cri::method::kListPodSandbox, {}, kListPatience));
  KOORD_CO_TRY(pods, cri::read_sandboxes(sandboxes));
  KOORD_CO_TRY(listed, co_await ask(cri::method::kListContainers, {}, kListPatience));
  KOORD_CO_TRY(containers, cri::read_containers(listed));
  // A pod that was made between the two lists is in neither, and younger than both.
  Store::Missing missing = store_.reconcile(std::move(pods), std::move(containers), began);
  std::size_t failed = 0;
  for (cri::ListedSandbox& pod : missing.pods) {
    const auto asked = co_await ask_pod(pod.id, kPatience);
    if (!asked && asked.error().code() == Code::cancelled) co_return asked.error();
    if (!asked) ++failed;  // it has gone, or is asked about again when somebody needs it
  }
  for (cri::ListedContainer& container : missing.containers) {
    const auto asked = co_await ask_container(container.id, container.sandbox, kPatience);
    if (!asked && asked.error().code() == Code::cancelled) co_return asked.error();
    if (!asked) ++failed;
  }
  if (!missing.pods.empty() || !missing.containers.empty())
    log.info("what the back end has was asked for", kv("pods", missing.pods.size()),
             kv("containers", missing.containers.size()), kv("failed", failed));
  co_return Result<>();
}

}  // namespace koord::proxy
