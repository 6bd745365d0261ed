// What a hook server answers, laid over a request of the kubelet's: the first byte says how much of the input
// is the answer, the rest is the request. A request that no hook changes keeps its bytes; one that is changed
// reads as what was merged, and a second time nothing is left to change.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "merge/merge.hpp"

using namespace koord;
using namespace koord::proxy;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void create(std::string_view request, const hooks::ContainerResponse& said) {
  auto message = rpc::cri::CreateContainer::read(request);
  if (!message) return;
  const hooks::ContainerRequest asked = message->asked();
  hooks::ContainerRequest now = asked;
  merge(now, said);
  const rpc::cri::ContainerChange change = difference(asked, now);
  check(change.empty() == (asked == now));
  message->apply(change);
  const auto again = rpc::cri::CreateContainer::read(message->bytes());
  check(again.has_value());
  check(difference(again->asked(), now).empty());
  check(again->sandbox_id() == message->sandbox_id());
  // The same answer changes nothing more.
  hooks::ContainerRequest twice = now;
  merge(twice, said);
  check(twice == now);
}

void update(std::string_view request, const hooks::ContainerResponse& said) {
  auto message = rpc::cri::UpdateContainerResources::read(request);
  if (!message) return;
  hooks::ContainerRequest asked;
  asked.resources = message->resources().value_or(hooks::Resources());
  asked.annotations = message->annotations();
  hooks::ContainerRequest now = asked;
  merge(now, said);
  message->apply(difference(asked, now));
  const auto again = rpc::cri::UpdateContainerResources::read(message->bytes());
  check(again.has_value());
  check(again->resources().value_or(hooks::Resources()) == now.resources);
  check(again->annotations() == now.annotations);
}

void run(std::string_view request, const hooks::PodResponse& said) {
  auto message = rpc::cri::RunPodSandbox::read(request);
  if (!message) return;
  const hooks::PodRequest asked = message->asked();
  hooks::PodRequest now = asked;
  merge(now, said);
  const rpc::cri::PodChange change = difference(asked, now);
  check(change.empty() == (asked == now));
  message->apply(change);
  const auto again = rpc::cri::RunPodSandbox::read(message->bytes());
  check(again.has_value());
  check(again->asked() == now);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = std::min<std::size_t>(data[0], input.size());
  const std::string_view answer = input.substr(0, cut), request = input.substr(cut);
  if (const auto said = hooks::decode_container_response(answer)) {
    create(request, *said);
    update(request, *said);
  }
  if (const auto said = hooks::decode_pod_response(answer)) run(request, *said);
  // What a back end says is read the same way.
  (void)rpc::cri::read_sandboxes(input);
  (void)rpc::cri::read_containers(input);
  (void)rpc::cri::read_sandbox_status(input);
  (void)rpc::cri::read_container_status(input);
  return 0;
}
