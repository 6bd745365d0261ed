// List<T>: a vector that costs one pointer while it is empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace koord::api {

/// Objects have many lists and most are empty, so size and capacity lie in front of the elements on the
/// heap. Otherwise a std::vector, with which it converts both ways; the interface is the part in use.
template <class T>
class List {
  struct Head {
    uint32_t size;
    uint32_t capacity;
  };
  // Elements follow the head; types that want more than malloc's alignment have no place here.
  static constexpr std::size_t kOffset = std::max(sizeof(Head), alignof(std::max_align_t) / 2);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  List() = default;
  List(std::initializer_list<T> values) : List(values.begin(), values.end()) {}
  List(const std::vector<T>& values) : List(values.begin(), values.end()) {}  // NOLINT: a drop-in
  template <std::input_iterator I>
  List(I first, I last) {
    reserve(static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first) emplace_back(*first);
  }
  List(const List& other) : List(other.begin(), other.end()) {}
  List(List&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  List& operator=(List other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~List() {
    clear();
    ::operator delete(block_);
  }
  operator std::vector<T>() const { return std::vector<T>(begin(), end()); }

  bool empty() const { return size() == 0; }
  std::size_t size() const { return block_ ? head().size : 0; }
  std::size_t capacity() const { return block_ ? head().capacity : 0; }
  T* data() { return block_ ? reinterpret_cast<T*>(block_ + kOffset) : nullptr; }
  const T* data() const { return const_cast<List*>(this)->data(); }
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return *(end() - 1); }
  const T& back() const { return *(end() - 1); }

  void reserve(std::size_t wanted) {
    if (wanted > capacity()) move_to(wanted);
  }
  void shrink_to_fit() {
    if (size() < capacity()) move_to(size());
  }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size() == capacity()) {
      T value(std::forward<Args>(args)...);  // may refer to an element
      move_to(std::max<std::size_t>(1, capacity() * 2));
      return place(std::move(value));
    }
    return place(std::forward<Args>(args)...);
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  void pop_back() {
    std::destroy_at(end() - 1);
    --head().size;
  }
  T* insert(const T* at, T value) {
    const auto index = at - begin();
    emplace_back(std::move(value));
    std::rotate(begin() + index, end() - 1, end());
    return begin() + index;
  }
  T* erase(const T* at) { return erase(at, at + 1); }
  T* erase(const T* first, const T* last) {
    T* const to = begin() + (first - begin());
    T* const rest = std::move(begin() + (last - begin()), end(), to);
    truncate(static_cast<std::size_t>(rest - begin()));
    return to;
  }
  void resize(std::size_t wanted) {
    truncate(std::min(wanted, size()));
    reserve(wanted);
    while (size() < wanted) place();
  }
  template <class I>
  void assign(I first, I last) {
    *this = List(first, last);
  }
  void clear() { truncate(0); }

  friend bool operator==(const List& a, const List& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  template <class Predicate>
  friend std::size_t erase_if(List& list, Predicate predicate) {
    T* const rest = std::remove_if(list.begin(), list.end(), predicate);
    const auto removed = static_cast<std::size_t>(list.end() - rest);
    list.truncate(list.size() - removed);
    return removed;
  }

 private:
  Head& head() { return *reinterpret_cast<Head*>(block_); }
  const Head& head() const { return *reinterpret_cast<const Head*>(block_); }

  template <class... Args>
  T& place(Args&&... args) {
    T* const made = std::construct_at(end(), std::forward<Args>(args)...);
    ++head().size;
    return *made;
  }
  void truncate(std::size_t wanted) {
    if (wanted >= size()) return;
    std::destroy(begin() + wanted, end());
    head().size = static_cast<uint32_t>(wanted);
  }
  void move_to(std::size_t wanted) {
    static_assert(alignof(T) <= kOffset && std::is_nothrow_move_constructible_v<T>);
    std::byte* block = nullptr;
    const std::size_t count = size();
    if (wanted > 0) {
      block = static_cast<std::byte*>(::operator new(kOffset + wanted * sizeof(T)));
      ::new (block) Head{static_cast<uint32_t>(count), static_cast<uint32_t>(wanted)};
      std::uninitialized_move(begin(), end(), reinterpret_cast<T*>(block + kOffset));
    }
    std::destroy(begin(), end());
    ::operator delete(std::exchange(block_, block));
  }

  std::byte* block_ = nullptr;
};

}  // namespace koord::api
