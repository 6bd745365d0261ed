#include "sandbox/admission/match_conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "koord/json/writer.hpp"
#include "sandbox/admission/metadata.hpp"

namespace koord::sandbox {
namespace {

using cel::TypeKind;
using cel::TypeRef;

constexpr std::size_t kMostConditions = 64, kMaxWeight = 1'000'000;

TypeRef request_type() {
  const TypeRef text = cel::simple_type(TypeKind::string), texts = cel::list_type(text);
  const TypeRef kind = cel::structure_type("kubernetes.GroupVersionKind",
                                           {{"group", text}, {"version", text}, {"kind", text}});
  const TypeRef resource = cel::structure_type("kubernetes.GroupVersionResource",
                                               {{"group", text}, {"version", text}, {"resource", text}});
  const TypeRef user = cel::structure_type(
      "kubernetes.UserInfo",
      {{"username", text}, {"uid", text}, {"groups", texts}, {"extra", cel::map_type(text, texts)}});
  return cel::structure_type("kubernetes.AdmissionRequest", {{"kind", kind},
                                                             {"resource", resource},
                                                             {"subResource", text},
                                                             {"requestKind", kind},
                                                             {"requestResource", resource},
                                                             {"requestSubResource", text},
                                                             {"name", text},
                                                             {"namespace", text},
                                                             {"operation", text},
                                                             {"userInfo", user},
                                                             {"dryRun", cel::simple_type(TypeKind::boolean)},
                                                             {"options", cel::simple_type(TypeKind::dyn)}});
}

/// Declared, as kube-apiserver does, though no webhook has it: it is null.
TypeRef namespace_type() {
  const TypeRef text = cel::simple_type(TypeKind::string), time = cel::simple_type(TypeKind::timestamp),
                whole = cel::simple_type(TypeKind::integer), texts = cel::list_type(text),
                labels = cel::map_type(text, text);
  const TypeRef condition = cel::structure_type(
      "kubernetes.NamespaceCondition",
      {{"status", text}, {"type", text}, {"lastTransitionTime", time}, {"message", text}, {"reason", text}});
  const TypeRef status = cel::structure_type("kubernetes.NamespaceStatus",
                                             {{"conditions", cel::list_type(condition)}, {"phase", text}});
  const TypeRef metadata =
      cel::structure_type("kubernetes.NamespaceMetadata", {{"name", text},
                                                           {"generateName", text},
                                                           {"namespace", text},
                                                           {"labels", labels},
                                                           {"annotations", labels},
                                                           {"UID", text},
                                                           {"creationTimestamp", time},
                                                           {"deletionGracePeriodSeconds", whole},
                                                           {"deletionTimestamp", time},
                                                           {"generation", whole},
                                                           {"resourceVersion", text},
                                                           {"finalizers", texts}});
  return cel::structure_type(
      "kubernetes.Namespace",
      {{"metadata", metadata},
       {"spec", cel::structure_type("kubernetes.NamespaceSpec", {{"finalizers", texts}})},
       {"status", status}});
}

const cel::Environment& environment() {
  static const cel::Environment kEnvironment = [] {
    cel::Environment::Options options;
    options.authorizer = "the sandbox has no authorizer that expressions could ask; leave `authorizer` out";
    const TypeRef any = cel::simple_type(TypeKind::dyn);
    return cel::Environment({{"object", any},
                             {"oldObject", any},
                             {"namespaceObject", namespace_type()},
                             {"request", request_type()}},
                            options);
  }();
  return kEnvironment;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const std::size_t from = text.find_first_not_of(kBlanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlanks) - from + 1);
}

/// The error's message is kube-apiserver's of an expression that it refuses.
Result<cel::Program> compile(std::string_view expression) {
  auto program = environment().compile(expression);
  if (!program) {
    const std::string why = program.error().message();
    return why.starts_with("ERROR:") ? program.error().context("compilation failed") : program.error();
  }
  if (program->type().kind != TypeKind::boolean)
    return Error(Code::invalid,
                 fmt::format("must evaluate to bool but got {}", cel::to_string(program->type())));
  return program;
}

}  // namespace

MatchConditions::MatchConditions(const json::Value* list) {
  if (!list) return;
  for (const json::Value& each : list->elements()) {
    const std::string_view expression = trimmed(text_at(each, "expression"));
    conditions_.push_back({std::string(expression), compile(expression)});
  }
}

MatchConditions::Judgement MatchConditions::judge(const json::Value& request) const {
  std::vector<std::string> failures;
  std::uint64_t left = cel::kCostOfMatchConditions;
  cel::Memory memory;  // one for all of them: so long they may keep others waiting
  const auto member = [&](std::string_view name) {
    const json::Value* value = find(request, name);
    return value ? cel::Value::json(*value, memory) : cel::Value::null();
  };
  const std::array<cel::Value, 4> variables = {member("object"), member("oldObject"), cel::Value::null(),
                                               cel::Value::json(request, memory)};
  for (const Condition& condition : conditions_) {
    if (!condition.program) {
      failures.push_back(condition.program.error().message());
      continue;
    }
    cel::Meter meter;
    const cel::Value value = condition.program->run(variables, memory, meter);
    if (meter.used > left)
      return {Judgement::End::failed,
              "validation failed due to running out of cost budget, no further validation rules will be run"};
    left -= meter.used;
    if (value.is_false()) return {Judgement::End::mismatch, {}};
    if (value.is_error())
      failures.push_back(
          fmt::format("expression '{}' resulted in error: {}", condition.expression, value.fault().message));
  }
  if (failures.empty()) return {};
  if (failures.size() == 1) return {Judgement::End::failed, std::move(failures.front())};
  return {Judgement::End::failed, fmt::format("[{}]", fmt::join(failures, ", "))};
}

void validate_match_conditions(const json::Value* list, const FieldPath& path, std::size_t& weight,
                               StatusCauses& errors) {
  if (is_empty(list)) return;
  if (!list->is_array())
    return errors.wrong_type(path.text(), json::to_text(*list), "must be a list of conditions");
  if (list->size() > kMostConditions)
    return errors.forbidden(path.text(), fmt::format("must have at most {} items", kMostConditions));
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json::Value& condition = (*list)[i];
    const FieldPath at = path.at(i);
    const std::string_view expression = trimmed(text_at(condition, "expression")),
                           name = text_at(condition, "name");
    if (expression.empty())
      errors.required(at.field("expression").text());
    else if (weight > kMaxWeight)
      errors.forbidden(at.text(), "the conditions of this configuration are too many or too large");
    else if (const auto program = compile(expression); !program)
      errors.invalid(at.field("expression").text(), expression, program.error().message());
    else
      weight += program->weight();
    if (name.empty())
      errors.required(at.field("name").text());
    else
      add_errors(api::check_qualified_name(name), at.field("name").text(), name, errors);
    if (!name.empty() && !names.insert(name).second) errors.duplicate(at.field("name").text(), name);
  }
}

}  // namespace koord::sandbox
