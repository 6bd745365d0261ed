// Slots: typed places for what plugins keep with something of the engine's, which knows none of the types.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace koord::scheduling {

/// At most one object of each type, const and not const being two; most have none, and then it is a pointer
/// in size. A copy points to the same objects. No lock of its own.
class Slots {
 public:
  Slots() = default;
  Slots(const Slots& other)
      : entries_(other.entries_ ? std::make_unique<Entries>(*other.entries_) : nullptr) {}
  Slots(Slots&&) noexcept = default;
  Slots& operator=(Slots other) noexcept {
    entries_ = std::move(other.entries_);
    return *this;
  }
  ~Slots() = default;

  /// nullptr: nothing is kept.
  template <class T>
  T* find() const {
    const Entry* entry = at(&kKey<T>);
    return entry != nullptr ? static_cast<T*>(entry->object.get()) : nullptr;
  }
  template <class T>
  std::shared_ptr<T> share() const {
    const Entry* entry = at(&kKey<T>);
    return entry != nullptr ? std::static_pointer_cast<T>(entry->object) : nullptr;
  }
  /// In place of what was there; nullptr: nothing.
  template <class T>
  void put(std::shared_ptr<T> object) {
    put(&kKey<T>, std::const_pointer_cast<std::remove_const_t<T>>(std::move(object)));
  }
  bool empty() const { return entries_ == nullptr; }

 private:
  /// Its address stands for the type.
  template <class T>
  static constexpr char kKey = 0;
  struct Entry {
    const char* key;
    std::shared_ptr<void> object;
  };
  using Entries = std::vector<Entry>;

  Entry* at(const char* key) const {
    if (entries_)
      for (Entry& entry : *entries_)
        if (entry.key == key) return &entry;
    return nullptr;
  }
  void put(const char* key, std::shared_ptr<void> object) {
    if (Entry* entry = at(key)) {
      if (object != nullptr) return entry->object.swap(object);
      *entry = std::move(entries_->back());
      entries_->pop_back();
      if (entries_->empty()) entries_.reset();
    } else if (object != nullptr) {
      if (!entries_) entries_ = std::make_unique<Entries>();
      entries_->reserve(1);
      entries_->push_back({key, std::move(object)});
    }
  }

  std::unique_ptr<Entries> entries_;
};

}  // namespace koord::scheduling
