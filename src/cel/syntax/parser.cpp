#include "cel/syntax/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "cel/syntax/lexer.hpp"
#include "cel/syntax/macros.hpp"
#include "cel/syntax/unescape.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

constexpr std::string_view kOperands =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}";

bool reserved(std::string_view name) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
      "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

int precedence(const Token& token) {
  if (token.is("*") || token.is("/") || token.is("%")) return 2;
  return token.is("+") || token.is("-") ? 1 : 0;
}

bool relation_operator(const Token& token) {
  return token.is("<") || token.is("<=") || token.is(">") || token.is(">=") || token.is("==") ||
         token.is("!=") || token.is("in");
}

/// After the first mistake of syntax the rest is passed over (`failed_`).
class Parser {
 public:
  Parser(std::string_view source, const SyntaxOptions& options, Tree& tree, Mistakes& mistakes)
      : options_(options), tree_(tree), mistakes_(mistakes), tokens_(tokens_of(source, mistakes)) {}

  void run() {
    Node* root = expression();
    if (!failed_ && peek().kind != Token::Kind::end) unexpected("<EOF>");
    tree_.root = root;
  }

 private:
  /// One rule's recursion: counts while it is alive.
  class Level {
   public:
    Level(Parser& parser, int& depth) : depth_(depth) {
      if (++depth_ > kMaxNesting) parser.too_deep();
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --depth_; }

   private:
    int& depth_;
  };

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& next() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool take(std::string_view symbol) {
    if (failed_ || !peek().is(symbol)) return false;
    next();
    return true;
  }
  void expect(std::string_view symbol) {
    if (failed_ || take(symbol)) return;
    if (peek().kind == Token::Kind::end) {
      fail(peek().offset, fmt::format("Syntax error: missing '{}' at '<EOF>'", symbol));
      return;
    }
    unexpected(fmt::format("'{}'", symbol));
  }

  Node* fail(std::int64_t offset, std::string message) {
    if (!failed_) mistakes_.add(offset, std::move(message));
    failed_ = true;
    return tree_.add(Node::Op::constant, offset);
  }
  Node* unexpected(std::string_view expected) {
    const Token& token = peek();
    // ANTLR calls a token extraneous if what follows it would do.
    const bool extra =
        expected == "<EOF>" && peek(1).kind == Token::Kind::end && token.kind != Token::Kind::end;
    return fail(token.offset, fmt::format("Syntax error: {} input '{}' expecting {}",
                                          extra ? "extraneous" : "mismatched", token.text, expected));
  }
  void too_deep() { fail(-1, fmt::format("expression recursion limit exceeded: {}", kMaxNesting)); }
  /// A mistake that does not end the parsing.
  Node* wrong(std::int64_t offset, std::string message) {
    mistakes_.add(offset, std::move(message));
    return constant(offset, Value::null());
  }

  Node* constant(std::int64_t offset, Value value) {
    Node* node = tree_.add(Node::Op::constant, offset);
    node->constant = value;
    return node;
  }
  Node* call(std::string_view name, std::int64_t offset, std::vector<Node*> args) {
    if (Node* macro = expand(name, nullptr, args, offset, options_.bind, tree_, mistakes_)) return macro;
    Node* node = tree_.add(Node::Op::call, offset);
    node->name = name;
    node->children = std::move(args);
    return node;
  }

  Node* expression() {
    const Level level(*this, expressions_);
    if (failed_) return constant(-1, Value::null());
    Node* condition = logical(true);
    if (failed_ || !peek().is("?")) return condition;
    const std::int64_t offset = next().offset;
    Node* yes = logical(true);
    expect(":");
    Node* no = expression();
    return call("_?_:_", offset, {condition, yes, no});
  }

  Node* logical(bool any) {
    const std::string_view symbol = any ? "||" : "&&";
    Node* first = any ? logical(false) : relation();
    if (failed_ || !peek().is(symbol)) return first;
    Node* node = tree_.add(Node::Op::call, peek().offset);
    node->name = any ? "_||_" : "_&&_";
    node->children.push_back(first);
    while (take(symbol)) node->children.push_back(any ? logical(false) : relation());
    return node;
  }

  /// What a chain of left-recursive rules costs in depth.
  class Chain {
   public:
    Chain(Parser& parser, int& depth) : parser_(parser), depth_(depth), from_(depth) { grow(); }
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;
    ~Chain() { depth_ = from_; }
    void grow() {
      if (++depth_ > kMaxNesting) parser_.too_deep();
    }

   private:
    Parser& parser_;
    int& depth_;
    int from_;
  };

