// RecentNodes: see recent_nodes.hpp.
#include "migration/jobs/recent_nodes.hpp"

#include <algorithm>

namespace koord::descheduler::migration {

void RecentNodes::note(std::string_view workload, std::string_view node, WallTime at) {
  if (workload.empty() || node.empty()) return;
  std::vector<Noted>& all = noted_[std::string(workload)];
  if (const auto it = std::ranges::find(all, node, &Noted::node); it != all.end())
    it->at = std::max(it->at, at);
  else
    all.push_back({std::string(node), at});
  if (all.size() > kMost) all.erase(std::ranges::min_element(all, {}, &Noted::at));
}

bool RecentNodes::has(std::string_view workload, std::string_view node, WallTime now) const {
  const auto it = noted_.find(std::string(workload));
  return it != noted_.end() && std::ranges::any_of(it->second, [&](const Noted& noted) {
           return noted.node == node && now - noted.at <= kept_;
         });
}

std::vector<std::string> RecentNodes::of(std::string_view workload, WallTime now) const {
  std::vector<std::string> nodes;
  if (const auto it = noted_.find(std::string(workload)); it != noted_.end())
    for (const Noted& noted : it->second)
      if (now - noted.at <= kept_) nodes.push_back(noted.node);
  std::ranges::sort(nodes);
  return nodes;
}

void RecentNodes::forget_before(WallTime now) {
  for (auto& [workload, all] : noted_)
    std::erase_if(all, [&](const Noted& noted) { return now - noted.at > kept_; });
  std::erase_if(noted_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace koord::descheduler::migration
