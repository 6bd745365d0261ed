// TickSlots: what collectors show in a tick's view beside what every node has; the type of a value is its
// key.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/typed_slots.hpp"

namespace koord::koordlet {

/// Points to what collectors keep: as valid as the view that it is part of.
class TickSlots {
 public:
  /// Null: nobody shows it, or it is not known now.
  template <class T>
  const T* find() const {
    const std::size_t number = SlotNumber<TickSlots>::of<T>();
    return number < slots_.size() ? static_cast<const T*>(slots_[number].value) : nullptr;
  }
  /// When what is shown was read, or asked for; nothing where nothing is shown.
  template <class T>
  std::optional<MonoTime> read_at() const {
    if (find<T>() == nullptr) return std::nullopt;
    return slots_[SlotNumber<TickSlots>::of<T>()].read_at;
  }
  /// Null takes away what was shown. Allocates only for a type that is new here.
  template <class T>
  void show(const T* value, MonoTime read_at) {
    const std::size_t number = SlotNumber<TickSlots>::of<T>();
    if (number >= slots_.size()) slots_.resize(number + 1);
    slots_[number] = {value, read_at};
  }

 private:
  struct Slot {
    const void* value = nullptr;
    MonoTime read_at;
  };
  std::vector<Slot> slots_;
};

}  // namespace koord::koordlet