  Node* relation() {
    Chain chain(*this, relations_);
    Node* left = calculation(1);
    while (!failed_ && relation_operator(peek())) {
      const Token op = next();
      chain.grow();
      Node* right = calculation(1);
      left = call(op.is("in") ? "@in" : fmt::format("_{}_", op.text), op.offset, {left, right});
    }
    return left;
  }

  Node* calculation(int least) {
    Chain chain(*this, calculations_);
    Node* left = unary();
    while (!failed_ && precedence(peek()) >= least) {
      const Token op = next();
      chain.grow();
      Node* right = calculation(precedence(op) + 1);
      left = call(fmt::format("_{}_", op.text), op.offset, {left, right});
    }
    return left;
  }

  Node* unary() {
    const Token first = peek();
    if (failed_ || (!first.is("!") && !first.is("-"))) return member();
    std::size_t count = 0;
    while (peek().is(first.text)) {
      const bool number = peek(1).kind == Token::Kind::integer || peek(1).kind == Token::Kind::real;
      if (count == 0 && first.is("-") && number) return member();  // the literal's sign
      next();
      ++count;
    }
    Node* operand = member();
    if (count % 2 == 0) return operand;
    return call(first.is("!") ? "!_" : "-_", first.offset, {operand});
  }

  Node* member() {
    Chain chain(*this, members_);
    Node* node = primary();
    while (!failed_) {
      if (peek().is("."))
        node = selected(node);
      else if (peek().is("["))
        node = indexed(node);
      else if (peek().is("{") && names_type(*node))
        node = structure(node);
      else
        return node;
      chain.grow();
    }
    return node;
  }

  Node* selected(Node* target) {
    const std::int64_t dot = next().offset;
    const bool optional = take("?");
    const Token name = peek();
    if (name.kind != Token::Kind::ident && name.kind != Token::Kind::escaped) {
      if (name.is("true") || name.is("false") || name.is("null") || name.is("in"))
        return fail(name.offset,
                    fmt::format("Syntax error: mismatched input '{}' expecting IDENTIFIER", name.text));
      const std::string_view shown = name.kind == Token::Kind::end ? std::string_view{} : name.text;
      return fail(name.offset, fmt::format("Syntax error: no viable alternative at input '.{}'", shown));
    }
    next();
    if (name.kind == Token::Kind::escaped) wrong(name.offset, "unsupported syntax: '`'");
    if (!optional && peek().is("(")) {
      const std::int64_t open = next().offset;
      std::vector<Node*> args = arguments();
      if (failed_) return target;
      if (Node* macro = expand(name.text, target, args, open, options_.bind, tree_, mistakes_)) return macro;
      Node* node = tree_.add(Node::Op::member, open);
      node->name = name.text;
      node->children.push_back(target);
      node->children.insert(node->children.end(), args.begin(), args.end());
      return node;
    }
    Node* node = tree_.add(Node::Op::select, dot);
    node->name = name.text;
    node->children.push_back(target);
    node->optional = optional;
    return node;
  }

  Node* indexed(Node* target) {
    const std::int64_t open = next().offset;
    const bool optional = take("?");
    Node* key = expression();
    expect("]");
    Node* node = call(optional ? "_[?_]" : "_[_]", open, {target, key});
    node->optional = optional;
    return node;
  }

  static bool names_type(const Node& node) {
    if (node.op == Node::Op::ident) return true;
    return node.op == Node::Op::select && !node.optional && !node.test_only && names_type(*node.children[0]);
  }
  static std::string type_name(const Node& node) {
    return node.op == Node::Op::ident ? node.name
                                      : fmt::format("{}.{}", type_name(*node.children[0]), node.name);
  }

  Node* structure(Node* named) {
    Node* node = tree_.add(Node::Op::structure, next().offset);
    node->name = type_name(*named);
    while (!failed_ && !peek().is("}")) {
      take("?");
      if (peek().kind != Token::Kind::ident) return unexpected("IDENTIFIER");
      next();
      expect(":");
      node->children.push_back(expression());
      if (!take(",")) break;
    }
    expect("}");
    return node;
  }

  std::vector<Node*> arguments() {
    std::vector<Node*> args;
    if (take(")")) return args;
    do args.push_back(expression());
    while (take(","));
    expect(")");
    return args;
  }

