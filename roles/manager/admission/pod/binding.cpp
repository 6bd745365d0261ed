// Who may bind pods: see binding.hpp.
#include "admission/pod/binding.hpp"

#include <algorithm>

namespace koord::manager {
namespace {

constexpr std::string_view kNames[] = {"",
                                       "allowed_username",
                                       "denied",
                                       "dry_run",
                                       "bypass_label",
                                       "bypass_annotation",
                                       "excluded_ns",
                                       "out_of_scope"};

std::vector<std::string> sorted(std::vector<std::string> list) {
  std::ranges::sort(list);
  return list;
}

bool has(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::binary_search(list, name, std::ranges::less());
}

bool any_key(const api::SymbolMap& map, const std::vector<std::string>& keys) {
  return std::ranges::any_of(keys, [&](const std::string& key) { return map.contains(key); });
}

}  // namespace

std::string_view to_string(BindingDecision decision) { return kNames[static_cast<std::size_t>(decision)]; }

std::vector<std::string> BindingRules::list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    constexpr std::string_view kSpace = " \t\r\n\v\f";
    const std::size_t first = part.find_first_not_of(kSpace);
    if (first != std::string_view::npos)
      out.emplace_back(part.substr(first, part.find_last_not_of(kSpace) - first + 1));
  }
  return out;
}

BindingRules BindingRules::from(const runtime::FlagValues& flags) {
  BindingRules rules;
  rules.users = list(flags.get("binding-admission-user-name"));
  rules.dry_run = flags.get_bool("binding-admission-dry-run");
  rules.all_namespaces = flags.get("binding-admission-namespaces") == "*";
  rules.namespaces = sorted(list(flags.get("binding-admission-namespaces")));
  rules.excluded_namespaces = sorted(list(flags.get("binding-admission-exclude-namespaces")));
  rules.bypass_labels = list(flags.get("binding-admission-bypass-labels"));
  rules.bypass_annotations = list(flags.get("binding-admission-bypass-annotations"));
  return rules;
}

BindingDecision decide_binding(const BindingRules& rules, std::string_view user, std::string_view ns,
                               const std::function<const api::ObjectMeta*()>& pod) {
  using enum BindingDecision;
  if (rules.users.empty()) return not_asked;
  if (std::ranges::any_of(rules.users,
                          [&](const std::string& name) { return user.find(name) != std::string_view::npos; }))
    return allowed_username;
  if (has(rules.excluded_namespaces, ns)) return excluded_ns;
  if (!rules.all_namespaces && rules.namespaces.empty()) return not_asked;
  if (!rules.all_namespaces && !has(rules.namespaces, ns)) return out_of_scope;
  const api::ObjectMeta* const meta = pod();
  if (meta == nullptr) return not_asked;
  if (any_key(meta->labels, rules.bypass_labels)) return bypass_label;
  if (any_key(meta->annotations, rules.bypass_annotations)) return bypass_annotation;
  return rules.dry_run ? dry_run : denied;
}

}  // namespace koord::manager
