// Groups: the document; see groups.hpp.
#include "view/page/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "koord/api/figures/cluster_view.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/informer.hpp"

namespace koord::view {

namespace {

/// Pods that are told one by one, and of each reason so much.
constexpr std::size_t kWaitingShown = 500, kLongestWhy = 1000;

}  // namespace

std::string why_unread(const kube::AnyInformer& informer, std::string_view plural) {
  if (informer.listed() || informer.undefined() != nullptr) return {};
  const std::string error = informer.status().last_error;
  return error.empty() ? fmt::format("{} have not been read yet.", plural)
                       : fmt::format("{} cannot be read: {}", plural, error);
}

std::string groups_document(const figures::ClusterView& view,
                            std::span<const std::shared_ptr<const api::Pod>> pods,
                            std::span<const Unread> unread) {
  std::vector<const api::Pod*> waiting;
  for (const auto& pod : pods)
    if (pod->spec.node_name.empty()) waiting.push_back(pod.get());
  std::ranges::sort(waiting, [](const api::Pod* a, const api::Pod* b) {
    return a->metadata.creation_timestamp < b->metadata.creation_timestamp;
  });
  std::string out;
  json::Writer json(out);
  json.begin_object().key("view").raw(api::encode(view)).key("unread").begin_object();
  for (const Unread& each : unread)
    if (!each.why.empty()) json.member(each.part, std::string_view(each.why).substr(0, kLongestWhy));
  json.end_object()
      .member("more_waiting", waiting.size() - std::min(waiting.size(), kWaitingShown))
      .key("waiting")
      .begin_array();
  for (const api::Pod* pod : std::span(waiting).first(std::min(waiting.size(), kWaitingShown))) {
    json.begin_object()
        .member("namespace", pod->metadata.namespace_.view())
        .member("name", pod->metadata.name);
    json.member("since", pod->metadata.creation_timestamp.to_string());
    std::string_view why = "nobody has looked at it yet";
    for (const auto& condition : pod->status.conditions)
      if (condition.type == "PodScheduled" && condition.status == "False") why = condition.message;
    json.member("why", why.substr(0, kLongestWhy)).end_object();
  }
  json.end_array().end_object();
  return out;
}

}  // namespace koord::view
