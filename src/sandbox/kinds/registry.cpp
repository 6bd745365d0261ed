// The table of kinds at run time.
#include <fmt/format.h>

#include <stdexcept>

#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {
namespace {

std::string join(std::string_view a, std::string_view b, std::string_view c) {
  return fmt::format("{}|{}|{}", a, b, c);
}

}  // namespace

Registry::KindPtr Registry::find(std::string_view group, std::string_view version,
                                 std::string_view resource) const {
  auto it = by_resource_.find(join(group, version, resource));
  return it == by_resource_.end() ? nullptr : it->second;
}

Registry::KindPtr Registry::find_kind(std::string_view api_version, std::string_view kind) const {
  auto it = by_kind_.find(join(api_version, kind, ""));
  return it == by_kind_.end() ? nullptr : it->second;
}

const Kind& Registry::get(std::string_view group, std::string_view resource) const {
  for (const KindPtr& kind : kinds_)
    if (kind->group == group && kind->resource == resource) return *kind;
  throw std::logic_error(fmt::format("no kind {}.{}", resource, group));
}

void Registry::add(Kind kind) {
  remove(kind.group, kind.version, kind.resource);
  auto shared = std::make_shared<const Kind>(std::move(kind));
  kinds_.push_back(shared);
  by_resource_[join(shared->group, shared->version, shared->resource)] = shared;
  by_kind_[join(shared->api_version(), shared->kind, "")] = shared;
  ++revision_;
}

void Registry::remove(std::string_view group, std::string_view version, std::string_view resource) {
  auto it = by_resource_.find(join(group, version, resource));
  if (it == by_resource_.end()) return;
  KindPtr kind = it->second;
  by_resource_.erase(it);
  by_kind_.erase(join(kind->api_version(), kind->kind, ""));
  std::erase(kinds_, kind);
  ++revision_;
}

}  // namespace koord::sandbox
