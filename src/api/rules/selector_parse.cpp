// The text form of label selectors: a scanner and a parser that accept and refuse what Kubernetes' do.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/rules/selector.hpp"
#include "koord/api/rules/validation_names.hpp"

namespace koord::api {

namespace {

enum class Token {
  error,
  end,
  close,
  comma,
  not_,
  double_equals,
  equals,
  greater,
  identifier,
  in,
  less,
  not_equals,
  not_in,
  open
};

struct Item {
  Token token = Token::end;
  std::string_view text;
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_symbol(char c) { return std::string_view("=!(),><").find(c) != std::string_view::npos; }

Token symbol_token(std::string_view s) {
  if (s == ")") return Token::close;
  if (s == ",") return Token::comma;
  if (s == "!") return Token::not_;
  if (s == "==") return Token::double_equals;
  if (s == "=") return Token::equals;
  if (s == ">") return Token::greater;
  if (s == "<") return Token::less;
  if (s == "!=") return Token::not_equals;
  if (s == "(") return Token::open;
  return Token::error;
}

std::vector<Item> scan(std::string_view text) {
  std::vector<Item> out;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && is_space(text[at])) ++at;
    if (at == text.size()) break;
    const std::size_t start = at;
    if (is_symbol(text[at])) {
      // Every symbol alone is a token; "==" and "!=" are the only longer ones.
      at += symbol_token(text.substr(at, 2)) != Token::error && at + 2 <= text.size() ? 2 : 1;
      out.push_back({symbol_token(text.substr(start, at - start)), text.substr(start, at - start)});
    } else {
      while (at < text.size() && !is_symbol(text[at]) && !is_space(text[at])) ++at;
      const std::string_view word = text.substr(start, at - start);
      out.push_back({word == "in" ? Token::in : word == "notin" ? Token::not_in : Token::identifier, word});
    }
  }
  out.push_back({});
  return out;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : items_(scan(text)) {}

  Result<std::vector<SelectorRequirement>> parse() {
    std::vector<SelectorRequirement> out;
    for (;;) {
      const Item first = peek();
      if (first.token == Token::end) return out;
      if (first.token != Token::identifier && first.token != Token::not_)
        return found(first, ", expected: !, identifier, or 'end of string'");
      auto requirement = parse_requirement();
      if (!requirement) return std::move(requirement).error().context("unable to parse requirement");
      out.push_back(*std::move(requirement));
      const Item next = take();
      if (next.token == Token::end) return out;
      if (next.token != Token::comma) return found(next, ", expected: ',' or 'end of string'");
      const Item after = peek();
      if (after.token != Token::identifier && after.token != Token::not_)
        return found(after, ", expected: identifier after ','");
    }
  }

 private:
  static Error found(const Item& item, std::string_view expected) {
    return Error(Code::bad_request, fmt::format("found '{}'{}", item.text, expected));
  }

  /// As a key or value, where "in" and "notin" are ordinary words.
  Item peek() const {
    Item item = items_[std::min(at_, items_.size() - 1)];
    if (item.token == Token::in || item.token == Token::not_in) item.token = Token::identifier;
    return item;
  }
  Item take() {
    const Item item = peek();
    ++at_;
    return item;
  }
  Item take_operator() {
    const Item item = items_[std::min(at_, items_.size() - 1)];
    ++at_;
    return item;
  }

  Result<SelectorRequirement> parse_requirement() {
    Item key = take();
    const bool negated = key.token == Token::not_;
    if (negated) key = take();
    if (key.token != Token::identifier) return found(key, ", expected: identifier");
    if (const auto wrong = check_qualified_name(key.text); !wrong.empty())
      return Error(Code::bad_request, invalid_value("<nil>", key.text, join(wrong, "; ")));
    const Token next = peek().token;
    if (negated || next == Token::end || next == Token::comma)
      return SelectorRequirement::make(key.text, negated ? SelectorOp::does_not_exist : SelectorOp::exists,
                                       {});
    const Item op = take_operator();
    SelectorOp kind{};
    switch (op.token) {
      case Token::in: kind = SelectorOp::in; break;
      case Token::not_in: kind = SelectorOp::not_in; break;
      case Token::equals: kind = SelectorOp::equals; break;
      case Token::double_equals: kind = SelectorOp::double_equals; break;
      case Token::not_equals: kind = SelectorOp::not_equals; break;
      case Token::greater: kind = SelectorOp::greater_than; break;
      case Token::less: kind = SelectorOp::less_than; break;
      default: return found(op, ", expected: in, notin, =, ==, !=, gt, lt");
    }
    std::vector<Symbol> values;
    if (kind == SelectorOp::in || kind == SelectorOp::not_in) {
      KOORD_CHECK(parse_values(values));
    } else {
      KOORD_CHECK(parse_value(values));
    }
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    auto made = SelectorRequirement::make(key.text, kind, std::move(values));
    if (!made) return Error(Code::bad_request, made.error().message());
    return made;
  }

  Result<> parse_values(std::vector<Symbol>& out) {
    const Item open = take();
    if (open.token != Token::open) return found(open, " expected: '('");
    const Item first = peek();
    if (first.token == Token::close) {
      take();
      out.emplace_back();
      return {};
    }
    if (first.token != Token::identifier && first.token != Token::comma)
      return found(first, ", expected: ',', ')' or identifier");
    for (;;) {
      const Item item = take();
      if (item.token == Token::identifier) {
        out.emplace_back(item.text);
        const Item next = peek();
        if (next.token == Token::close) break;
        if (next.token != Token::comma) return found(next, ", expected: ',' or ')'");
      } else if (item.token == Token::comma) {
        // A value between, before or after commas may be empty.
        if (out.empty()) out.emplace_back();
        const Token next = peek().token;
        if (next == Token::close || next == Token::comma) out.emplace_back();
        if (next == Token::close) break;
      } else {
        return found(item, ", expected: ',', or identifier");
      }
    }
    take();
    return {};
  }

  Result<> parse_value(std::vector<Symbol>& out) {
    const Token next = peek().token;
    if (next == Token::end || next == Token::comma) {
      out.emplace_back();
      return {};
    }
    const Item item = take();
    if (item.token != Token::identifier) return found(item, ", expected: identifier");
    out.emplace_back(item.text);
    return {};
  }

  std::vector<Item> items_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Selector> Selector::parse(std::string_view text) {
  KOORD_TRY(requirements, Parser(text).parse());
  return from_requirements(std::move(requirements));
}

}  // namespace koord::api
