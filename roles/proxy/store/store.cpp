// The store: see store.hpp.
#include "store/store.hpp"

#include <set>

namespace koord::proxy {

namespace {

using rpc::hooks::Map;
using rpc::hooks::Resources;

constexpr std::size_t kLongestId = 256;

std::size_t size_of(const Map& map) {
  std::size_t size = map.capacity() * sizeof(Map::value_type);
  for (const auto& [name, value] : map) size += name.size() + value.size();
  return size;
}
std::size_t size_of(const std::optional<Resources>& resources) {
  if (!resources) return 0;
  return size_of(resources->unified) + resources->cpuset_cpus.size() + resources->cpuset_mems.size() +
         resources->hugepages.size() * sizeof(rpc::hooks::HugepageLimit);
}
std::size_t size_of(const PodEntry& entry) {
  const rpc::hooks::PodRequest& pod = entry.pod;
  return sizeof(entry) + pod.meta.name.size() + pod.meta.uid.size() + pod.meta.ns.size() +
         pod.runtime_handler.size() + pod.cgroup_parent.size() + size_of(pod.labels) +
         size_of(pod.annotations) + size_of(pod.overhead) + size_of(pod.resources);
}
std::size_t size_of(const ContainerEntry& entry) {
  return sizeof(entry) + entry.sandbox.size() + entry.meta.name.size() + entry.meta.id.size() +
         entry.pod_cgroup_parent.size() + size_of(entry.annotations) + size_of(entry.resources) +
         (entry.env ? size_of(*entry.env) : 0);
}

template <class Rows>
auto find(const Rows& rows, std::string_view id) {
  const auto found = rows.find(id);
  return found == rows.end() ? nullptr : found->second.entry;
}

}  // namespace

rpc::hooks::ContainerRequest request_of(const ContainerEntry& container, const PodEntry* pod) {
  rpc::hooks::ContainerRequest request{.pod = {},
                                       .meta = container.meta,
                                       .annotations = container.annotations,
                                       .resources = container.resources,
                                       .pod_resources = {},
                                       .pod_annotations = {},
                                       .pod_labels = {},
                                       .pod_cgroup_parent = container.pod_cgroup_parent,
                                       .env = container.env.value_or(Map())};
  if (pod != nullptr) {
    request.pod = pod->pod.meta;
    request.pod_resources = pod->pod.resources;
    request.pod_annotations = pod->pod.annotations;
    request.pod_labels = pod->pod.labels;
  }
  return request;
}

void take(ContainerEntry& container, rpc::hooks::ContainerRequest said) {
  container.annotations = std::move(said.annotations);
  container.resources = std::move(said.resources);
  container.pod_cgroup_parent = std::move(said.pod_cgroup_parent);
  if (container.env) container.env = std::move(said.env);
}

PodPtr Store::pod(std::string_view id) const { return find(pods_, id); }
ContainerPtr Store::container(std::string_view id) const { return find(containers_, id); }

template <class Entry>
void Store::erase(Rows<Entry>& rows, typename Rows<Entry>::iterator at) {
  bytes_ -= at->second.bytes;
  rows.erase(at);
  ++changes_;
}

template <class Entry>
bool Store::put(Rows<Entry>& rows, std::size_t most, std::string_view id, Entry entry) {
  if (id.empty() || id.size() > kLongestId) return false;
  const std::size_t bytes = size_of(entry) + 2 * id.size();
  const auto found = rows.find(id);
  const std::size_t freed = found == rows.end() ? 0 : found->second.bytes;
  if ((found == rows.end() && rows.size() >= most) || bytes_ - freed + bytes > kMostBytes) {
    if (found != rows.end()) erase(rows, found);  // what it was is not what it is
    return false;
  }
  Row<Entry>& row = found == rows.end() ? rows.emplace(id, Row<Entry>()).first->second : found->second;
  row.entry = std::make_shared<const Entry>(std::move(entry));
  bytes_ += bytes - row.bytes;
  row.bytes = bytes;
  row.born = ++changes_;
  return true;
}

bool Store::put(std::string_view id, PodEntry entry) { return put(pods_, kMostPods, id, std::move(entry)); }
bool Store::put(std::string_view id, ContainerEntry entry) {
  return put(containers_, kMostContainers, id, std::move(entry));
}
void Store::replace(std::string_view id, PodEntry entry) {
  if (pods_.find(id) != pods_.end()) put(id, std::move(entry));
}
void Store::replace(std::string_view id, ContainerEntry entry) {
  if (containers_.find(id) != containers_.end()) put(id, std::move(entry));
}

void Store::remove_pod(std::string_view id) {
  if (const auto found = pods_.find(id); found != pods_.end()) erase(pods_, found);
  for (auto at = containers_.begin(); at != containers_.end();) {
    const auto next = std::next(at);
    if (at->second.entry->sandbox == id) erase(containers_, at);
    at = next;
  }
}

void Store::remove_container(std::string_view id) {
  if (const auto found = containers_.find(id); found != containers_.end()) erase(containers_, found);
}

Store::Missing Store::reconcile(std::vector<rpc::cri::ListedSandbox> pods,
                                std::vector<rpc::cri::ListedContainer> containers, std::uint64_t began) {
  Missing missing;
  const auto sweep = [&](auto& rows, auto& listed, auto& unknown) {
    std::set<std::string, std::less<>> ids;
    for (auto& one : listed) {
      ids.insert(one.id);
      if (rows.find(one.id) == rows.end()) unknown.push_back(std::move(one));
    }
    for (auto at = rows.begin(); at != rows.end();) {
      const auto next = std::next(at);
      if (at->second.born <= began && !ids.contains(at->first)) erase(rows, at);
      at = next;
    }
  };
  sweep(pods_, pods, missing.pods);
  sweep(containers_, containers, missing.containers);
  return missing;
}

Store::Kept Store::all() const {
  Kept kept;
  kept.pods.reserve(pods_.size());
  for (const auto& [id, row] : pods_) kept.pods.emplace_back(id, row.entry);
  kept.containers.reserve(containers_.size());
  for (const auto& [id, row] : containers_) kept.containers.emplace_back(id, row.entry);
  return kept;
}

}  // namespace koord::proxy