  Node* primary() {
    const Token token = peek();
    if (failed_) return constant(token.offset, Value::null());
    switch (token.kind) {
      case Token::Kind::ident: return named("");
      case Token::Kind::integer:
      case Token::Kind::unsigned_integer:
      case Token::Kind::real: return number(false);
      case Token::Kind::string:
      case Token::Kind::bytes: return text();
      default: break;
    }
    if (token.is(".")) {
      next();
      return peek().kind == Token::Kind::ident ? named(".") : unexpected("IDENTIFIER");
    }
    if (token.is("-") && (peek(1).kind == Token::Kind::integer || peek(1).kind == Token::Kind::real)) {
      next();
      return number(true);
    }
    if (token.is("true") || token.is("false"))
      return constant(next().offset, Value::boolean(token.is("true")));
    if (token.is("null")) return constant(next().offset, Value::null());
    if (take("(")) {
      Node* inner = expression();
      expect(")");
      return inner;
    }
    if (token.is("[")) return list();
    if (token.is("{")) return map();
    return unexpected(kOperands);
  }

  Node* named(std::string_view dot) {
    const Token token = next();
    if (reserved(token.text)) return wrong(token.offset, fmt::format("reserved identifier: {}", token.text));
    std::string name = fmt::format("{}{}", dot, token.text);
    if (!peek().is("(")) {
      Node* node = tree_.add(Node::Op::ident, token.offset);
      node->name = std::move(name);
      return node;
    }
    const std::int64_t open = next().offset;
    std::vector<Node*> args = arguments();
    return failed_ ? constant(open, Value::null()) : call(name, open, std::move(args));
  }

  Node* number(bool negative) {
    const Token token = next();
    const std::int64_t offset = negative ? token.offset - 1 : token.offset;
    std::string_view digits = token.text;
    if (token.kind == Token::Kind::real) {
      double value = 0;
      const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (end.ec != std::errc())
        value = std::strtod(std::string(digits).c_str(), nullptr);  // what is too small is 0
      if (std::isinf(value)) return wrong(offset, "invalid double literal");
      return constant(offset, Value::real(negative ? -value : value));
    }
    const bool is_unsigned = token.kind == Token::Kind::unsigned_integer;
    if (is_unsigned) digits.remove_suffix(1);
    const bool hex = digits.starts_with("0x");
    if (hex) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    if (is_unsigned) {
      if (end.ec != std::errc()) return wrong(offset, "invalid uint literal");
      return constant(offset, Value::unsigned_integer(value));
    }
    const std::uint64_t most = std::uint64_t{1} << 63;
    if (end.ec != std::errc() || (negative ? value > most : value >= most))
      return wrong(offset, "invalid int literal");
    return constant(offset, Value::integer(static_cast<std::int64_t>(negative ? 0 - value : value)));
  }

  Node* text() {
    const Token token = next();
    const bool bytes = token.kind == Token::Kind::bytes;
    const auto value = unescape(bytes ? token.text.substr(1) : token.text, bytes);
    if (!value) return wrong(token.offset, value.error().message());
    const Value copy = bytes ? copy_bytes(*value, tree_.memory) : copy_string(*value, tree_.memory);
    return constant(token.offset, copy);
  }

  Node* list() {
    Node* node = tree_.add(Node::Op::list, next().offset);
    while (!failed_ && !peek().is("]")) {
      if (peek().is(",") && node->children.empty()) {
        next();
        break;
      }
      const bool optional = take("?");
      node->children.push_back(expression());
      node->optionals.push_back(optional);
      if (!take(",")) break;
    }
    expect("]");
    only_if_any(*node);
    return node;
  }

  Node* map() {
    Node* node = tree_.add(Node::Op::map, next().offset);
    while (!failed_ && !peek().is("}")) {
      if (peek().is(",") && node->children.empty()) {
        next();
        break;
      }
      const bool optional = take("?");
      node->children.push_back(expression());
      expect(":");
      node->children.push_back(expression());
      node->optionals.push_back(optional);
      if (!take(",")) break;
    }
    expect("}");
    only_if_any(*node);
    return node;
  }

  static void only_if_any(Node& node) {
    if (std::find(node.optionals.begin(), node.optionals.end(), true) == node.optionals.end())
      node.optionals.clear();
  }

  const SyntaxOptions& options_;
  Tree& tree_;
  Mistakes& mistakes_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  bool failed_ = false;
  int expressions_ = 0, relations_ = 0, calculations_ = 0, members_ = 0;
};

}  // namespace

void parse(std::string_view source, const SyntaxOptions& options, Tree& tree, Mistakes& mistakes) {
  const std::size_t length = code_points(source);
  if (length > options.max_length) {
    mistakes.add(-1, fmt::format("expression code point size exceeds limit: size: {}, limit {}", length,
                                 options.max_length));
    return;
  }
  Parser(source, options, tree, mistakes).run();
}

}  // namespace koord::cel
