// AskClasses: see ask_classes.hpp.
#include "scheduling/plugins/dynamic_resources/nodes/ask_classes.hpp"

#include <algorithm>

#include "koord/api/schema/codec.hpp"

namespace koord::scheduling::dynamic_resources {

std::shared_ptr<AskClass> AskClasses::of(std::span<const api::ResourceClaim* const> claims) {
  key_.clear();
  bool prioritized = false;
  for (const api::ResourceClaim* claim : claims) {
    // A document ends where its braces do, so that two lists of them do not read alike.
    key_ += api::encode(&claim->spec, api::schema<api::ResourceClaimSpec>());
    for (const api::DeviceRequest& request : claim->spec.devices.requests)
      prioritized = prioritized || !request.first_available.empty();
  }
  const auto [known, added] = classes_.try_emplace(key_);
  if (added) {
    known->second = std::make_shared<AskClass>();
    known->second->prioritized = prioritized;
  }
  known->second->used = ++uses_;
  std::shared_ptr<AskClass> found = known->second;
  if (added) make_room();
  return found;
}

/// Looks at all of them: that is done once for a class that is new.
void AskClasses::make_room() {
  const auto cells = [&] {
    std::size_t sum = 0;
    for (const auto& [key, each] : classes_) sum += each->cells().size() + 8 * each->numa.size();
    return sum;
  };
  while (classes_.size() > 1 && (cells() > kMostCells || classes_.size() > kMostCells / 64))
    classes_.erase(
        std::ranges::min_element(classes_, {}, [](const auto& each) { return each.second->used; }));
}

}  // namespace koord::scheduling::dynamic_resources
