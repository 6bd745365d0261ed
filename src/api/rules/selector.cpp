#include "koord/api/rules/selector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "koord/api/rules/validation_names.hpp"
#include "koord/base/text.hpp"
#include "selector_check.hpp"

namespace koord::api {

namespace {

std::optional<std::int64_t> parse_int(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void sort_by_key(std::vector<SelectorRequirement>& requirements) {
  std::stable_sort(requirements.begin(), requirements.end(),
                   [](const auto& a, const auto& b) { return a.key.view() < b.key.view(); });
}

}  // namespace

std::string json_list(const std::vector<Symbol>& values) {
  if (values.empty()) return "null";
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == ErrorTexts::kMost) {
      fmt::format_to(std::back_inserter(out), ", and {} more", values.size() - i);
      break;
    }
    if (i > 0) out += ',';
    out += quote(values[i].view());
  }
  return out += ']';
}

SelectorRequirement checked_requirement(Symbol key, SelectorOp op, std::vector<Symbol> values,
                                        const ListPlace& place, ErrorTexts& errors) {
  const std::size_t before = errors.count();
  if (!is_qualified_name(key.view()))
    errors.add([&] {
      return invalid_value(place.text("key"), key.view(), join(check_qualified_name(key.view()), "; "));
    });
  const auto wrong_count = [&](std::string_view detail) {
    errors.add([&] {
      return fmt::format("{}: Invalid value: {}: {}", place.text("values"), json_list(values), detail);
    });
  };
  const auto value_path = [&](std::size_t i) { return fmt::format("{}[{}]", place.text("values"), i); };
  std::int64_t number = 0;
  switch (op) {
    case SelectorOp::in:
    case SelectorOp::not_in:
      if (values.empty()) wrong_count("for 'in', 'notin' operators, values set can't be empty");
      break;
    case SelectorOp::equals:
    case SelectorOp::double_equals:
    case SelectorOp::not_equals:
      if (values.size() != 1) wrong_count("exact-match compatibility requires one single value");
      break;
    case SelectorOp::exists:
    case SelectorOp::does_not_exist:
      if (!values.empty()) wrong_count("values set must be empty for exists and does not exist");
      break;
    case SelectorOp::greater_than:
    case SelectorOp::less_than:
      if (values.size() != 1) wrong_count("for 'Gt', 'Lt' operators, exactly one value is required");
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (const auto read = parse_int(values[i].view())) {
          number = *read;
        } else {
          errors.add([&] {
            return invalid_value(value_path(i), values[i].view(),
                                 "for 'Gt', 'Lt' operators, the value must be an integer");
          });
        }
      }
      break;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_label_value(values[i].view()))
      errors.add([&] {
        return invalid_value(fmt::format("{}[{}]", value_path(i), key.view()), values[i].view(),
                             join(check_label_value(values[i].view()), "; "));
      });
  }
  SelectorRequirement out;
  out.key = std::move(key);
  out.op = op;
  out.values = std::move(values);
  if (errors.count() == before && !std::ranges::is_sorted(out.values)) std::ranges::sort(out.values);
  out.number = number;
  return out;
}

Result<SelectorRequirement> SelectorRequirement::make(Symbol key, SelectorOp op, std::vector<Symbol> values,
                                                      std::string_view path) {
  ErrorTexts errors;
  SelectorRequirement out = checked_requirement(std::move(key), op, std::move(values), {path}, errors);
  if (!errors.empty()) return Error(Code::invalid, errors.aggregate());
  return out;
}

bool SelectorRequirement::matches(const SymbolMap& labels) const {
  const Symbol* label = labels.find(key.view());
  return matches_value(label ? std::optional(label->view()) : std::nullopt);
}

bool SelectorRequirement::matches_value(std::optional<std::string_view> label) const {
  const auto listed = [&] {
    const auto at =
        std::lower_bound(values.begin(), values.end(), *label,
                         [](const Symbol& value, std::string_view l) { return value.view() < l; });
    return at != values.end() && at->view() == *label;
  };
  switch (op) {
    case SelectorOp::equals:
    case SelectorOp::double_equals:
    case SelectorOp::in: return label && listed();
    case SelectorOp::not_equals:
    case SelectorOp::not_in: return !label || !listed();
    case SelectorOp::exists: return label.has_value();
    case SelectorOp::does_not_exist: return !label;
    case SelectorOp::greater_than:
    case SelectorOp::less_than: {
      if (!label) return false;
      const auto value = parse_int(*label);
      if (!value) return false;
      return op == SelectorOp::greater_than ? *value > number : *value < number;
    }
  }
  return false;
}

std::string SelectorRequirement::to_string() const {
  std::string out = op == SelectorOp::does_not_exist ? "!" + key.str() : key.str();
  switch (op) {
    case SelectorOp::equals: out += "="; break;
    case SelectorOp::double_equals: out += "=="; break;
    case SelectorOp::not_equals: out += "!="; break;
    case SelectorOp::in: out += " in ("; break;
    case SelectorOp::not_in: out += " notin ("; break;
    case SelectorOp::greater_than: out += ">"; break;
    case SelectorOp::less_than: out += "<"; break;
    case SelectorOp::exists:
    case SelectorOp::does_not_exist: return out;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    out += values[i].view();
  }
  if (op == SelectorOp::in || op == SelectorOp::not_in) out += ')';
  return out;
}

