// Members: an object's members by name, for look-ups of many names.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "koord/json/value.hpp"

namespace koord::sandbox {

/// `V` is json::Value or const json::Value. n log n together, whoever chose the names. Valid until the object
/// gains or loses a member. Empty for what is no object.
template <class V>
class Members {
 public:
  using Member = std::conditional_t<std::is_const_v<V>, const json::Member, json::Member>;

  explicit Members(V& object) : members_(object.members()) {
    if (members_.size() <= kFew) return;
    sorted_.reserve(members_.size());
    for (Member& member : members_) sorted_.push_back(&member);
    std::sort(sorted_.begin(), sorted_.end(),
              [](const Member* a, const Member* b) { return a->key() < b->key(); });
  }

  V* find(std::string_view name) const {
    if (sorted_.empty()) {
      for (Member& member : members_)
        if (member.key() == name) return &member.value;
      return nullptr;
    }
    const auto it =
        std::lower_bound(sorted_.begin(), sorted_.end(), name,
                         [](const Member* member, std::string_view key) { return member->key() < key; });
    return it != sorted_.end() && (*it)->key() == name ? &(*it)->value : nullptr;
  }

 private:
  static constexpr std::size_t kFew = 16;  // looking through so many is faster
  std::span<Member> members_;
  std::vector<Member*> sorted_;
};

/// Gives `object` the members of `extra`, by copies; those that it has stay as they are unless `replace`.
inline void add_members(json::Value& object, const json::Value& extra, bool replace, json::Arena& arena) {
  const Members known(object);
  std::vector<const json::Member*> added;
  for (const json::Member& member : extra.members()) {
    json::Value* old = known.find(member.key());
    if (!old)
      added.push_back(&member);
    else if (replace)
      *old = json::clone(member.value, arena);
  }
  for (const json::Member* member : added)
    object.append(member->key(), json::clone(member->value, arena), arena);
}

}  // namespace koord::sandbox
