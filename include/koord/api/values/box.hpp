// Box<T>: a nullable value on the heap that copies and compares as a value.
#pragma once

#include <memory>
#include <utility>

namespace koord::api {

/// For parts of an object that are absent in most objects: costs one pointer while absent, and unlike
/// unique_ptr it copies deeply, so that the structs which hold it stay plain values.
template <class T>
class Box {
 public:
  using value_type = T;

  Box() = default;
  Box(T value) : ptr_(std::make_unique<T>(std::move(value))) {}  // NOLINT: as std::optional
  Box(const Box& other) : ptr_(other.ptr_ ? std::make_unique<T>(*other.ptr_) : nullptr) {}
  Box(Box&&) noexcept = default;
  Box& operator=(const Box& other) {
    if (this != &other) ptr_ = other.ptr_ ? std::make_unique<T>(*other.ptr_) : nullptr;
    return *this;
  }
  Box& operator=(Box&&) noexcept = default;
  ~Box() = default;

  explicit operator bool() const { return ptr_ != nullptr; }
  bool has_value() const { return ptr_ != nullptr; }
  T& operator*() { return *ptr_; }
  const T& operator*() const { return *ptr_; }
  T* operator->() { return ptr_.get(); }
  const T* operator->() const { return ptr_.get(); }
  /// nullptr while absent.
  T* get() { return ptr_.get(); }
  const T* get() const { return ptr_.get(); }

  /// Replaces the value by a new one.
  template <class... Args>
  T& emplace(Args&&... args) {
    ptr_ = std::make_unique<T>(std::forward<Args>(args)...);
    return *ptr_;
  }
  /// The value, made first if it is absent.
  T& ensure() { return ptr_ ? *ptr_ : emplace(); }
  void reset() { ptr_.reset(); }

  friend bool operator==(const Box& a, const Box& b) {
    return a.ptr_ && b.ptr_ ? *a.ptr_ == *b.ptr_ : a.ptr_ == b.ptr_;
  }

 private:
  std::unique_ptr<T> ptr_;
};

}  // namespace koord::api
