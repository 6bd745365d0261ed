// What is wrong with data from outside, in so many words and no more.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace koord::api {

/// Where a list's element stands, for messages: "PATH.LIST[3]". It becomes text only where one is made.
struct ListPlace {
  std::string_view path;
  std::string_view list = {};
  std::optional<std::size_t> index = {};

  /// "PATH.LIST[3].FIELD", without what is empty.
  std::string text(std::string_view field = {}) const;
};

/// Collects errors. The first twenty are put into words, the others are counted: a list of a hundred
/// thousand wrong values costs as many checks and twenty texts.
class ErrorTexts {
 public:
  static constexpr std::size_t kMost = 20;

  /// How many are put into words; none for who asks only whether something is wrong.
  explicit ErrorTexts(std::size_t most = kMost) : most_(most) {}

  /// `make()` is called for the text if it is wanted.
  template <class Make>
  void add(const Make& make) {
    if (count_++ < most_) keep(make());
  }
  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  /// In order, each once.
  std::span<const std::string> texts() const { return texts_; }
  /// As Kubernetes prints an aggregate: one text as it is, several as "[a, b]"; "[a, b, and 3 more]".
  std::string aggregate() const;

 private:
  void keep(std::string text);

  std::size_t most_;
  std::size_t count_ = 0;
  std::vector<std::string> texts_;
};

}  // namespace koord::api
