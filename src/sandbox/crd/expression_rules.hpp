// x-kubernetes-validations: rules of custom resources, and what becomes of objects that break them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/cel/environment.hpp"
#include "koord/cel/shape.hpp"
#include "koord/json/value.hpp"
#include "sandbox/base/field_path.hpp"
#include "sandbox/base/status.hpp"

namespace koord::sandbox {

/// The rules of one schema, compiled. Immutable. An object costs at most cel::kCostOfObject, each expression
/// cel::kCostOfExpression, as in kube-apiserver; what it estimates of costs beforehand is not estimated here.
class ExpressionRules {
 public:
  /// nullptr if the schema has none. `schema` must live longer. What is wrong is added to `errors`.
  static std::shared_ptr<const ExpressionRules> compile(const json::Value& schema, const FieldPath& path,
                                                        StatusCauses& errors);

  /// `old` is the object before, nullptr when it is new: rules that mention oldSelf are asked about changes
  /// alone, and what did not change may go on to break the others.
  void validate(const json::Value& object, const json::Value* old, StatusCauses& errors) const;

 private:
  struct Rule {
    std::string text, message, reason, field_path;
    std::optional<cel::Program> program, message_program;
    bool uses_old = false, optional_old = false;
  };
  struct Node {
    struct Property {
      std::string_view name;
      std::unique_ptr<Node> node;
    };
    std::string_view type;
    std::vector<Rule> rules;
    std::vector<Property> properties;
    std::unique_ptr<Node> items, additional;
    std::vector<std::string_view> map_keys;  // of a list of type map
    const cel::Shape* shape = nullptr;       // where there are rules
    bool correlates = true;                  // parts of the old value can be found
  };
  /// What compiling the rules of one definition may take (cel::Program::weight()).
  static constexpr std::size_t kMaxWeight = 1'000'000;
  class Compiler;
  class Validation;
  std::vector<std::unique_ptr<cel::Shape>>
      shapes_;  // the object's, and those of properties that no expression can name
  std::unique_ptr<Node> root_;
};

}  // namespace koord::sandbox
