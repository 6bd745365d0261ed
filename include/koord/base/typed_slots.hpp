// TypedSlots: values that a place keeps for others without knowing their types: the type itself is the key.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace koord {

/// The number of a type among those that one kind of place keeps: 0, 1, ... in the order in which they are
/// first asked for, the same for as long as the process runs. `Place` is any type that names the place, so
/// that each place's numbers are few. On any thread.
template <class Place>
class SlotNumber {
 public:
  template <class T>
  static std::size_t of() {
    static const std::size_t kNumber = next();
    return kNumber;
  }

 private:
  static std::size_t next() {
    static std::atomic<std::size_t> given{0};
    return given.fetch_add(1);
  }
};

/// One immutable value of each type, or none. Copies share the values. Looking up is one index; what is never
/// put takes no memory.
template <class Place>
class TypedSlots {
 public:
  /// Null: there is none. Valid while a copy of these slots lives that has the same value.
  template <class T>
  const T* find() const {
    const std::size_t number = SlotNumber<Place>::template of<T>();
    return number < values_.size() ? static_cast<const T*>(values_[number].get()) : nullptr;
  }
  /// Takes the place of what there was; null takes it away.
  template <class T>
  void put(std::shared_ptr<const T> value) {
    const std::size_t number = SlotNumber<Place>::template of<T>();
    if (number >= values_.size()) {
      if (value == nullptr) return;
      values_.resize(number + 1);
    }
    values_[number] = std::move(value);
  }

 private:
  std::vector<std::shared_ptr<const void>> values_;
};

}  // namespace koord
