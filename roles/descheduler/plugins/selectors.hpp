// Which nodes and pods Koordinator's own plugins look at.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin.hpp"
#include "koord/api/rules/field_errors.hpp"
#include "koord/api/rules/selector.hpp"

namespace koord::descheduler {

struct NamedSelector {
  std::string name;
  api::Box<api::LabelSelector> selector;  // absent: it does not count
  KOORD_STRUCT(NamedSelector);
};

/// Only what some of them select; all where none counts. Those that cannot be read, which check_selector()
/// refuses, select nothing.
class AnyOf {
 public:
  AnyOf() = default;
  explicit AnyOf(const std::vector<NamedSelector>& selectors);
  void add(const api::Box<api::LabelSelector>& selector);
  bool has(const api::SymbolMap& labels) const;

 private:
  std::vector<api::Selector> selectors_;
};

/// Absent: everything. One that cannot be read selects nothing.
api::Selector selector_or_all(const api::Box<api::LabelSelector>& selector);
/// As field.Invalid: "PATH: Invalid value: {...}: why".
void check_selector(const api::Box<api::LabelSelector>& selector, const std::string& path,
                    api::FieldErrors& errors);
/// Of a list of those, as field.Required: one in which none counts would choose all pods.
template <class Selectors>
void check_some_selector(const Selectors& selectors, std::string_view path, api::FieldErrors& errors) {
  if (!selectors.empty() && std::ranges::none_of(selectors, [](const auto& each) { return !!each.selector; }))
    errors.required(path, "none of them has a selector: all pods would be chosen");
}
/// Both lists at once, as field.Invalid.
void check_either(const std::vector<std::string>& include, const std::vector<std::string>& exclude,
                  const std::string& path, api::FieldErrors& errors);
/// "PATH.FIELD", or the field alone.
std::string field_of(std::string_view path, std::string_view field);

/// Those of the pass that the selector selects.
std::vector<const NodeView*> selected_nodes(const Pass& pass, const api::Selector& selector);

}  // namespace koord::descheduler
