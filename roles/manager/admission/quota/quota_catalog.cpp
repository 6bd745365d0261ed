// The ElasticQuotas of the cluster: see quota_catalog.hpp.
#include "admission/quota/quota_catalog.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "admission/quota/amounts.hpp"

namespace koord::manager {
namespace {

std::optional<std::uint64_t> number(std::string_view version) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), value);
  if (error != std::errc{} || end != version.data() + version.size()) return std::nullopt;
  return value;
}

}  // namespace

QuotaCatalog::Key QuotaCatalog::key_of(const api::ElasticQuota& quota) {
  return {quota.metadata.namespace_.str(), quota.metadata.name};
}

void QuotaCatalog::follow(kube::Informer<api::ElasticQuota> quotas) { quotas.deliver_to(queue_); }

void QuotaCatalog::refresh() {
  while (auto batch = queue_.try_next()) {
    if (batch->changes.empty()) break;
    for (const kube::Change& change : batch->changes) {
      if (const auto now = change.new_object<api::ElasticQuota>()) {
        set(now);
      } else {
        const auto gone = change.old_object<api::ElasticQuota>();
        remove(gone->metadata.namespace_.view(), gone->metadata.name);
      }
    }
  }
  std::erase_if(
      recent_, [&](const auto& entry) { return entry.second.until <= clock_.mono() || shows(entry.second); });
}

void QuotaCatalog::set(std::shared_ptr<const api::ElasticQuota> quota) {
  const Key key = key_of(*quota);
  if (const auto before = versions_.find(key); before != versions_.end()) unlink(before->second);
  const auto version = std::make_shared<const QuotaVersion>(std::move(quota));
  versions_[key] = version;
  link(version);
}

void QuotaCatalog::remove(std::string_view ns, std::string_view name) {
  const auto found = versions_.find(Key(ns, name));
  if (found == versions_.end()) return;
  unlink(found->second);
  versions_.erase(found);
}

void QuotaCatalog::link(const Version& version) {
  const auto& [ns, name] = key_of(*version->object);
  namespaces_of_[name].insert(ns);
  Family& family = families_[version->terms.parent];
  family.members[name].insert(ns);
  add(family.min, version->min());
  for (const std::string& counted : version->terms.namespaces) bound_[counted].emplace(name, ns);
}

void QuotaCatalog::unlink(const Version& version) {
  const auto& [ns, name] = key_of(*version->object);
  if (const auto all = namespaces_of_.find(name); all->second.size() == 1)
    namespaces_of_.erase(all);
  else
    all->second.erase(ns);
  const auto family = families_.find(version->terms.parent);
  take(family->second.min, version->min());
  if (const auto member = family->second.members.find(name); member->second.size() == 1)
    family->second.members.erase(member);
  else
    member->second.erase(ns);
  if (family->second.members.empty()) families_.erase(family);
  for (const std::string& counted : version->terms.namespaces) {
    const auto names = bound_.find(counted);
    if (names == bound_.end()) continue;  // the annotation names it twice
    names->second.erase({name, ns});
    if (names->second.empty()) bound_.erase(names);
  }
}

QuotaCatalog::Version QuotaCatalog::find(std::string_view name) const {
  const auto namespaces = namespaces_of_.find(name);
  if (namespaces == namespaces_of_.end()) return nullptr;
  Version found;
  for (const std::string& ns : namespaces->second) {
    Version version = find(ns, name);
    if (!found || version->object->metadata.creation_timestamp < found->object->metadata.creation_timestamp)
      found = std::move(version);
  }
  return found;
}

QuotaCatalog::Version QuotaCatalog::find(std::string_view ns, std::string_view name) const {
  const auto found = versions_.find(Key(ns, name));
  return found == versions_.end() ? nullptr : found->second;
}

std::size_t QuotaCatalog::count(std::string_view name) const {
  const auto namespaces = namespaces_of_.find(name);
  return namespaces == namespaces_of_.end() ? 0 : namespaces->second.size();
}

void QuotaCatalog::for_each(const std::function<void(const QuotaVersion&)>& visit) const {
  for (const auto& [key, version] : versions_) visit(*version);
}

std::vector<QuotaCatalog::Version> QuotaCatalog::children(std::string_view parent) const {
  std::vector<Version> all;
  const auto family = families_.find(parent);
  if (family == families_.end()) return all;
  all.reserve(family->second.members.size());
  for (const auto& [name, namespaces] : family->second.members)
    all.push_back(find(*namespaces.begin(), name));
  return all;
}

api::ResourceList QuotaCatalog::min_of_children(std::string_view parent) const {
  const auto family = families_.find(parent);
  return family == families_.end() ? api::ResourceList() : family->second.min;
}

QuotaCatalog::Version QuotaCatalog::of_namespace(std::string_view ns) const {
  const auto names = bound_.find(ns);
  if (names == bound_.end()) return nullptr;
  const auto& [name, where] = *names->second.begin();
  return find(where, name);
}

bool QuotaCatalog::shows(const Recent& recent) const {
  const api::ObjectMeta& admitted = recent.version->object->metadata;
  const Version now = find(admitted.namespace_.view(), admitted.name);
  if (!now) return recent.removed;
  const auto before = number(admitted.resource_version),
             after = number(now->object->metadata.resource_version);
  if (admitted.resource_version.empty()) return true;  // it was to be made
  return before && after && *after > *before;
}

bool QuotaCatalog::add_recent(Recent recent) {
  const Key key = key_of(*recent.version->object);
  if (recent_.size() >= kMaxRecent && !recent_.contains(key)) return false;
  recent.until = clock_.mono() + kRemembered;
  recent_[key] = std::move(recent);
  return true;
}

bool QuotaCatalog::remember(Version admitted) { return add_recent({std::move(admitted)}); }

bool QuotaCatalog::remember_removed(Version removed) { return add_recent({std::move(removed), true}); }

std::vector<QuotaCatalog::Version> QuotaCatalog::recent(std::string_view name) const {
  std::vector<Version> all;
  for (const auto& [key, recent] : recent_)
    if (!recent.removed && key.second == name) all.push_back(recent.version);
  return all;
}

std::vector<QuotaCatalog::Version> QuotaCatalog::recent_children(std::string_view parent) const {
  std::vector<Version> all;
  for (const auto& [key, recent] : recent_)
    if (!recent.removed && recent.version->terms.parent == parent) all.push_back(recent.version);
  return all;
}

bool QuotaCatalog::recently_removed(std::string_view name) const {
  return std::ranges::any_of(
      recent_, [&](const auto& entry) { return entry.second.removed && entry.first.second == name; });
}

QuotaCatalog::Version QuotaCatalog::recent_of_namespace(std::string_view ns, std::string_view except) const {
  for (const auto& [key, recent] : recent_)
    if (!recent.removed && key.second != except &&
        std::ranges::find(recent.version->terms.namespaces, ns) != recent.version->terms.namespaces.end())
      return recent.version;
  return nullptr;
}

}  // namespace koord::manager
