// Tree: see tree.hpp.
#include "scheduling/plugins/coscheduling/topology/tree.hpp"

#include <algorithm>

namespace koord::scheduling::coscheduling::topology {

std::string Tree::key(Id parent, const std::string& name) {
  std::string key(reinterpret_cast<const char*>(&parent), sizeof parent);
  return key += name;
}

void Tree::clear() {
  domains_.assign(1, {});
  free_.clear();
  index_.clear();
  ++version_;
}

Tree::Id Tree::put(std::span<const std::string> path) {
  Id at = kRoot;
  ++domains_[at].nodes;
  for (const std::string& name : path) {
    const auto [it, made] = index_.try_emplace(key(at, name), kNone);
    if (made && free_.empty()) {
      it->second = static_cast<Id>(domains_.size());
      domains_.emplace_back();
    } else if (made) {
      it->second = free_.back();
      free_.pop_back();
    }
    const Id id = it->second;
    Domain& domain = domains_[id];
    if (made) {
      domain = {name, at, domains_[at].layer + 1, 0};
      domain.place = static_cast<std::uint32_t>(domains_[at].children.size());
      domains_[at].children.push_back(id);
    }
    ++domain.nodes;
    at = id;
  }
  ++version_;
  return at;
}

void Tree::remove(Id leaf) {
  for (Id at = leaf; at != kNone;) {
    Domain& domain = domains_[at];
    const Id parent = domain.parent;
    if (--domain.nodes == 0 && at != kRoot) {
      std::vector<Id>& siblings = domains_[parent].children;
      siblings[domain.place] = siblings.back();
      domains_[siblings.back()].place = domain.place;
      siblings.pop_back();
      index_.erase(key(parent, domain.name));
      domain = {};
      free_.push_back(at);
    }
    at = parent;
  }
  ++version_;
}

std::vector<Tree::Id> Tree::of_layer(std::size_t layer) const {
  std::vector<Id> all;
  for (Id id = 0; id < domains_.size(); ++id)
    if (domains_[id].layer == layer && (domains_[id].nodes != 0 || id == kRoot)) all.push_back(id);
  std::ranges::sort(all, {}, [this](Id id) -> const std::string& { return domains_[id].name; });
  return all;
}

void Tree::children_by_name(Id id, std::vector<Id>& out) const {
  out = domains_[id].children;
  std::ranges::sort(out, {}, [this](Id child) -> const std::string& { return domains_[child].name; });
}

}  // namespace koord::scheduling::coscheduling::topology
