// RefCache: things that are made by key and shared, by counted references.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace koord::scheduling::pod_topology_spread {

template <class T>
class RefCache;

/// What a cache asks of what it holds, besides `std::size_t bytes() const`.
template <class T>
class RefCached {
 private:
  friend RefCache<T>;
  template <class U>
  friend void intrusive_ptr_add_ref(RefCached<U>* held);
  template <class U>
  friend void intrusive_ptr_release(RefCached<U>* held);
  RefCache<T>* cache_ = nullptr;
  const std::string* cache_key_ = nullptr;
  std::uint32_t users_ = 0;
  std::size_t idle_bytes_ = 0;
  typename std::list<T*>::iterator idle_;
};

template <class T>
void intrusive_ptr_add_ref(RefCached<T>* held) {
  ++held->users_;
}
template <class T>
void intrusive_ptr_release(RefCached<T>* held) {
  if (--held->users_ == 0) held->cache_->release(static_cast<T&>(*held));
}
/// Holds a T for as long as somebody reads it.
template <class T>
using Ref = boost::intrusive_ptr<T>;

/// Those that nobody holds are remembered by age while they take no more than limit() bytes. Outlives the
/// references.
template <class T>
class RefCache {
 public:
  /// What has this key; if nothing has, a T is made of the arguments.
  template <class... Arguments>
  Ref<T> find(std::string_view key, Arguments&&... arguments) {
    lookup_.assign(key);
    const auto [it, added] = all_.try_emplace(lookup_, std::forward<Arguments>(arguments)...);
    T& found = it->second;
    if (added) {
      found.cache_ = this;
      found.cache_key_ = &it->first;
    } else if (found.users_ == 0) {
      take_off(found);
    }
    return Ref<T>(&found);
  }
  /// In no order.
  template <class F>
  void each(F&& f) {
    for (auto& [key, held] : all_) f(held);
  }
  void limit(std::size_t bytes) { limit_ = bytes; }
  std::size_t size() const { return all_.size(); }

 private:
  template <class U>
  friend void intrusive_ptr_release(RefCached<U>* held);
  void take_off(T& idle) {
    idle_.erase(idle.idle_);
    bytes_ -= idle.idle_bytes_;
  }
  void release(T& held) {
    held.idle_ = idle_.insert(idle_.end(), &held);
    held.idle_bytes_ = held.bytes();
    bytes_ += held.idle_bytes_;
    while (bytes_ > limit_) {
      T& oldest = *idle_.front();
      take_off(oldest);
      all_.erase(all_.find(*oldest.cache_key_));
    }
  }

  std::unordered_map<std::string, T> all_;
  std::list<T*> idle_;  // the longest unused first
  std::size_t bytes_ = 0, limit_ = std::size_t{1} << 20;
  std::string lookup_;  // reused
};

}  // namespace koord::scheduling::pod_topology_spread
