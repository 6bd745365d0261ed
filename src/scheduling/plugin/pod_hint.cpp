// A pod's scheduling hint: see pod_hint.hpp.
#include "scheduling/plugin/pod_hint.hpp"

#include <fmt/format.h>

#include "koord/api/koordinator/scheduling.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling {

KOORD_SCHEMA(PodHint, ROW(node_names), ROW(preferred_node_names), ROW(extensions));

namespace {

constexpr std::size_t kMaxAnnotation = std::size_t{256} << 10;  // as much as all annotations of an object

std::string_view annotation_of(const api::Pod& pod) {
  const std::string_view text = api::value_or(pod.metadata.annotations, api::kSchedulingHint);
  return !text.empty() ? text : api::value_or(pod.metadata.annotations, api::kOldSchedulingHint);
}

}  // namespace

bool has_hint(const api::Pod& pod) { return !annotation_of(pod).empty(); }

Result<std::optional<PodHint>> hint_of(const api::Pod& pod) {
  const std::string_view text = annotation_of(pod);
  if (text.empty()) return std::optional<PodHint>();
  const auto wrong = [](std::string_view why) {
    return Error(Code::invalid, fmt::format("the pod's scheduling hint: {}", why));
  };
  if (text.size() > kMaxAnnotation) return wrong("longer than 256 KiB");
  auto hint = api::decode<PodHint>(text);
  if (!hint) return wrong(hint.error().message());
  return std::optional(std::move(*hint));
}

}  // namespace koord::scheduling
