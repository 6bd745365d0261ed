// Pattern: a regular expression of a schema or of an expression, compiled once and matched in linear time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace re2 {
class RE2;
}

namespace koord::cel {

/// Go's regular expressions, which Kubernetes compiles patterns with. Immutable; matching is safe from any
/// thread.
class Pattern {
 public:
  /// `memory` bounds the program and the automaton that matching builds, in bytes. An error (Code::invalid)
  /// has the words of Go's regexp.Compile.
  static Result<Pattern> compile(std::string_view text, std::size_t memory);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  /// Anywhere in the text, unless the pattern is anchored.
  bool found_in(std::string_view text) const;
  /// The leftmost match that begins at the byte `from` or later, a part of `text`.
  std::optional<std::string_view> find(std::string_view text, std::size_t from = 0) const;
  /// Instructions: matching a text takes at most its bytes times this.
  std::size_t size() const;
  const std::string& text() const;

 private:
  explicit Pattern(std::unique_ptr<re2::RE2> program);
  std::unique_ptr<re2::RE2> program_;
};

}  // namespace koord::cel
