#include "sandbox/crd/expression_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "koord/json/writer.hpp"
#include "sandbox/crd/expression_shape.hpp"
#include "sandbox/crd/rule_path.hpp"

namespace koord::sandbox {
namespace {

constexpr std::string_view kReasons[] = {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid",
                                         "FieldValueRequired"};
constexpr std::size_t kLongestMessage = std::size_t{5} * 1024;
constexpr std::string_view kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const std::size_t from = text.find_first_not_of(kBlanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlanks) - from + 1);
}

bool has_lines(std::string_view text) { return text.find('\n') != std::string_view::npos; }

bool has_rules(const json::Value& schema) {
  const auto inside = [](const json::Value& value) { return has_rules(value); };
  const auto elements = schema.elements();
  if (std::any_of(elements.begin(), elements.end(), inside)) return true;
  const auto members = schema.members();
  return std::any_of(members.begin(), members.end(), [&](const json::Member& member) {
    return member.key() == "x-kubernetes-validations" || inside(member.value);
  });
}

/// A rule as Go prints it, with `<`, `>` and `&` escaped.
std::string shown(const json::Value& rule) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("Rule", text_at(rule, "rule")).member("Message", text_at(rule, "message"));
  out.member("MessageExpression", text_at(rule, "messageExpression")).key("Reason");
  const json::Value *reason = find(rule, "reason"), *optional = find(rule, "optionalOldSelf");
  reason ? (void)out.value(reason->text()) : (void)out.null();
  out.member("FieldPath", text_at(rule, "fieldPath")).key("OptionalOldSelf");
  optional ? (void)out.value(optional->is_true()) : (void)out.null();
  out.end_object();
  std::string escaped;
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&')
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      escaped += c;
  }
  return escaped;
}

}  // namespace

class ExpressionRules::Compiler {
 public:
  Compiler(std::vector<std::unique_ptr<cel::Shape>>& shapes, StatusCauses& errors)
      : shapes_(shapes), errors_(errors) {}

  /// nullptr if neither the schema nor one in it has rules. `uncorrelated` is the list that oldSelf is not
  /// found in.
  std::unique_ptr<Node> compile(const json::Value& schema, const FieldPath& path, const cel::Shape* shape,
                                const std::string& uncorrelated) {
    auto node = std::make_unique<Node>();
    node->type = text_at(schema, "type");
    const bool is_list = node->type == "array", by_key = text_at(schema, "x-kubernetes-list-type") == "map";
    node->correlates = !is_list || by_key;
    const std::string inner = uncorrelated.empty() && is_list && !by_key ? path.text() : uncorrelated;
    if (const json::Value* keys = find(schema, "x-kubernetes-list-map-keys"); keys && by_key)
      for (const json::Value& key : keys->elements()) node->map_keys.push_back(key.text());
    const cel::Shape* element = shape ? shape->element.get() : nullptr;
    if (const json::Value* items = find(schema, "items"); items && items->is_object())
      node->items = compile(*items, path.field("items"), element, inner);
    if (const json::Value* additional = find(schema, "additionalProperties");
        additional && additional->is_object())
      node->additional = compile(*additional, path.field("additionalProperties"), element, inner);
    if (const json::Value* properties = find(schema, "properties"); properties && properties->is_object()) {
      const FieldPath at = path.field("properties");
      for (const json::Member& member : properties->members()) {
        const cel::Shape::Field* field = shape ? shape->json_field(member.key()) : nullptr;
        const cel::Shape* known = field ? field->shape.get() : make_shape(member.value, false);
        if (auto property = compile(member.value, at.key(member.key()), known, inner))
          node->properties.push_back({member.key(), std::move(property)});
      }
    }
    if (const json::Value* rules = find(schema, "x-kubernetes-validations"); rules && !rules->empty())
      compile_rules(*rules, schema, path.field("x-kubernetes-validations"), shape, uncorrelated, *node);
    const bool any = !node->rules.empty() || node->items || node->additional || !node->properties.empty();
    return any ? std::move(node) : nullptr;
  }

