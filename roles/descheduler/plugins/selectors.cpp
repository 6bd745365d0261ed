// See selectors.hpp.
#include "plugins/selectors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"

namespace koord::descheduler {

KOORD_SCHEMA(NamedSelector, ROW(name).doc("Says what it is."),
             ROW(selector).doc("Pods with these labels; absent: this one does not count."));

AnyOf::AnyOf(const std::vector<NamedSelector>& selectors) {
  for (const NamedSelector& each : selectors) add(each.selector);
}

void AnyOf::add(const api::Box<api::LabelSelector>& selector) {
  if (selector) selectors_.push_back(selector_or_all(selector));
}

bool AnyOf::has(const api::SymbolMap& labels) const {
  return selectors_.empty() ||
         std::ranges::any_of(selectors_, [&](const api::Selector& each) { return each.matches(labels); });
}

api::Selector selector_or_all(const api::Box<api::LabelSelector>& selector) {
  if (!selector) return {};
  auto read = api::Selector::from(selector.get());
  return read ? std::move(*read) : api::Selector::nothing();
}

void check_selector(const api::Box<api::LabelSelector>& selector, const std::string& path,
                    api::FieldErrors& errors) {
  if (!selector) return;
  if (const auto read = api::Selector::from(selector.get()); !read)
    errors.invalid(path, api::encode(*selector), read.error().message());
}

void check_either(const std::vector<std::string>& include, const std::vector<std::string>& exclude,
                  const std::string& path, api::FieldErrors& errors) {
  if (include.empty() || exclude.empty()) return;
  errors.invalid(path,
                 fmt::format(R"({{"include":["{}"],"exclude":["{}"]}})", fmt::join(include, "\",\""),
                             fmt::join(exclude, "\",\"")),
                 "only one of Include/Exclude namespaces can be set");
}

std::string field_of(std::string_view path, std::string_view field) {
  return path.empty() ? std::string(field) : fmt::format("{}.{}", path, field);
}

std::vector<const NodeView*> selected_nodes(const Pass& pass, const api::Selector& selector) {
  std::vector<const NodeView*> nodes;
  for (const NodeView* node : pass.nodes())
    if (selector.matches(node->node->metadata.labels)) nodes.push_back(node);
  return nodes;
}

}  // namespace koord::descheduler
