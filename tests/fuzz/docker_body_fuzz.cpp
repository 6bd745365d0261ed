// Docker's JSON bodies: requests that hooks change and what docker says of what it has. A change is there
// afterwards, and nothing else is another.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "docker/body.hpp"
#include "merge/merge.hpp"

namespace {

using namespace koord::proxy::docker;
using koord::rpc::hooks::ContainerRequest;
using koord::rpc::hooks::PodRequest;

void check(bool holds) {
  if (!holds) std::abort();
}

ContainerRequest changed(ContainerRequest request) {
  koord::rpc::hooks::ContainerResponse said;
  said.annotations = {{"a", "1"}};
  said.resources.emplace();
  said.resources->cpu_shares = 77;
  said.resources->memory_swap_limit = 1 << 20;
  said.resources->oom_score_adj = -5;
  said.resources->cpuset_cpus = "0-1";
  said.pod_cgroup_parent = "/x.slice/x-y.slice";
  said.env = {{"A", "new"}, {"NEW", "=\"\n"}};
  koord::proxy::merge(request, said);
  return request;
}

void create(std::string_view text, bool systemd) {
  auto body = CreateBody::read(text);
  if (!body) return;
  const std::string before = body->text();
  const Identity identity = body->identity("k8s_c_p_n_u_1").value();
  const ContainerRequest asked = body->container(identity, systemd);
  const PodRequest pod = body->pod(identity, systemd);
  body->apply(koord::rpc::cri::ContainerChange{}, systemd);
  check(body->text() == before);

  const ContainerRequest now = changed(asked);
  body->apply(koord::proxy::difference(asked, now), systemd);
  const auto again = CreateBody::read(body->text());
  check(again.has_value());
  ContainerRequest there = again->container(identity, systemd);
  // A slice's name has no room for what was above it.
  if (systemd) there.pod_cgroup_parent = now.pod_cgroup_parent;
  check(there == now);
  check(again->sandbox_id() == body->sandbox_id());

  PodRequest other = pod;
  other.labels = koord::proxy::docker::sorted({{"l", "1"}});
  koord::proxy::merge_map(other.labels, pod.labels);
  const auto change = koord::proxy::difference(pod, other);
  auto second = CreateBody::read(text);
  second->apply(change, {}, systemd);
  check(CreateBody::read(second->text())->pod(identity, systemd).labels == other.labels);
}

void update(std::string_view text) {
  auto body = UpdateBody::read(text);
  if (!body) return;
  const auto before = body->resources();
  auto now = before;
  now.cpu_period = 5;
  now.cpuset_mems = "1";
  body->apply(koord::proxy::difference(before, now));
  check(UpdateBody::read(body->text())->resources() == now);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  create(text, false);
  create(text, true);
  update(text);
  (void)read_created(text);
  (void)read_systemd(text);
  if (const auto listed = read_list(text))
    for (const auto& pod : listed->pods) check(!pod.id.empty() && !pod.pod.meta.uid.empty());
  if (const auto inspected = read_inspected(text)) check(!inspected->id.empty());
  (void)identity_of_name(text);
  (void)path_of_parent(true, text);
  check(parent_of_path(true, path_of_parent(true, text)).size() <= size);
  return 0;
}
