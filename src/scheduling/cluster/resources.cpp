// Resources by number: see resources.hpp.
#include "koord/scheduling/cluster/resources.hpp"

#include <algorithm>
#include <iterator>

namespace koord::scheduling {

namespace {
constexpr std::string_view kFixed[] = {"cpu", "memory", "ephemeral-storage", "pods"};
}

ResourceId fixed_resource(std::string_view name) {
  const auto* found = std::find(std::begin(kFixed), std::end(kFixed), name);
  return found == std::end(kFixed) ? kFirstScalar : static_cast<ResourceId>(found - std::begin(kFixed));
}

ResourceNames::ResourceNames() {
  for (std::string_view name : kFixed) id(name);
  // Nobody's name has a space.
  for (std::string_view name : {"cpu, or its default", "memory, or its default"}) id(name);
}

ResourceId ResourceNames::id(std::string_view name) {
  auto it = index_.find(name);
  if (it != index_.end()) return it->second;
  auto id = static_cast<ResourceId>(names_.size());
  if (free_.empty()) {
    names_.emplace_back(name);
  } else {
    id = free_.back();
    free_.pop_back();
    names_[id] = Symbol(name);
  }
  index_.emplace(names_[id].view(), id);
  return id;
}

void ResourceNames::keep(const std::vector<bool>& used, std::size_t apart) {
  for (ResourceId id = kFirstScalar; id < names_.size(); ++id) {
    if (used[id] || names_[id].empty()) continue;
    index_.erase(names_[id].view());
    names_[id] = Symbol();
    free_.push_back(id);
  }
  crowded_at_ = known() + std::max({kFew, known(), apart});
}

namespace {

/// Kubernetes' own names: without a domain, or with kubernetes.io in it.
bool is_native(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}

}  // namespace

bool is_extended_resource(std::string_view name) {
  // A quota's name is the resource's with "requests." before it and must be a valid name too, so the
  // limits of 253 and 63 characters apply to the longer one.
  if (is_native(name) || name.starts_with("requests.")) return false;
  std::size_t slash = name.find('/');
  return slash + std::string_view("requests.").size() <= 253 && name.size() - slash - 1 <= 63 &&
         name.find('/', slash + 1) == std::string_view::npos;
}

bool is_scalar_resource(std::string_view name) {
  return name.starts_with("hugepages-") || name.find("kubernetes.io/") != std::string_view::npos ||
         name.starts_with("attachable-volumes-") || is_extended_resource(name);
}

std::int64_t Requests::operator[](ResourceId id) const {
  switch (id) {
    case kCpu: return cpu;
    case kMemory: return memory;
    case kStorage: return storage;
    case kPods: return 1;
    case kNonzeroCpu: return nonzero_cpu;
    case kNonzeroMemory: return nonzero_memory;
    default: break;
  }
  const auto at = std::lower_bound(scalars.begin(), scalars.end(), id,
                                   [](const Amount& a, ResourceId wanted) { return a.resource < wanted; });
  return at != scalars.end() && at->resource == id ? at->amount : 0;
}

}  // namespace koord::scheduling
