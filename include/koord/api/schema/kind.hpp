// What the API server calls an object's type, and how it is reached.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace koord::api {

class Schema;

/// A column that kubectl prints for a custom resource.
struct PrinterColumn {
  std::string_view name;
  std::string_view type;  // string, integer, date, ...
  std::string_view json_path;
  std::string_view description = {};
  std::string_view format = {};
  int32_t priority = 0;  // above 0: with -o wide only
};

/// Made as Kind("apps/v1", "Deployment", "deployments") and refined by the methods. A namespaced built-in
/// kind at first.
struct Kind {
  std::string_view group;  // "" is the core group
  std::string_view version;
  std::string_view kind;
  std::string_view plural;  // the resource in URLs
  std::string_view doc = {};
  bool namespaced = true;
  // Of custom resources, whose manifest koord prints.
  bool custom = false;                   // patched by merge patch, strategic merge is not served
  bool has_status = false;               // the status subresource exists
  std::string_view approval = {};        // of groups in k8s.io: where Kubernetes agreed to it
  const Schema& (*storage)() = nullptr;  // another version of it, in which objects are stored
  std::span<const std::string_view> short_names = {};
  std::span<const std::string_view> categories = {};
  std::span<const PrinterColumn> columns = {};

  /// `api_version` is "v1" or "apps/v1"; `plural` is empty for what is no resource, such as a config file.
  constexpr Kind(std::string_view api_version, std::string_view name, std::string_view resource = {})
      : version(api_version), kind(name), plural(resource) {
    if (const auto slash = version.find('/'); slash != std::string_view::npos) {
      group = version.substr(0, slash);
      version.remove_prefix(slash + 1);
    }
  }

  constexpr Kind with(auto Kind::*member, auto value) const {
    Kind k = *this;
    k.*member = value;
    return k;
  }
  constexpr Kind cluster_scoped() const { return with(&Kind::namespaced, false); }
  /// A custom resource, described for its manifest. It has the status subresource.
  constexpr Kind custom_resource(std::string_view text) const {
    return with(&Kind::custom, true).with(&Kind::has_status, true).with(&Kind::doc, text);
  }
  constexpr Kind without_status() const { return with(&Kind::has_status, false); }
  /// Kubernetes' own groups (k8s.io) are open to those who name the pull request that allowed it.
  constexpr Kind approved(std::string_view url) const { return with(&Kind::approval, url); }
  /// The manifest serves both versions. Their objects differ in nothing but fields.
  constexpr Kind stored_as(const Schema& (*version)()) const { return with(&Kind::storage, version); }
  constexpr Kind shorts(std::span<const std::string_view> names) const {
    return with(&Kind::short_names, names);
  }
  constexpr Kind in_categories(std::span<const std::string_view> names) const {
    return with(&Kind::categories, names);
  }
  constexpr Kind printed(std::span<const PrinterColumn> wanted) const { return with(&Kind::columns, wanted); }

  /// "v1" or "apps/v1".
  std::string api_version() const;
  /// "deployment".
  std::string singular() const;
};

}  // namespace koord::api
