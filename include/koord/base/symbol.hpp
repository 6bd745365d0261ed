// Symbol: an interned immutable string, for texts that repeat (namespaces, label keys, node names).
#pragma once

#include <atomic>
#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace koord {

/// Eight bytes; equal texts share one counted entry of a process-wide table, so copies are cheap,
/// equality is a pointer comparison, and a text that nobody holds any more is freed. Making one from
/// text costs a look-up under a (sharded) mutex. Thread-safe like a shared_ptr: distinct Symbols may be
/// used from any thread.
class Symbol {
 public:
  Symbol() noexcept = default;  // the empty text
  Symbol(std::string_view text) : entry_(text.empty() ? nullptr : intern(text)) {}
  Symbol(const char* text) : Symbol(std::string_view(text)) {}
  Symbol(const std::string& text) : Symbol(std::string_view(text)) {}
  Symbol(const Symbol& other) noexcept : entry_(other.entry_) {
    if (entry_ != nullptr) entry_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Symbol(Symbol&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  Symbol& operator=(Symbol other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~Symbol() {
    if (entry_ != nullptr) release(entry_);
  }

  /// Valid as long as any Symbol of this text exists.
  std::string_view view() const noexcept {
    return entry_ == nullptr ? std::string_view() : std::string_view(entry_->text(), entry_->size);
  }
  std::string str() const { return std::string(view()); }
  operator std::string_view() const noexcept { return view(); }
  bool empty() const noexcept { return entry_ == nullptr; }
  std::size_t size() const noexcept { return entry_ == nullptr ? 0 : entry_->size; }

  friend bool operator==(const Symbol& a, const Symbol& b) noexcept { return a.entry_ == b.entry_; }
  /// By text, so that sorted output does not depend on addresses.
  friend std::strong_ordering operator<=>(const Symbol& a, const Symbol& b) noexcept {
    return a == b ? std::strong_ordering::equal : a.view() <=> b.view();
  }
  template <class T>
    requires(!std::same_as<T, Symbol> && std::convertible_to<const T&, std::string_view>)
  friend bool operator==(const Symbol& a, const T& b) noexcept {
    return a.view() == std::string_view(b);
  }
  template <class T>
    requires(!std::same_as<T, Symbol> && std::convertible_to<const T&, std::string_view>)
  friend std::strong_ordering operator<=>(const Symbol& a, const T& b) noexcept {
    return a.view() <=> std::string_view(b);
  }

  /// Of the text's identity, not of its bytes: differs from run to run.
  std::size_t hash() const noexcept { return std::hash<const void*>{}(entry_); }
  /// The number of texts in the table, for tests and metrics.
  static std::size_t live();

 private:
  struct Entry {
    std::atomic<std::uint32_t> refs;
    std::uint32_t size;
    std::size_t hash;
    const char* text() const noexcept { return reinterpret_cast<const char*>(this + 1); }
  };
  friend struct SymbolTable;
  static Entry* intern(std::string_view text);
  static void release(Entry* entry) noexcept;

  Entry* entry_ = nullptr;
};

}  // namespace koord

template <>
struct std::hash<koord::Symbol> {
  std::size_t operator()(const koord::Symbol& s) const noexcept { return s.hash(); }
};
