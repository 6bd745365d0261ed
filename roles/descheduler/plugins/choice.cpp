// See choice.hpp.
#include "plugins/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "koord/api/rules/kube_qos.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::descheduler {

namespace {

constexpr std::string_view kPreferNoEviction = "descheduler.alpha.kubernetes.io/prefer-no-eviction";

int order_of(api::KubeQos qos) {
  switch (qos) {
    case api::KubeQos::besteffort: return 0;
    case api::KubeQos::burstable: return 1;
    case api::KubeQos::guaranteed: return 2;
  }
  return 2;
}

}  // namespace

KOORD_SCHEMA(NamespaceChoice, ROW(include).doc("Only pods of these namespaces."),
             ROW(exclude).doc("No pods of these."));
KOORD_SCHEMA(PriorityThreshold, ROW(value).doc("Pods of this priority and of higher ones stay."),
             ROW(name).doc("Of a PriorityClass, whose value it is; where no value is given."));
KOORD_SCHEMA(PodChoiceArgs, ROW(namespaces).doc("Whose pods are looked at; absent or empty: all."),
             ROW(label_selector).doc("Only pods with these labels; absent or empty: all."));

std::string found_at(std::string_view path, std::string_view words) {
  return path.empty() ? std::string(words) : fmt::format("{}: {}", path, words);
}

void check_namespaces(const api::Box<NamespaceChoice>& namespaces, const std::string& path,
                      api::FieldErrors& errors) {
  if (namespaces && !namespaces->include.empty() && !namespaces->exclude.empty())
    errors.add(found_at(path, "only one of Include/Exclude namespaces can be set"));
}

void PodChoiceArgs::validate(const std::string& path, api::FieldErrors& errors) const {
  check_namespaces(namespaces, path, errors);
  check_selector(path, errors);
}

void PodChoiceArgs::check_selector(const std::string& path, api::FieldErrors& errors) const {
  if (!label_selector) return;
  if (const auto selector = api::Selector::from(label_selector.get()); !selector)
    errors.add(found_at(path, fmt::format("failed to get label selectors from strategy's params: {}",
                                          selector.error().message())));
}

PodChoice::PodChoice(const PodChoiceArgs& args) {
  if (args.namespaces) namespaces_ = *args.namespaces;
  std::ranges::sort(namespaces_.include);
  std::ranges::sort(namespaces_.exclude);
  if (!args.label_selector) return;
  auto selector = api::Selector::from(args.label_selector.get());
  selector_ = selector ? std::move(*selector) : api::Selector::nothing();
}

bool PodChoice::has(const api::Pod& pod) const {
  const std::string_view ns = pod.metadata.namespace_.view();
  if (!namespaces_.include.empty() && !std::ranges::binary_search(namespaces_.include, ns)) return false;
  if (std::ranges::binary_search(namespaces_.exclude, ns)) return false;
  return selector_.matches(pod.metadata.labels);
}

bool has_ended(const api::Pod& pod) {
  const std::string_view phase = pod.status.phase.view();
  return phase == "Succeeded" || phase == "Failed";
}

bool has_owner_of(const api::Pod& pod, std::span<const std::string> kinds) {
  return std::ranges::any_of(pod.metadata.owner_references, [&](const api::OwnerReference& owner) {
    return std::ranges::find(kinds, owner.kind.view()) != kinds.end();
  });
}

std::chrono::seconds age_of(const api::Pod& pod, WallTime now) {
  return std::chrono::floor<std::chrono::seconds>(now) - pod.metadata.creation_timestamp.at;
}

std::vector<PodPtr> candidates(Pass& pass, const NodeView& node,
                               const std::function<bool(const api::Pod&)>& wanted) {
  std::vector<PodPtr> found;
  for (const PodPtr& pod : node.pods)
    if (wanted(*pod) && pass.may_go(*pod) && pass.may_go_now(*pod)) found.push_back(pod);
  return found;
}

bool would_rather_stay(const api::Pod& pod) { return pod.metadata.annotations.contains(kPreferNoEviction); }

void sort_least_first(std::vector<PodPtr>& pods) {
  using Key = std::tuple<bool, std::int32_t, int, bool>;
  std::vector<std::pair<Key, PodPtr>> keyed;
  keyed.reserve(pods.size());
  for (PodPtr& pod : pods) {
    const Key key(pod->spec.priority.has_value(), pod->spec.priority.value_or(0),
                  order_of(api::compute_kube_qos(pod->spec)), would_rather_stay(*pod));
    keyed.emplace_back(key, std::move(pod));
  }
  std::ranges::stable_sort(keyed, {}, [](const auto& each) { return each.first; });
  for (std::size_t i = 0; i < pods.size(); ++i) pods[i] = std::move(keyed[i].second);
}

}  // namespace koord::descheduler