  const cel::Shape* make_shape(const json::Value& schema, bool resource) {
    auto shape = expression_shape(schema, resource || true_at(schema, "x-kubernetes-embedded-resource"));
    return shape ? shapes_.emplace_back(std::move(shape)).get() : nullptr;
  }

 private:
  void compile_rules(const json::Value& rules, const json::Value& schema, const FieldPath& path,
                     const cel::Shape* shape, const std::string& uncorrelated, Node& node) {
    if (!shape) return errors_.forbidden(path.text(), "rules need a schema whose types expressions can see");
    node.shape = shape;
    const cel::TypeRef self = node.shape->type;
    const cel::Environment plain({{"self", self}, {"oldSelf", self}}),
        optional({{"self", self}, {"oldSelf", cel::optional_type(self)}});
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const json::Value& json = rules[i];
      const FieldPath at = path.at(i);
      if (weight_ > kMaxWeight)
        return errors_.forbidden(at.text(), "the rules of this definition are too many or too large");
      Rule rule;
      rule.optional_old = true_at(json, "optionalOldSelf");
      if (!check_words(json, schema, at, rule)) continue;
      const cel::Environment& environment = rule.optional_old ? optional : plain;
      if (!compile_rule(json, at, environment, rule)) continue;
      rule.uses_old = rule.program->mentions("oldSelf");
      if (rule.uses_old && !uncorrelated.empty())
        errors_.invalid(
            at.field("rule").text(), text_at(json, "rule"),
            fmt::format("oldSelf cannot be used on the uncorrelatable portion of the schema within {}",
                        uncorrelated));
      if (!rule.uses_old && find(json, "optionalOldSelf"))
        errors_.invalid_raw(at.field("optionalOldSelf").text(), rule.optional_old ? "true" : "false",
                            "may not be set if oldSelf is not used in rule");
      node.rules.push_back(std::move(rule));
    }
  }

  /// All but the expressions.
  bool check_words(const json::Value& json, const json::Value& schema, const FieldPath& at, Rule& rule) {
    const std::string_view text = text_at(json, "rule"), message = text_at(json, "message"),
                           expression = text_at(json, "messageExpression"),
                           field = text_at(json, "fieldPath"), reason = text_at(json, "reason");
    bool good = true;
    const auto wrong = [&](auto add) {
      add();
      good = false;
    };
    const FieldPath message_at = at.field("message"), field_at = at.field("fieldPath");
    if (trimmed(text).empty())
      wrong([&] { errors_.required(at.field("rule").text(), "rule is not specified"); });
    else if (!message.empty() && trimmed(message).empty())
      wrong([&] { errors_.invalid(message_at.text(), message, "must be non-empty if specified"); });
    else if (has_lines(trimmed(message)))
      wrong([&] { errors_.invalid(message_at.text(), message, "must not contain line breaks"); });
    else if (has_lines(trimmed(text)) && trimmed(message).empty())
      wrong([&] {
        errors_.required(message_at.text(), "message must be specified if rule contains line breaks");
      });
    if (!expression.empty() && trimmed(expression).empty())
      wrong([&] {
        errors_.required(at.field("messageExpression").text(),
                         "messageExpression must be non-empty if specified");
      });
    if (find(json, "reason") &&
        std::find(std::begin(kReasons), std::end(kReasons), reason) == std::end(kReasons))
      wrong([&] {
        errors_.unsupported(at.field("reason").text(), reason, {std::begin(kReasons), std::end(kReasons)});
      });
    if (has_lines(field))
      wrong([&] { errors_.invalid(field_at.text(), field, "must not contain line breaks"); });
    if (!field.empty()) {
      const auto path = rule_path(field, schema);
      if (path)
        rule.field_path = *path;
      else
        wrong([&] { errors_.invalid(field_at.text(), field, "must be a valid path"); });
    }
    rule.text = text;
    rule.message = message;
    rule.reason = reason;
    return good;
  }

  bool compile_rule(const json::Value& json, const FieldPath& at, const cel::Environment& environment,
                    Rule& rule) {
    const auto wrong = [&](std::string_view field, std::string_view detail) {
      errors_.invalid_raw(at.field(field).text(), shown(json), detail);
      return false;
    };
    const auto prefixed = [](const Error& error, std::string_view subject) {
      const std::string& why = error.message();
      const bool issues = why.starts_with("ERROR:");
      return fmt::format("{}{}{}", subject, issues ? "compilation failed: " : "", why);
    };
    auto program = environment.compile(rule.text);
    if (!program) return wrong("rule", prefixed(program.error(), ""));
    if (program->type().kind != cel::TypeKind::boolean)
      return wrong("rule", "cel expression must evaluate to a bool");
    weight_ += kRule + program->weight();
    rule.program = std::move(*program);
    const std::string_view expression = text_at(json, "messageExpression");
    if (expression.empty()) return true;
    auto message = environment.compile(expression);
    if (!message) return wrong("messageExpression", prefixed(message.error(), "messageExpression "));
    if (message->type().kind != cel::TypeKind::string)
      return wrong("messageExpression", "messageExpression must evaluate to a string");
    weight_ += message->weight();
    rule.message_program = std::move(*message);
    return true;
  }

  static constexpr std::size_t kRule = 20;  // what each takes, however small
  std::vector<std::unique_ptr<cel::Shape>>& shapes_;
  StatusCauses& errors_;
  std::size_t weight_ = 0;
};

