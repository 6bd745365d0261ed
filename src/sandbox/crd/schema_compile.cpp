// Compiling a schema: its nodes, its patterns, and what is refused of it.
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <set>

#include "sandbox/crd/schema.hpp"

namespace koord::sandbox {
namespace {

using Type = SchemaNode::Type;

constexpr std::pair<std::string_view, Type> kTypes[] = {
    {"array", Type::array},   {"boolean", Type::boolean}, {"integer", Type::integer},
    {"number", Type::number}, {"object", Type::object},   {"string", Type::string}};

// An estimate is enough: whatever is named pattern counts.
void collect_patterns(const json::Value& value, std::set<std::string_view>& patterns) {
  for (const json::Value& element : value.elements()) collect_patterns(element, patterns);
  for (const json::Member& member : value.members()) {
    if (member.value.is_string() && member.key() == "pattern")
      patterns.insert(member.value.text());
    else
      collect_patterns(member.value, patterns);
  }
}

class Compiler {
 public:
  Compiler(std::vector<cel::Pattern>& patterns, std::size_t pattern_bytes, StatusCauses& errors)
      : patterns_(patterns), pattern_bytes_(pattern_bytes), errors_(errors) {}

  bool too_many() const { return schemas_ > CrdSchema::kMaxSchemas; }

  void compile(const json::Value& schema, const FieldPath& path, SchemaNode& node) {
    if (++schemas_ > CrdSchema::kMaxSchemas || !schema.is_object()) return;
    for (const json::Member& member : schema.members()) keyword(member.key(), member.value, path, node);
    node.fills = node.preset || (node.items && node.items->fills) ||
                 (node.additional && node.additional->fills) ||
                 std::any_of(node.properties.begin(), node.properties.end(),
                             [](const SchemaNode::Property& property) { return property.schema->fills; });
  }

 private:
  void keyword(std::string_view name, const json::Value& value, const FieldPath& path, SchemaNode& node) {
    using Function = void (Compiler::*)(const json::Value&, const FieldPath&, SchemaNode&);
    static const std::map<std::string_view, Function> kKeywords = {
        {"$ref", &Compiler::reference},
        {"additionalProperties", &Compiler::additional},
        {"allOf", &Compiler::junction<&SchemaRules::all_of>},
        {"anyOf", &Compiler::junction<&SchemaRules::any_of>},
        {"default", &Compiler::preset},
        {"enum", &Compiler::enumeration},
        {"exclusiveMaximum", &Compiler::flag_rule<&SchemaRules::exclusive_maximum>},
        {"exclusiveMinimum", &Compiler::flag_rule<&SchemaRules::exclusive_minimum>},
        {"items", &Compiler::items},
        {"maxItems", &Compiler::count<&SchemaRules::max_items>},
        {"maxLength", &Compiler::count<&SchemaRules::max_length>},
        {"maxProperties", &Compiler::count<&SchemaRules::max_properties>},
        {"maximum", &Compiler::bound<&SchemaRules::maximum>},
        {"minItems", &Compiler::count<&SchemaRules::min_items>},
        {"minLength", &Compiler::count<&SchemaRules::min_length>},
        {"minProperties", &Compiler::count<&SchemaRules::min_properties>},
        {"minimum", &Compiler::bound<&SchemaRules::minimum>},
        {"not", &Compiler::negative},
        {"nullable", &Compiler::flag<&SchemaNode::nullable>},
        {"oneOf", &Compiler::junction<&SchemaRules::one_of>},
        {"pattern", &Compiler::pattern},
        {"properties", &Compiler::properties},
        {"required", &Compiler::required},
        {"type", &Compiler::type},
        {"uniqueItems", &Compiler::unique_items},
        {"x-kubernetes-embedded-resource", &Compiler::flag<&SchemaNode::embedded>},
        {"x-kubernetes-int-or-string", &Compiler::flag<&SchemaNode::int_or_string>},
        {"x-kubernetes-list-map-keys", &Compiler::map_keys},
        {"x-kubernetes-list-type", &Compiler::list_type},
        {"x-kubernetes-preserve-unknown-fields", &Compiler::flag<&SchemaNode::keeps_unknown>},
    };
    if (const auto it = kKeywords.find(name); it != kKeywords.end()) (this->*it->second)(value, path, node);
  }

