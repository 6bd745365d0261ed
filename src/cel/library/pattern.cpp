// Patterns over RE2, which Go's package descends from: one syntax, and errors that differ in words only.
#include "koord/cel/pattern.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

namespace koord::cel {
namespace {

std::string_view words_of(RE2::ErrorCode code) {
  switch (code) {
    case RE2::ErrorBadEscape: return "invalid escape sequence";
    case RE2::ErrorBadCharClass: return "invalid character class";
    case RE2::ErrorBadCharRange: return "invalid character class range";
    case RE2::ErrorMissingBracket: return "missing closing ]";
    case RE2::ErrorMissingParen: return "missing closing )";
    case RE2::ErrorUnexpectedParen: return "unexpected )";
    case RE2::ErrorTrailingBackslash: return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument: return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize: return "invalid repeat count";
    case RE2::ErrorRepeatOp: return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp: return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8: return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture: return "invalid named capture";
    case RE2::ErrorPatternTooLarge: return "expression too large";
    default: return "regexp/syntax: internal error";
  }
}

}  // namespace

Pattern::Pattern(std::unique_ptr<re2::RE2> program) : program_(std::move(program)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string_view text, std::size_t memory) {
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(static_cast<std::int64_t>(memory));
  auto program = std::make_unique<RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (!program->ok()) {
    // RE2 shows nothing of what is too large.
    const std::string& part = program->error_arg();
    return Error(Code::invalid, fmt::format("error parsing regexp: {}: `{}`", words_of(program->error_code()),
                                            part.empty() ? text : std::string_view(part)));
  }
  return Pattern(std::move(program));
}

bool Pattern::found_in(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *program_);
}

std::optional<std::string_view> Pattern::find(std::string_view text, std::size_t from) const {
  re2::StringPiece found;
  if (!program_->Match(re2::StringPiece(text.data(), text.size()), from, text.size(), RE2::UNANCHORED, &found,
                       1))
    return std::nullopt;
  return std::string_view(found.data(), found.size());
}

std::size_t Pattern::size() const { return static_cast<std::size_t>(std::max(program_->ProgramSize(), 1)); }
const std::string& Pattern::text() const { return program_->pattern(); }

}  // namespace koord::cel
