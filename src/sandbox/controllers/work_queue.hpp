// WorkQueue: the keys that a controller looks at soon, or at a time.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "sandbox/base/wheel.hpp"

namespace koord::sandbox {

/// A key that is added several times before its turn is looked at once; of several later times the first one
/// counts. On the sandbox's loop.
template <class Key>
class WorkQueue {
 public:
  WorkQueue(Clock& clock, std::function<void(const Key&)> sync)
      : clock_(clock), sync_(std::move(sync)), wheel_(clock, [this](Key& key) { due(key); }) {}

  void add(const Key& key, nanoseconds after = {}) {
    if (after <= nanoseconds{0}) {
      if (dirty_.insert(key).second) wheel_.add({}, key);
      return;
    }
    const MonoTime at = clock_.mono() + after;
    const auto [armed, first] = armed_.try_emplace(key, at);
    if (!first && armed->second <= at) return;
    armed->second = at;
    wheel_.add(after, key);
  }

 private:
  void due(const Key& key) {
    dirty_.erase(key);
    if (const auto it = armed_.find(key); it != armed_.end() && it->second <= clock_.mono()) armed_.erase(it);
    sync_(key);
  }

  Clock& clock_;
  std::function<void(const Key&)> sync_;
  std::set<Key> dirty_;            // to be looked at soon
  std::map<Key, MonoTime> armed_;  // the first of the later times
  Wheel<Key> wheel_;
};

}  // namespace koord::sandbox