  static SchemaRules& rules(SchemaNode& node) {
    if (!node.rules) node.rules = std::make_unique<SchemaRules>();
    return *node.rules;
  }
  std::unique_ptr<SchemaNode> inner(const json::Value& schema, const FieldPath& path) {
    auto node = std::make_unique<SchemaNode>();
    compile(schema, path, *node);
    return node;
  }
  static std::vector<std::string_view> names(const json::Value& list) {
    std::vector<std::string_view> out;
    for (const json::Value& name : list.elements())
      if (name.is_string()) out.push_back(name.text());
    return out;
  }

  void reference(const json::Value&, const FieldPath& path, SchemaNode&) {
    errors_.forbidden(path.field("$ref").text(), "$ref is not supported");
  }
  void unique_items(const json::Value& value, const FieldPath& path, SchemaNode&) {
    if (value.is_true())
      errors_.forbidden(path.field("uniqueItems").text(),
                        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
  }
  void type(const json::Value& value, const FieldPath& path, SchemaNode& node) {
    const std::string_view wanted = value.text();
    if (wanted.empty()) return;
    if (wanted == "null")
      return errors_.forbidden(path.field("type").text(),
                               "type cannot be set to null, use nullable as an alternative");
    for (const auto& [name, type] : kTypes)
      if (name == wanted) node.type = type;
    if (node.type == Type::any)
      errors_.unsupported(path.field("type").text(), wanted,
                          {"array", "boolean", "integer", "number", "object", "string"});
  }
  void additional(const json::Value& value, const FieldPath& path, SchemaNode& node) {
    if (value.is_true()) node.keeps_unknown = true;
    if (value.is_object()) node.additional = inner(value, path.field("additionalProperties"));
  }
  void items(const json::Value& value, const FieldPath& path, SchemaNode& node) {
    if (value.is_object()) node.items = inner(value, path.field("items"));
  }
  void properties(const json::Value& value, const FieldPath& path, SchemaNode& node) {
    const FieldPath at = path.field("properties");
    node.properties.reserve(value.size());
    for (const json::Member& member : value.members())
      node.properties.push_back({member.key(), inner(member.value, at.key(member.key()))});
    std::sort(node.properties.begin(), node.properties.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  }
  template <std::vector<SchemaNode> SchemaRules::*kList>
  void junction(const json::Value& value, const FieldPath& path, SchemaNode& node) {
    const FieldPath at = path.field(kList == &SchemaRules::all_of   ? "allOf"
                                    : kList == &SchemaRules::any_of ? "anyOf"
                                                                    : "oneOf");
    std::vector<SchemaNode>& list = rules(node).*kList;
    list.resize(value.elements().size());
    for (std::size_t i = 0; i < list.size(); ++i) compile(value[i], at.at(i), list[i]);
  }
  void negative(const json::Value& value, const FieldPath& path, SchemaNode& node) {
    if (value.is_object()) rules(node).negative = inner(value, path.field("not"));
  }
  void preset(const json::Value& value, const FieldPath&, SchemaNode& node) { node.preset = &value; }
  void enumeration(const json::Value& value, const FieldPath&, SchemaNode& node) {
    if (!value.is_array()) return;
    rules(node).enumeration = &value;
    auto& allowed = node.rules->allowed;
    for (const json::Value& each : value.elements()) allowed.push_back(&each);
    std::sort(allowed.begin(), allowed.end(),
              [](const json::Value* a, const json::Value* b) { return std::is_lt(json::compare(*a, *b)); });
  }
  template <bool SchemaRules::*kFlag>
  void flag_rule(const json::Value& value, const FieldPath&, SchemaNode& node) {
    if (value.is_true()) rules(node).*kFlag = true;
  }
  template <bool SchemaNode::*kFlag>
  void flag(const json::Value& value, const FieldPath&, SchemaNode& node) {
    if (value.is_true()) node.*kFlag = true;
  }
  template <std::optional<std::int64_t> SchemaRules::*kCount>
  void count(const json::Value& value, const FieldPath&, SchemaNode& node) {
    if (const auto number = value.to_int()) rules(node).*kCount = number;
  }
  template <const json::Value* SchemaRules::*kBound>
  void bound(const json::Value& value, const FieldPath&, SchemaNode& node) {
    if (value.is_number()) rules(node).*kBound = &value;
  }
  void required(const json::Value& value, const FieldPath&, SchemaNode& node) {
    if (!value.empty()) rules(node).required = names(value);
  }
  void list_type(const json::Value& value, const FieldPath&, SchemaNode& node) {
    if (value.text() == "set") node.list_type = SchemaNode::ListType::set;
    if (value.text() == "map") node.list_type = SchemaNode::ListType::map;
  }
  void map_keys(const json::Value& value, const FieldPath&, SchemaNode& node) {
    node.map_keys = names(value);
  }

  void pattern(const json::Value& value, const FieldPath& path, SchemaNode& node) {
    const std::string_view text = value.text();
    if (text.empty()) return;
    auto [known, added] = compiled_.try_emplace(text);
    if (added) {
      if (auto program = cel::Pattern::compile(text, pattern_bytes_)) {
        known->second.index = patterns_.size();
        patterns_.push_back(*std::move(program));
      } else {
        known->second.complaint = program.error().message();
      }
    }
    if (known->second.complaint.empty())
      rules(node).pattern = &patterns_[known->second.index];
    else
      errors_.invalid(
          path.field("pattern").text(), text,
          fmt::format("must be a valid regular expression, but isn't: {}", known->second.complaint));
  }

  struct Compiled {
    std::size_t index = 0;
    std::string complaint;
  };
  std::vector<cel::Pattern>& patterns_;  // never grows beyond what was reserved
  const std::size_t pattern_bytes_;
  StatusCauses& errors_;
  std::map<std::string_view, Compiled> compiled_;
  std::size_t schemas_ = 0;
};

}  // namespace

SchemaNode::SchemaNode() = default;
SchemaNode::SchemaNode(SchemaNode&&) noexcept = default;
SchemaNode& SchemaNode::operator=(SchemaNode&&) noexcept = default;
SchemaNode::~SchemaNode() = default;

const SchemaNode* SchemaNode::property(std::string_view name) const {
  const auto it =
      std::lower_bound(properties.begin(), properties.end(), name,
                       [](const Property& each, std::string_view key) { return each.name < key; });
  return it != properties.end() && it->name == name ? it->schema.get() : nullptr;
}

std::string_view name_of(SchemaNode::Type type) {
  for (const auto& [name, each] : kTypes)
    if (each == type) return name;
  return "";
}

std::shared_ptr<const CrdSchema> CrdSchema::compile(const json::Value& schema, const FieldPath& path,
                                                    StatusCauses& errors) {
  auto made = std::make_shared<CrdSchema>();
  made->schema_ = json::clone(schema);
  std::set<std::string_view> patterns;
  collect_patterns(made->schema_, patterns);
  if (patterns.size() > kMaxPatterns) {
    errors.forbidden(path.text(), fmt::format("must have at most {} different patterns", kMaxPatterns));
    return made;
  }
  constexpr std::size_t kMost = std::size_t{1024} * 1024;
  const std::size_t share = std::min(kMost, kPatternBytes / std::max<std::size_t>(patterns.size(), 1));
  made->patterns_.reserve(patterns.size());
  Compiler compiler(made->patterns_, share, errors);
  compiler.compile(made->schema_, path, made->root_);
  if (compiler.too_many())
    errors.forbidden(path.text(), fmt::format("must have at most {} schemas", kMaxSchemas));
  // Expressions are told nothing of a schema that is wrong itself.
  if (errors.empty()) made->rules_ = ExpressionRules::compile(made->schema_, path, errors);
  return made;
}

}  // namespace koord::sandbox