Selector Selector::nothing() {
  Selector out;
  out.nothing_ = true;
  return out;
}

Selector Selector::from_requirements(std::vector<SelectorRequirement> requirements) {
  Selector out;
  out.requirements_ = std::move(requirements);
  sort_by_key(out.requirements_);
  return out;
}

Selector Selector::from_labels(const SymbolMap& labels) {
  std::vector<SelectorRequirement> requirements;
  for (const auto& [key, value] : labels) requirements.push_back({key, SelectorOp::equals, {value}, 0});
  return from_requirements(std::move(requirements));
}

Result<Selector> Selector::from(const LabelSelector* selector) {
  if (selector == nullptr) return nothing();
  std::vector<SelectorRequirement> requirements;
  for (const auto& [key, value] : selector->match_labels) {
    KOORD_TRY(made, SelectorRequirement::make(key, SelectorOp::equals, {value}));
    requirements.push_back(std::move(made));
  }
  struct Named {
    std::string_view name;
    SelectorOp op;
  };
  constexpr Named kOps[] = {{"In", SelectorOp::in},
                            {"NotIn", SelectorOp::not_in},
                            {"Exists", SelectorOp::exists},
                            {"DoesNotExist", SelectorOp::does_not_exist}};
  for (const LabelSelectorRequirement& expression : selector->match_expressions) {
    const auto* op = std::find_if(std::begin(kOps), std::end(kOps),
                                  [&](const Named& named) { return expression.operator_ == named.name; });
    if (op == std::end(kOps))
      return Error(Code::invalid, fmt::format("{} is not a valid label selector operator",
                                              quote(expression.operator_.view())));
    KOORD_TRY(made, SelectorRequirement::make(expression.key, op->op, expression.values));
    requirements.push_back(std::move(made));
  }
  return from_requirements(std::move(requirements));
}

bool Selector::matches(const SymbolMap& labels) const {
  if (nothing_) return false;
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const SelectorRequirement& requirement) { return requirement.matches(labels); });
}

std::string Selector::to_string() const {
  std::string out;
  for (const SelectorRequirement& requirement : requirements_) {
    if (!out.empty()) out += ',';
    out += requirement.to_string();
  }
  return out;
}

namespace {

/// Undoes the backslashes before backslash, comma and equals.
Result<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      const char next = i + 1 < text.size() ? text[i + 1] : '\0';
      if (next != '\\' && next != ',' && next != '=') {
        // The whole character after the backslash is shown, which may be several bytes.
        std::size_t end = std::min(i + 2, text.size());
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
        return Error(Code::bad_request, fmt::format("invalid field selector: invalid escape sequence: {}",
                                                    text.substr(i, end - i)));
      }
      out += next;
      ++i;
    } else if (text[i] == ',' || text[i] == '=') {
      return Error(Code::bad_request, fmt::format("invalid field selector: unescaped character in value: {}",
                                                  static_cast<int>(text[i])));
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == ',' || c == '=') out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      out.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  out.push_back(text.substr(start));
  return out;
}

}  // namespace

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  FieldSelector out;
  auto terms = split_terms(text);
  std::sort(terms.begin(), terms.end());
  for (const std::string_view term : terms) {
    if (term.empty()) continue;
    std::size_t at = 0;
    while (at < term.size() && term[at] != '=' && !term.substr(at).starts_with("!=")) ++at;
    if (at == term.size()) {
      return Error(Code::bad_request,
                   fmt::format("invalid selector: '{}'; can't understand '{}'", text, term));
    }
    const std::string_view rest = term.substr(at);
    const std::size_t op_size = rest.starts_with("!=") || rest.starts_with("==") ? 2 : 1;
    KOORD_TRY(value, unescape(rest.substr(op_size)));
    if (at == 0 && value.empty()) continue;  // "=" and "!=" demand nothing
    out.terms_.push_back({std::string(term.substr(0, at)), std::move(value), rest[0] == '='});
  }
  return out;
}

FieldSelector FieldSelector::of(std::vector<Term> terms) {
  FieldSelector out;
  out.terms_ = std::move(terms);
  return out;
}

FieldSelector FieldSelector::equals(std::string field, std::string value) {
  return of({{std::move(field), std::move(value), true}});
}

std::optional<std::string_view> FieldSelector::required(std::string_view field) const {
  for (const Term& term : terms_)
    if (term.equal && term.field == field) return term.value;
  return std::nullopt;
}

std::string FieldSelector::to_string() const {
  std::string out;
  for (const Term& term : terms_) {
    if (!out.empty()) out += ',';
    fmt::format_to(std::back_inserter(out), "{}{}{}", term.field,
                   term.equal ? "=" : "!=", escape(term.value));
  }
  return out;
}

}  // namespace koord::api
