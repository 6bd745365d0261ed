// VolumeUsers: see volume_users.hpp.
#include "scheduling/plugins/volume_restrictions/volume_users.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::volume_restrictions {

namespace {

constexpr std::string_view kRbd = "rbd/";

std::string claim_key(std::string_view ns, std::string_view name) { return fmt::format("{}/{}", ns, name); }

std::set<std::string_view> claims_of(const api::Pod& pod) {
  std::set<std::string_view> names;
  for (const api::Volume& v : pod.spec.volumes)
    if (v.persistent_volume_claim) names.insert(v.persistent_volume_claim->claim_name);
  return names;
}

template <class Users>
void leave(Users& users, const std::string& key, const PodInfo& pod) {
  const auto it = users.find(key);
  if (it == users.end()) return;
  std::erase_if(it->second, [&](const auto& user) { return user.pod == &pod; });
  if (it->second.empty()) users.erase(it);
}

template <class User>
std::span<const User> users_of(const std::unordered_map<std::string, std::vector<User>>& users,
                               const std::string& key) {
  const auto it = users.find(key);
  return it != users.end() ? std::span<const User>(it->second) : std::span<const User>();
}

}  // namespace

std::vector<Disk> disks_of(const api::Pod& pod) {
  std::vector<Disk> disks;
  for (const api::Volume& v : pod.spec.volumes) {
    if (const auto& d = v.gce_persistent_disk)
      disks.push_back({fmt::format("gce/{}", d->pd_name), d->read_only});
    if (const auto& d = v.aws_elastic_block_store)
      disks.push_back({fmt::format("aws/{}", d->volume_id), false});
    if (const auto& d = v.iscsi) disks.push_back({fmt::format("iscsi/{}", d->iqn), d->read_only});
    if (const auto& d = v.rbd)
      disks.push_back({fmt::format("{}{}/{}/{}", kRbd, d->pool.size(), d->pool, d->image),
                       d->read_only,
                       {d->monitors.begin(), d->monitors.end()}});
  }
  return disks;
}

bool conflict(const Disk& a, const Disk& b) {
  if (a.key != b.key || (a.shared && b.shared)) return false;
  if (!a.key.starts_with(kRbd)) return true;
  const std::set<std::string_view> monitors(a.monitors.begin(), a.monitors.end());
  return std::any_of(b.monitors.begin(), b.monitors.end(),
                     [&](const std::string& m) { return monitors.contains(m); });
}

bool conflict(std::span<const Disk> a, std::span<const Disk> b) {
  return std::any_of(a.begin(), a.end(), [&](const Disk& x) {
    return std::any_of(b.begin(), b.end(), [&](const Disk& y) { return conflict(x, y); });
  });
}

bool uses(const api::Pod& pod, std::string_view claim) {
  return std::any_of(pod.spec.volumes.begin(), pod.spec.volumes.end(), [&](const api::Volume& v) {
    return v.persistent_volume_claim && v.persistent_volume_claim->claim_name == claim;
  });
}

std::span<const VolumeUsers::User> VolumeUsers::of_claim(std::string_view ns, std::string_view name) const {
  return users_of(claims_, claim_key(ns, name));
}

std::span<const VolumeUsers::DiskUser> VolumeUsers::of_disk(const std::string& key) const {
  return users_of(disks_, key);
}

void VolumeUsers::pod_added(Row row, const PodInfo& pod) {
  for (const std::string_view name : claims_of(*pod.pod))
    claims_[claim_key(pod.pod->metadata.namespace_, name)].push_back({row, &pod});
  for (Disk& disk : disks_of(*pod.pod)) {
    std::vector<DiskUser>& users = disks_[disk.key];
    users.push_back({{row, &pod}, std::move(disk)});
  }
}

void VolumeUsers::pod_removed(Row, const PodInfo& pod) {
  for (const std::string_view name : claims_of(*pod.pod))
    leave(claims_, claim_key(pod.pod->metadata.namespace_, name), pod);
  for (const Disk& disk : disks_of(*pod.pod)) leave(disks_, disk.key, pod);
}

}  // namespace koord::scheduling::volume_restrictions
