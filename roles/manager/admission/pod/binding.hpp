// Who may bind pods: while schedulers change, those alone that --binding-admission-user-name names.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::manager {

/// The flags --binding-admission-*, read.
struct BindingRules {
  std::vector<std::string> users;  // a part of a user's name is enough; empty: everybody may
  bool dry_run = false;            // everybody may, and who might not is counted
  bool all_namespaces = false;
  std::vector<std::string> namespaces;  // sorted, as are those below; where the rules hold
  std::vector<std::string> excluded_namespaces;
  std::vector<std::string> bypass_labels, bypass_annotations;  // keys; pods that have one are anybody's

  static BindingRules from(const runtime::FlagValues& flags);
  /// What a flag's list is read into: commas between, spaces around and what is empty left out.
  static std::vector<std::string> list(std::string_view text);
};

/// As they are counted.
enum class BindingDecision : std::uint8_t {
  not_asked,  // the rules hold for nobody, or the pod is not known: allowed, not counted
  allowed_username,
  denied,
  dry_run,
  bypass_label,
  bypass_annotation,
  excluded_ns,
  out_of_scope,
};
std::string_view to_string(BindingDecision decision);

/// Whether `user` may bind a pod of namespace `ns`; `pod` gives its metadata, nullptr where it is not known.
BindingDecision decide_binding(const BindingRules& rules, std::string_view user, std::string_view ns,
                               const std::function<const api::ObjectMeta*()>& pod);

}  // namespace koord::manager
