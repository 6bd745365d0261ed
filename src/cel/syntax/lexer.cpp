#include "cel/syntax/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace koord::cel {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool hex_digit(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  Lexer(std::string_view source, Mistakes& mistakes) : source_(source), mistakes_(mistakes) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (true) {
      skip();
      Token token;
      token.offset = static_cast<std::int64_t>(at_);
      const std::size_t from = at_;
      if (at_ == source_.size()) {
        token.text = "<EOF>";
        tokens.push_back(token);
        return tokens;
      }
      if (!read(token)) continue;
      token.text = source_.substr(from, at_ - from);
      tokens.push_back(token);
    }
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  bool starts(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void skip() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        ++at_;
      } else if (starts("//")) {
        at_ = std::min(source_.find('\n', at_), source_.size());
      } else {
        return;
      }
    }
  }

  bool read(Token& token) {
    if (const std::size_t prefix = text_prefix(); prefix != std::string_view::npos)
      return read_text(token, prefix);
    const char c = peek();
    if (letter(c)) {
      while (letter(peek()) || digit(peek())) ++at_;
      const std::string_view word = source_.substr(static_cast<std::size_t>(token.offset),
                                                   at_ - static_cast<std::size_t>(token.offset));
      const bool symbol = word == "in" || word == "true" || word == "false" || word == "null";
      token.kind = symbol ? Token::Kind::symbol : Token::Kind::ident;
      return true;
    }
    if (digit(c) || (c == '.' && digit(peek(1)))) return read_number(token);
    if (c == '`') return read_escaped(token);
    static constexpr std::array<std::string_view, 6> kPairs = {"==", "!=", "<=", ">=", "&&", "||"};
    for (const std::string_view pair : kPairs)
      if (starts(pair)) {
        at_ += 2;
        token.kind = Token::Kind::symbol;
        return true;
      }
    if (std::string_view("[]{}().,-!?:+*/%<>").find(c) != std::string_view::npos) {
      ++at_;
      token.kind = Token::Kind::symbol;
      return true;
    }
    return unknown(at_, at_ + width());
  }

  std::size_t width() const {
    const auto byte = static_cast<unsigned char>(peek());
    const std::size_t size = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return std::min(size, source_.size() - at_);
  }

  bool unknown(std::size_t from, std::size_t to) {
    std::string shown;
    for (const char c : source_.substr(from, to - from))
      shown += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : std::string(1, c);
    mistakes_.add(static_cast<std::int64_t>(from),
                  fmt::format("Syntax error: token recognition error at: '{}'", shown));
    at_ = to;
    return false;
  }

  bool read_number(Token& token) {
    token.kind = Token::Kind::integer;
    if (peek() == '0' && peek(1) == 'x' && hex_digit(peek(2))) {
      at_ += 2;
      while (hex_digit(peek())) ++at_;
    } else {
      while (digit(peek())) ++at_;
      if (peek() == '.' && digit(peek(1))) {
        token.kind = Token::Kind::real;
        ++at_;
        while (digit(peek())) ++at_;
      }
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 2 : 1;
      if ((peek() == 'e' || peek() == 'E') && digit(peek(sign))) {
        token.kind = Token::Kind::real;
        at_ += sign;
        while (digit(peek())) ++at_;
      }
      if (token.kind == Token::Kind::real) return true;
    }
    if (peek() == 'u' || peek() == 'U') {
      ++at_;
      token.kind = Token::Kind::unsigned_integer;
    }
    return true;
  }

  bool read_escaped(Token& token) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && (letter(source_[end]) || digit(source_[end]) ||
                                    std::string_view(".-/ ").find(source_[end]) != std::string_view::npos))
      ++end;
    if (end >= source_.size() || source_[end] != '`' || end == at_ + 1)
      return unknown(at_, std::min(end + 1, source_.size()));
    at_ = end + 1;
    token.kind = Token::Kind::escaped;
    return true;
  }

  /// How many letters (b, r) stand before a quotation mark here; npos if none does.
  std::size_t text_prefix() const {
    std::size_t size = 0;
    if (peek() == 'b' || peek() == 'B') ++size;
    if (peek(size) == 'r' || peek(size) == 'R') ++size;
    return peek(size) == '"' || peek(size) == '\'' ? size : std::string_view::npos;
  }

  bool read_text(Token& token, std::size_t prefix) {
    const std::size_t from = at_;
    const bool bytes = prefix > 0 && (peek() == 'b' || peek() == 'B');
    const bool raw = prefix > 0 && (peek(prefix - 1) == 'r' || peek(prefix - 1) == 'R');
    at_ += prefix;
    const char mark = peek();
    const std::string_view triple = mark == '"' ? "\"\"\"" : "'''";
    const bool is_triple = starts(triple);
    at_ += is_triple ? 3 : 1;
    while (at_ < source_.size()) {
      if (is_triple ? starts(triple) : peek() == mark) {
        at_ += is_triple ? 3 : 1;
        token.kind = bytes ? Token::Kind::bytes : Token::Kind::string;
        return true;
      }
      if (!is_triple && (peek() == '\n' || peek() == '\r')) break;
      if (!raw && peek() == '\\') {
        const std::size_t size = escape_size();
        if (size == 0) break;
        at_ += size;
        continue;
      }
      ++at_;
    }
    if (at_ < source_.size() && peek() == '\\') ++at_;
    if (at_ < source_.size()) at_ += width();
    return unknown(from, at_);
  }

  /// Bytes of the escape that begins here, 0 if it is none.
  std::size_t escape_size() const {
    const auto hex = [&](std::size_t count) {
      for (std::size_t i = 2; i < 2 + count; ++i)
        if (!hex_digit(peek(i))) return std::size_t{0};
      return count + 2;
    };
    const char c = peek(1);
    if (std::string_view("abfnrtv\"'\\?`").find(c) != std::string_view::npos && c != '\0') return 2;
    if (c == 'x' || c == 'X') return hex(2);
    if (c == 'u') return hex(4);
    if (c == 'U') return hex(8);
    const auto octal = [](char d) { return d >= '0' && d <= '7'; };
    return c >= '0' && c <= '3' && octal(peek(2)) && octal(peek(3)) ? 4 : 0;
  }

  std::string_view source_;
  Mistakes& mistakes_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source, Mistakes& mistakes) {
  return Lexer(source, mistakes).run();
}

}  // namespace koord::cel
