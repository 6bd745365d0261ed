// The text of an expression and the mistakes in it, told as cel-go tells them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace koord::cel {

struct Mistake {
  std::int64_t offset;  // of a byte of the text, or -1 where none is meant
  std::string message;
};

/// Collects up to 100 and counts the rest.
class Mistakes {
 public:
  void add(std::int64_t offset, std::string message) {
    ++count_;
    if (list_.size() < kMost) list_.push_back({offset, std::move(message)});
  }
  bool empty() const { return count_ == 0; }
  /// By place, each with its line of the text and a caret.
  std::string text(std::string_view source) const;

 private:
  static constexpr std::size_t kMost = 100;
  std::vector<Mistake> list_;
  std::size_t count_ = 0;
};

}  // namespace koord::cel