/// One object: what it may cost still, and its errors.
class ExpressionRules::Validation {
 public:
  explicit Validation(StatusCauses& errors) : errors_(errors) {}

  void check(const Node& node, const json::Value& value, const json::Value* old, const FieldPath& path) {
    if (over_ || value.is_null()) return;
    check_rules(node, value, old, path);
    if (value.is_array() && node.items) check_list(node, value, old, path);
    if (value.is_object()) check_object(node, value, old, path);
  }

 private:
  struct Variables {
    std::array<cel::Value, 2> plain, optional;
  };

  static std::string place(const FieldPath& path, std::string_view field = {}) {
    const std::string text = path.text();
    if (field.empty()) return text.empty() ? "<nil>" : text;
    return text.empty() ? std::string(field) : fmt::format("{}.{}", text, field);
  }

  void check_rules(const Node& node, const json::Value& value, const json::Value* old,
                   const FieldPath& path) {
    if (node.rules.empty()) return;
    cel::Memory memory(std::min(cel::Memory::kMaxBytes, bytes_left_));
    Variables variables;
    variables.plain[0] = variables.optional[0] = cel::Value::json(value, memory, node.shape);
    if (old) variables.plain[1] = cel::Value::json(*old, memory, node.shape);
    variables.optional[1] =
        cel::Value::optional(old ? std::optional(variables.plain[1]) : std::nullopt, memory);
    for (const Rule& rule : node.rules) {
      if (over_) return;
      if (rule.uses_old && !old && !rule.optional_old) continue;
      check_rule(node, rule, value, old, variables, memory, path);
    }
    bytes_left_ -= std::min(bytes_left_, memory.used());
  }

  void check_rule(const Node& node, const Rule& rule, const json::Value& value, const json::Value* old,
                  const Variables& variables, cel::Memory& memory, const FieldPath& path) {
    const std::string_view named = trimmed(rule.message.empty() ? rule.text : rule.message);
    cel::Meter meter;
    const cel::Value result =
        rule.program->run(rule.optional_old ? variables.optional : variables.plain, memory, meter);
    if (meter.used > left_) return stop(node, path, kOutOfBudget);
    left_ -= meter.used;
    if (result.is_error()) {
      const std::string_view why = result.fault().message;
      if (why.starts_with("no such overload"))
        return complain(node, path,
                        fmt::format("'{}': call arguments did not match a supported operator, function or "
                                    "macro signature for rule: {}",
                                    why, named));
      if (result.fault().code == cel::Fault::Code::evaluation)
        return complain(node, path, fmt::format("{} evaluating rule: {}", why, named));
      return stop(
          node, path,
          fmt::format(
              "'{}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
              why, named));
    }
    if (result.is_true()) return;
    if (!rule.uses_old && old && same(&value, old)) return;  // it was so before
    const std::string detail = message_of(rule, variables, memory, named);
    add(rule, value, place(path, rule.field_path), detail);
  }

