// Quotas as JSON: see describe.hpp.
#include "scheduling/plugins/elastic_quota/describe.hpp"

#include <fmt/format.h>

#include <map>

#include "koord/json/writer.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugins/elastic_quota/summarize.hpp"

namespace koord::scheduling::elastic_quota {

namespace {

void write(json::Writer& json, const api::ResourceList& list) {
  json.begin_object();
  for (const auto& [name, amount] : list) json.member(name.view(), amount.to_string());
  json.end_object();
}

void write(json::Writer& json, const QuotaBook& book, std::string_view tree_id, QuotaBook::Place place,
           bool with_pods) {
  const QuotaSummary is = summarize(book, tree_id, place);
  json.begin_object()
      .member("name", is.name)
      .member("parentName", is.parent)
      .member("isParent", is.is_parent)
      .member("runtimeVersion", static_cast<std::int64_t>(place.tree->divisions()))
      .member("allowLentResource", is.lends)
      .member("tree", is.tree);
  const std::pair<std::string_view, const api::ResourceList*> lists[] = {
      {"max", &is.max},
      {"min", &is.min},
      {"autoScaleMin", &is.scaled_min},
      {"used", &is.used},
      {"nonPreemptibleUsed", &is.non_preemptible_used},
      {"request", &is.request},
      {"nonPreemptibleRequest", &is.non_preemptible_request},
      {"sharedWeight", &is.weight},
      {"runtime", &is.runtime},
      {"childRequest", &is.child_request},
      {"allocated", &is.allocated},
      {"guaranteed", &is.guaranteed},
      {"selfUsed", &is.self_used},
      {"selfNonPreemptibleUsed", &is.self_non_preemptible_used},
      {"selfRequest", &is.self_request},
      {"selfNonPreemptibleRequest", &is.self_non_preemptible_request}};
  for (const auto& [name, list] : lists) {
    json.key(name);
    write(json, *list);
  }
  std::map<std::string, QuotaBook::Counted> pods;
  if (with_pods)
    for (QuotaBook::Counted& each : book.pods_of(place)) pods.emplace(pod_key(*each.pod), std::move(each));
  if (!pods.empty()) {
    json.key("podCache").begin_object();
    for (const auto& [name, each] : pods) {
      json.key(name).begin_object().member("isAssigned", each.assigned).key("resource");
      write(json, book.resources(*each.pod));
      json.end_object();
    }
    json.end_object();
  }
  json.end_object();
}

}  // namespace

std::optional<ServiceAnswer> serve_quotas(const QuotaBook& book, const ServiceRequest& request) {
  constexpr std::string_view kAll = "/quotas", kOne = "/quotas/";
  std::string_view of_tree;
  bool with_pods = false;
  for (const auto& [key, value] : request.query) {
    if (key == "tree") of_tree = value;
    if (key == "includePods") with_pods = value == "true";
  }
  std::string text;
  json::Writer json(text);
  if (request.path.starts_with(kOne)) {
    const std::string_view name = std::string_view(request.path).substr(kOne.size());
    // The root is the default tree's, whether it has an object or not.
    QuotaBook::Place place = book.find(name);
    if (name == api::kRootQuota) place = {book.trees().find("")->second.get(), QuotaTree::kRoot};
    if (place.tree == nullptr) return service_error(404, fmt::format("cannot find quota {}", name));
    for (const auto& [tree_id, tree] : book.trees())
      if (tree.get() == place.tree) write(json, book, tree_id, place, with_pods);
    return ServiceAnswer{200, std::move(text)};
  }
  if (request.path != kAll) return std::nullopt;
  std::map<std::string_view, std::pair<std::string_view, QuotaBook::Place>> all;
  for (const auto& [tree_id, tree] : book.trees()) {
    if (!of_tree.empty() && tree_id != of_tree) continue;
    tree->each([&](QuotaId id) {
      if (id != QuotaTree::kRoot)
        all.emplace(tree->name(id), std::pair(std::string_view(tree_id), QuotaBook::Place{tree.get(), id}));
    });
  }
  json.begin_object();
  for (const auto& [name, of] : all) {
    json.key(name);
    write(json, book, of.first, of.second, with_pods);
  }
  json.end_object();
  return ServiceAnswer{200, std::move(text)};
}

}  // namespace koord::scheduling::elastic_quota
