// JobCounts: see counts.hpp.
#include "migration/jobs/counts.hpp"

#include <fmt/format.h>

#include "koord/api/koordinator/migration.hpp"
#include "migration/jobs/progress.hpp"

namespace koord::descheduler::migration {

namespace {

constexpr std::size_t kViews = 2;

std::string key_of(std::string_view ns, std::string_view name) { return fmt::format("{}/{}", ns, name); }

std::size_t index_of(Counted which) { return static_cast<std::size_t>(which); }

template <class Map>
void add_to_counts(Map& map, const std::string& key, const std::array<bool, kViews>& counts, int by) {
  if (key.empty()) return;
  auto& at = map[key];
  for (std::size_t i = 0; i < kViews; ++i)
    if (counts[i]) at[i] += static_cast<std::uint32_t>(by);
  if (at[0] == 0 && at[1] == 0) map.erase(key);
}

template <class Map>
std::uint32_t count_of(const Map& map, const std::string& key, Counted which) {
  const auto it = map.find(key);
  return it == map.end() ? 0 : it->second[index_of(which)];
}

}  // namespace

void JobCounts::put(const api::PodMigrationJob& job, bool let_pass, PodPtr pod) {
  remove(job.metadata.name);
  if (is_finished(job) || !job.spec.pod_ref) return;
  const api::ObjectReference& ref = *job.spec.pod_ref;
  Job& known = jobs_[job.metadata.name];
  known.pod = key_of(ref.namespace_.view(), ref.name);
  known.uid = ref.uid;
  known.counts = {true,
                  let_pass || job.status.phase == "Running" ||
                      api::value_or(job.metadata.annotations, api::kPassedArbitrationAnnotation) == "true"};
  Entry& entry = entries_[known.pod];
  entry.ns = ref.namespace_.str();
  group(entry, -1);
  entry.pod = std::move(pod);
  group(entry, +1);
  count(known, +1);
}

void JobCounts::remove(const std::string& job) {
  const auto it = jobs_.find(job);
  if (it == jobs_.end()) return;
  count(it->second, -1);
  const auto entry = entries_.find(it->second.pod);
  if (entry->second.jobs[0] == 0) entries_.erase(entry);
  jobs_.erase(it);
}

void JobCounts::count(const Job& job, int by) {
  Entry& entry = entries_.find(job.pod)->second;
  group(entry, -1);
  for (std::size_t i = 0; i < kViews; ++i) {
    if (!job.counts[i]) continue;
    entry.jobs[i] += static_cast<std::uint32_t>(by);
    total_[i] += static_cast<std::uint32_t>(by);
  }
  add_to_counts(uids_, job.uid, job.counts, by);
  add_to_counts(namespaces_, entry.ns, job.counts, by);
  group(entry, +1);
}

void JobCounts::pod_changed(std::string_view ns, std::string_view name, PodPtr pod) {
  if (entries_.empty()) return;
  const auto it = entries_.find(key_of(ns, name));
  if (it == entries_.end()) return;
  group(it->second, -1);
  it->second.pod = std::move(pod);
  group(it->second, +1);
}

void JobCounts::group(const Entry& entry, int by) {
  if (!entry.pod) return;
  add_to(nodes_, entry.pod->spec.node_name.view(), entry, by);
  if (const api::OwnerReference* controller = api::controller_of(entry.pod->metadata))
    add_to(controllers_, controller->uid.view(), entry, by);
}

void JobCounts::add_to(Groups& groups, std::string_view name, const Entry& entry, int by) {
  if (name.empty() || entry.jobs[0] == 0) return;
  const std::string key(name);
  Group& group = groups[key];
  for (std::size_t i = 0; i < kViews; ++i) {
    if (entry.jobs[i] == 0) continue;
    if (by > 0)
      group.entries[i].insert(&entry);
    else
      group.entries[i].erase(&entry);
  }
  // What is arbitrated is unfinished.
  if (group.entries[0].empty()) groups.erase(key);
}

const JobCounts::Entry* JobCounts::find(const api::Pod& pod) const {
  const auto it = entries_.find(key_of(pod.metadata.namespace_.view(), pod.metadata.name));
  return it == entries_.end() ? nullptr : &it->second;
}

std::uint32_t JobCounts::in(const Groups& groups, std::string_view name, Counted which) {
  const auto it = groups.find(std::string(name));
  return it == groups.end() ? 0 : static_cast<std::uint32_t>(it->second.entries[index_of(which)].size());
}

bool JobCounts::has_job(const api::Pod& pod, Counted which) const {
  const Entry* entry = find(pod);
  return (entry && entry->jobs[index_of(which)] > 0) || count_of(uids_, pod.metadata.uid, which) > 0;
}

bool JobCounts::has_other(const api::PodMigrationJob& job, Counted which) const {
  const auto it = jobs_.find(job.metadata.name);
  if (it == jobs_.end()) return false;
  const std::size_t view = index_of(which);
  return entries_.find(it->second.pod)->second.jobs[view] > (it->second.counts[view] ? 1U : 0U);
}

std::size_t JobCounts::in_all(const api::Pod& but, Counted which) const {
  const Entry* own = find(but);
  return total_[index_of(which)] - (own ? own->jobs[index_of(which)] : 0);
}

std::size_t JobCounts::of_node(std::string_view node, const api::Pod& but, Counted which) const {
  const Entry* own = find(but);
  const bool counted =
      own && own->pod && own->pod->spec.node_name.view() == node && own->jobs[index_of(which)] > 0;
  return in(nodes_, node, which) - (counted ? 1 : 0);
}

std::size_t JobCounts::of_namespace(std::string_view ns, const api::Pod& but, Counted which) const {
  const Entry* own = find(but);
  return count_of(namespaces_, std::string(ns), which) -
         (own && own->ns == ns ? own->jobs[index_of(which)] : 0);
}

std::vector<JobCounts::PodPtr> JobCounts::of_controller(std::string_view uid, const api::Pod& but,
                                                        Counted which) const {
  std::vector<PodPtr> pods;
  const auto it = controllers_.find(std::string(uid));
  if (it == controllers_.end()) return pods;
  const Entry* own = find(but);
  for (const Entry* entry : it->second.entries[index_of(which)])
    if (entry != own) pods.push_back(entry->pod);
  return pods;
}

}  // namespace koord::descheduler::migration
