#include "scope_filter.hpp"

#include <stdexcept>

namespace koord::kube {

namespace {

struct Term {
  std::string_view field, value;
  bool equal = true;
};

std::optional<Term> split(std::string_view text) {
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  Term term{text.substr(0, at), text.substr(at + 1)};
  if (term.field.back() == '!') {
    term.equal = false;
    term.field.remove_suffix(1);
  } else if (term.value.starts_with('=')) {
    term.value.remove_prefix(1);
  }
  if (term.field.empty()) return std::nullopt;
  return term;
}

template <class Fn>
void for_each_term(std::string_view fields, Fn fn) {
  while (!fields.empty()) {
    const std::size_t end = std::min(fields.find(','), fields.size());
    fn(fields.substr(0, end));
    fields.remove_prefix(std::min(end + 1, fields.size()));
  }
}

std::string_view text_at(const std::vector<const api::Field*>& path, const void* object) {
  const void* here = object;
  for (const api::Field* field : path) here = static_cast<const char*>(here) + field->offset;
  if (path.back()->type->kind == api::TypeKind::symbol) return static_cast<const Symbol*>(here)->view();
  return *static_cast<const std::string*>(here);
}

}  // namespace

void validate(const Scope& scope) {
  for_each_term(scope.fields, [&](std::string_view text) {
    if (!split(text))
      throw std::invalid_argument("field selector \"" + scope.fields + "\": \"" + std::string(text) +
                                  "\" is neither field=value nor field!=value");
  });
}

std::optional<ScopeFilter::Requirement> ScopeFilter::parse(const ObjectType& type, std::string_view text) {
  const std::optional<Term> term = split(text);
  if (!term) return std::nullopt;
  Requirement requirement{{}, std::string(term->value), term->equal};
  const api::Schema* schema = &type.schema();
  std::string_view rest = term->field;
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
  if (wide.labels != narrow.labels) return std::nullopt;
  if (wide.ns != narrow.ns) {
    if (!wide.ns.empty()) return std::nullopt;
    filter.ns_ = narrow.ns;
  }
  if (wide.fields != narrow.fields) {
    if (!wide.fields.empty()) return std::nullopt;
    bool known = true;
    for_each_term(narrow.fields, [&](std::string_view text) {
      std::optional<Requirement> requirement = parse(type, text);
      if (!requirement)
        known = false;
      else
        filter.fields_.push_back(std::move(*requirement));
    });
    if (!known) return std::nullopt;
  }
  return filter;
}

bool ScopeFilter::matches(const void* object) const {
  if (!ns_.empty() && type_->meta(object).namespace_ != ns_) return false;
  for (const Requirement& requirement : fields_)
    if ((text_at(requirement.path, object) == requirement.value) != requirement.equal) return false;
  return true;
}

}  // namespace koord::kube
