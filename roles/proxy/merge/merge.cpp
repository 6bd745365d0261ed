// Merging: see merge.hpp.
#include "merge/merge.hpp"

#include <algorithm>

namespace koord::proxy {

namespace {

constexpr std::int64_t kLeastScore = -1000, kMostScore = 1000;  // the kernel's

void take_positive(std::int64_t& into, std::int64_t said) {
  if (said > 0) into = said;
}
void take_text(std::string& into, const std::string& said) {
  if (!said.empty()) into = said;
}
template <class T>
void change(std::optional<T>& out, const T& before, const T& now) {
  if (before != now) out = now;
}

hooks::Map new_pairs(const hooks::Map& before, const hooks::Map& now) {
  hooks::Map out;
  std::ranges::set_difference(now, before, std::back_inserter(out));
  return out;
}

std::vector<std::string> gone_names(const hooks::Map& before, const hooks::Map& now) {
  std::vector<std::string> gone;
  auto at = now.begin();
  for (const auto& [name, value] : before) {
    while (at != now.end() && at->first < name) ++at;
    if (at == now.end() || at->first != name) gone.push_back(name);
  }
  return gone;
}

}  // namespace

rpc::cri::ResourceChange difference(const std::optional<hooks::Resources>& was,
                                    const std::optional<hooks::Resources>& is) {
  static const hooks::Resources kNone;
  const hooks::Resources &before = was ? *was : kNone, &now = is ? *is : kNone;
  rpc::cri::ResourceChange out;
  change(out.cpu_period, before.cpu_period, now.cpu_period);
  change(out.cpu_quota, before.cpu_quota, now.cpu_quota);
  change(out.cpu_shares, before.cpu_shares, now.cpu_shares);
  change(out.memory_limit, before.memory_limit, now.memory_limit);
  change(out.memory_swap_limit, before.memory_swap_limit, now.memory_swap_limit);
  change(out.oom_score_adj, before.oom_score_adj, now.oom_score_adj);
  change(out.cpuset_cpus, before.cpuset_cpus, now.cpuset_cpus);
  change(out.cpuset_mems, before.cpuset_mems, now.cpuset_mems);
  out.unified = new_pairs(before.unified, now.unified);
  for (const hooks::HugepageLimit& limit : now.hugepages)
    if (std::ranges::find(before.hugepages, limit) == before.hugepages.end()) out.hugepages.push_back(limit);
  return out;
}

void merge_map(hooks::Map& into, const hooks::Map& said) {
  if (said.empty()) return;
  hooks::Map merged;
  merged.reserve(into.size() + said.size());
  auto old = into.begin();
  for (const auto& pair : said) {
    for (; old != into.end() && old->first < pair.first; ++old) merged.push_back(std::move(*old));
    if (old != into.end() && old->first == pair.first) ++old;
    merged.push_back(pair);
  }
  std::move(old, into.end(), std::back_inserter(merged));
  into = std::move(merged);
}

void merge_update(hooks::Resources& into, const hooks::Resources& said) {
  take_positive(into.cpu_period, said.cpu_period);
  if (said.cpu_quota != 0) into.cpu_quota = said.cpu_quota;  // -1: none
  take_positive(into.cpu_shares, said.cpu_shares);
  take_positive(into.memory_limit, said.memory_limit);
  take_positive(into.memory_swap_limit, said.memory_swap_limit);
  take_text(into.cpuset_cpus, said.cpuset_cpus);
  take_text(into.cpuset_mems, said.cpuset_mems);
  merge_map(into.unified, said.unified);
  for (const hooks::HugepageLimit& limit : said.hugepages) {
    const auto found = std::ranges::find(into.hugepages, limit.page_size, &hooks::HugepageLimit::page_size);
    if (found == into.hugepages.end())
      into.hugepages.push_back(limit);
    else
      found->limit = limit.limit;
  }
}

void merge_resources(hooks::Resources& into, const hooks::Resources& said) {
  merge_update(into, said);
  const std::int64_t score = said.oom_score_adj;
  if (score != 0 && score >= kLeastScore && score <= kMostScore) into.oom_score_adj = score;
}

void merge(hooks::PodRequest& into, const hooks::PodResponse& said) {
  merge_map(into.labels, said.labels);
  merge_map(into.annotations, said.annotations);
  take_text(into.cgroup_parent, said.cgroup_parent);
  if (into.resources && said.resources) merge_resources(*into.resources, *said.resources);
}

void merge(hooks::ContainerRequest& into, const hooks::ContainerResponse& said) {
  merge_map(into.annotations, said.annotations);
  if (said.resources) {
    if (!into.resources) into.resources.emplace();
    merge_resources(*into.resources, *said.resources);
  }
  take_text(into.pod_cgroup_parent, said.pod_cgroup_parent);
  if (!said.env.empty()) into.env = said.env;
}

rpc::cri::PodChange difference(const hooks::PodRequest& before, const hooks::PodRequest& now) {
  rpc::cri::PodChange out{.labels = new_pairs(before.labels, now.labels),
                          .annotations = new_pairs(before.annotations, now.annotations),
                          .cgroup_parent = {}};
  change(out.cgroup_parent, before.cgroup_parent, now.cgroup_parent);
  return out;
}

rpc::cri::ContainerChange difference(const hooks::ContainerRequest& before,
                                     const hooks::ContainerRequest& now) {
  rpc::cri::ContainerChange out{.annotations = new_pairs(before.annotations, now.annotations),
                                .resources = difference(before.resources, now.resources),
                                .pod_cgroup_parent = {},
                                .env = new_pairs(before.env, now.env),
                                .env_removed = gone_names(before.env, now.env)};
  change(out.pod_cgroup_parent, before.pod_cgroup_parent, now.pod_cgroup_parent);
  return out;
}

bool has(const hooks::Map& labels, std::string_view key, std::string_view value) {
  const auto found = std::ranges::lower_bound(
      labels, key, {}, [](const auto& pair) -> std::string_view { return pair.first; });
  return found != labels.end() && found->first == key && found->second == value;
}

}  // namespace koord::proxy
