// Complaints: see complaints.hpp.
#include "koord/scheduling/plugin/complaints.hpp"

#include <fmt/format.h>

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::scheduling {

void Complaints::say(std::string_view kind, const api::ObjectMeta& object, std::string_view what) {
  if (!tell_) return;
  what = what.substr(0, kMostText);
  const std::size_t text = std::hash<std::string_view>()(what);
  std::string key = fmt::format("{}/{}", kind, object.uid.empty() ? object.name : object.uid);
  const auto [it, added] = said_.try_emplace(key, text);
  if (!added && it->second == text) return;
  it->second = text;
  if (added) {
    order_.push_back(std::move(key));
    if (order_.size() > kMost) {
      said_.erase(order_.front());
      order_.pop_front();
    }
  }
  tell_(kind, object, what);
}

}  // namespace koord::scheduling
