// RBAC from the rows of rights.
#include "manifests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "koord/json/value.hpp"
#include "koord/json/yaml.hpp"

namespace koord::app {

namespace {

using json::Value;
using runtime::Right;
using runtime::RoleDescriptor;

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

class Printer {
 public:
  void account(std::string_view name) {
    json::Arena arena;
    Value out = object("v1", "ServiceAccount", name, runtime::kOwnNamespace, arena);
    print(out);
  }

  /// Those that this gate or flag alone needs, or, without a name, the others. Nothing where no right is of
  /// that namespace.
  void rights(const RoleDescriptor& role, std::string_view ns, std::string_view needed_by = {}) {
    json::Arena arena;
    const std::string_view kind = ns.empty() ? "ClusterRole" : "Role";
    const std::string name = fmt::format("{}-{}", role.account, needed_by.empty() ? "role" : needed_by);
    Value granted = object(version_, kind, name, ns, arena);
    Value rules = Value::array();
    for (const Right& right : role.rights)
      if (right.ns == ns && right.needed_by == needed_by) rules.push_back(rule(right, arena), arena);
    if (rules.empty()) return;
    set(granted, "rules", std::move(rules), arena);
    print(granted);

    // Not "-rolebinding": Koordinator's of the scheduler leads to another role, which no binding ever
    // changes.
    Value bound = object(version_, ns.empty() ? "ClusterRoleBinding" : "RoleBinding", name, ns, arena);
    Value& reference = object_at(bound, "roleRef", arena);
    set_text(reference, "apiGroup", kGroup, arena);
    set_text(reference, "kind", kind, arena);
    set_text(reference, "name", name, arena);
    Value subject = Value::object();
    set_text(subject, "kind", "ServiceAccount", arena);
    set_text(subject, "name", role.account, arena);
    set_text(subject, "namespace", runtime::kOwnNamespace, arena);
    array_at(bound, "subjects", arena).push_back(std::move(subject), arena);
    print(bound);
  }

  std::string take() { return std::move(out_); }

 private:
  static Value object(std::string_view api_version, std::string_view kind, std::string_view name,
                      std::string_view ns, json::Arena& arena) {
    Value out = Value::object();
    set_text(out, "apiVersion", api_version, arena);
    set_text(out, "kind", kind, arena);
    Value& metadata = object_at(out, "metadata", arena);
    set_text(metadata, "name", name, arena);
    if (!ns.empty()) set_text(metadata, "namespace", ns, arena);
    return out;
  }

  static Value rule(const Right& right, json::Arena& arena) {
    Value out = Value::object();
    const auto list = [&](std::string_view key, std::string_view words) {
      Value& to = array_at(out, key, arena);
      do {
        const auto space = words.find(' ');
        to.push_back(make_text(words.substr(0, space), arena), arena);
        words = space == std::string_view::npos ? std::string_view() : words.substr(space + 1);
      } while (!words.empty());
    };
    list("apiGroups", right.group);
    list("resources", right.resource);
    list("verbs", right.verbs);
    if (!right.name.empty()) list("resourceNames", right.name);
    return out;
  }

  void print(const Value& document) {
    if (!out_.empty()) out_ += "---\n";
    out_ += json::to_yaml(document);
  }

  const std::string version_ = fmt::format("{}/v1", kGroup);
  std::string out_;
};

std::vector<std::string_view> namespaces_of(const RoleDescriptor& role) {
  std::vector<std::string_view> namespaces = {""};
  for (const Right& right : role.rights)
    if (std::ranges::find(namespaces, right.ns) == namespaces.end()) namespaces.push_back(right.ns);
  return namespaces;
}

}  // namespace

std::string access_manifests(Roles roles) {
  Printer printer;
  for (const RoleDescriptor* role : roles) {
    if (role->account.empty()) continue;
    printer.account(role->account);
    for (const std::string_view ns : namespaces_of(*role)) printer.rights(*role, ns);
  }
  return printer.take();
}

std::vector<std::string_view> gates_with_rights(Roles roles) {
  std::vector<std::string_view> names;
  for (const RoleDescriptor* role : roles)
    for (const Right& right : role->rights)
      if (!right.needed_by.empty() && std::ranges::find(names, right.needed_by) == names.end())
        names.push_back(right.needed_by);
  return names;
}

std::string gate_manifests(Roles roles, std::string_view name) {
  Printer printer;
  for (const RoleDescriptor* role : roles)
    for (const std::string_view ns : namespaces_of(*role)) printer.rights(*role, ns, name);
  return printer.take();
}

std::string webhook_manifests(Roles roles) {
  std::string out;
  for (const RoleDescriptor* role : roles) {
    if (role->webhooks == nullptr) continue;
    if (!out.empty()) out += "---\n";
    out += role->webhooks();
  }
  return out;
}

}  // namespace koord::app
