#include "scope_filter.hpp"

#include <stdexcept>

namespace koord::kube {

namespace {

std::string_view text_at(const std::vector<const api::Field*>& path, const void* object) {
  const void* here = object;
  for (const api::Field* field : path) here = static_cast<const char*>(here) + field->offset;
  if (path.back()->type->kind == api::TypeKind::symbol) return static_cast<const Symbol*>(here)->view();
  return *static_cast<const std::string*>(here);
}

}  // namespace

void validate(const Scope& scope) {
  if (const auto fields = api::FieldSelector::parse(scope.fields); !fields)
    throw std::invalid_argument("field selector \"" + scope.fields + "\": " + fields.error().message());
  if (const auto labels = api::Selector::parse(scope.labels); !labels)
    throw std::invalid_argument("label selector \"" + scope.labels + "\": " + labels.error().message());
}

std::optional<ScopeFilter::Requirement> ScopeFilter::compile(const ObjectType& type,
                                                             const api::FieldSelector::Term& term) {
  Requirement requirement{{}, term.value, term.equal};
  const api::Schema* schema = &type.schema();
  std::string_view rest = term.field;
  while (schema != nullptr && !rest.empty()) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const api::Field* field = schema->find(rest.substr(0, dot));
    if (field == nullptr) return std::nullopt;
    requirement.path.push_back(field);
    rest.remove_prefix(std::min(dot + 1, rest.size()));
    schema = field->type->kind == api::TypeKind::structure ? &field->type->schema() : nullptr;
  }
  if (!rest.empty() || requirement.path.empty()) return std::nullopt;
  const api::TypeKind kind = requirement.path.back()->type->kind;
  if (kind != api::TypeKind::string && kind != api::TypeKind::symbol) return std::nullopt;
  return requirement;
}

std::optional<ScopeFilter> ScopeFilter::between(const ObjectType& type, const Scope& wide,
                                                const Scope& narrow) {
  ScopeFilter filter;
  filter.type_ = &type;
  if (wide.ns != narrow.ns) {
    if (!wide.ns.empty()) return std::nullopt;
    filter.ns_ = narrow.ns;
  }
  if (wide.labels != narrow.labels) {
    auto labels = api::Selector::parse(narrow.labels);
    if (!wide.labels.empty() || !labels) return std::nullopt;
    filter.labels_ = std::move(*labels);
  }
  if (wide.fields != narrow.fields) {
    const auto fields = api::FieldSelector::parse(narrow.fields);
    if (!wide.fields.empty() || !fields) return std::nullopt;
    for (const api::FieldSelector::Term& term : fields->terms()) {
      std::optional<Requirement> requirement = compile(type, term);
      if (!requirement) return std::nullopt;
      filter.fields_.push_back(std::move(*requirement));
    }
  }
  return filter;
}

bool ScopeFilter::matches(const void* object) const {
  if (!ns_.empty() && type_->meta(object).namespace_ != ns_) return false;
  if (!labels_.matches(type_->meta(object).labels)) return false;
  for (const Requirement& requirement : fields_)
    if ((text_at(requirement.path, object) == requirement.value) != requirement.equal) return false;
  return true;
}

}  // namespace koord::kube