  std::string message_of(const Rule& rule, const Variables& variables, cel::Memory& memory,
                         std::string_view named) {
    std::string plain = rule.message.empty() ? fmt::format("failed rule: {}", named) : std::string(named);
    if (!rule.message_program) return plain;
    cel::Meter meter;
    const cel::Value text =
        rule.message_program->run(rule.optional_old ? variables.optional : variables.plain, memory, meter);
    left_ -= std::min(left_, meter.used);
    if (text.kind() != cel::Kind::string) return plain;
    const std::string_view words = trimmed(text.text());
    return words.empty() || words.size() > kLongestMessage || has_lines(words) ? plain : std::string(words);
  }

  void add(const Rule& rule, const json::Value& value, std::string place, std::string_view detail) {
    if (errors_.skip()) return;
    if (rule.reason == "FieldValueForbidden") return errors_.forbidden(std::move(place), detail);
    if (rule.reason == "FieldValueRequired") return errors_.required(std::move(place), detail);
    const bool whole = value.is_object() || value.is_array();
    if (rule.reason == "FieldValueDuplicate") {
      if (whole) return errors_.duplicate_part(std::move(place));
      return errors_.duplicate(std::move(place),
                               value.is_string() ? value.text() : std::string_view(json::to_text(value)));
    }
    if (whole) return errors_.invalid_part(std::move(place), detail);
    if (value.is_string()) return errors_.invalid(std::move(place), value.text(), detail);
    errors_.invalid_raw(std::move(place), json::to_text(value), detail);
  }

  void complain(const Node& node, const FieldPath& path, std::string_view detail) {
    if (!errors_.skip()) errors_.invalid(place(path), node.type, detail);
  }
  void stop(const Node& node, const FieldPath& path, std::string_view detail) {
    complain(node, path, detail);
    over_ = true;
  }

  void check_list(const Node& node, const json::Value& value, const json::Value* old, const FieldPath& path) {
    for (std::size_t i = 0; i < value.size() && !over_; ++i)
      check(*node.items, value[i], node.correlates && old ? find_old(node, value[i], *old) : nullptr,
            path.at(i));
  }

  /// The element with the same keys.
  static const json::Value* find_old(const Node& node, const json::Value& item, const json::Value& old) {
    if (node.map_keys.empty()) return nullptr;
    for (const json::Value& each : old.elements())
      if (std::all_of(node.map_keys.begin(), node.map_keys.end(),
                      [&](std::string_view key) { return same(find(each, key), find(item, key)); }))
        return &each;
    return nullptr;
  }

  void check_object(const Node& node, const json::Value& value, const json::Value* old,
                    const FieldPath& path) {
    for (const json::Member& member : value.members()) {
      if (over_) return;
      const json::Value* before = old ? find(*old, member.key()) : nullptr;
      if (node.additional) check(*node.additional, member.value, before, path.key(member.key()));
      for (const Node::Property& property : node.properties)
        if (property.name == member.key())
          check(*property.node, member.value, before, path.field(member.key()));
    }
  }

  StatusCauses& errors_;
  std::uint64_t left_ = cel::kCostOfObject;
  std::size_t bytes_left_ = 2 * cel::Memory::kMaxBytes;  // of the rules at all of its fields together
  bool over_ = false;
};

std::shared_ptr<const ExpressionRules> ExpressionRules::compile(const json::Value& schema,
                                                                const FieldPath& path, StatusCauses& errors) {
  if (!has_rules(schema)) return nullptr;
  auto rules = std::make_shared<ExpressionRules>();
  Compiler compiler(rules->shapes_, errors);
  rules->root_ = compiler.compile(schema, path, compiler.make_shape(schema, true), "");
  return rules->root_ ? rules : nullptr;
}

void ExpressionRules::validate(const json::Value& object, const json::Value* old,
                               StatusCauses& errors) const {
  if (errors.block_rules())
    return errors.invalid_raw(
        "<nil>", "null",
        "some validation rules were not checked because the object was invalid; correct the existing "
        "errors to complete validation");
  Validation(errors).check(*root_, object, old, FieldPath());
}

}  // namespace koord::sandbox
