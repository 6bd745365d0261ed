// Kind: one row of the table of kinds that the sandbox serves; Registry: the table at run time.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"
#include "sandbox/base/json_path.hpp"
#include "sandbox/base/status.hpp"
#include "sandbox/store/store.hpp"

namespace koord::sandbox {

class Registry;
class CrdSchema;
struct Kind;

/// What a kind's functions may look at while an object is written.
struct Admission {
  const Kind& kind;
  const Registry& registry;
  json::Arena& arena;
  WallTime now;
  std::string_view subresource;  // "", "status", "scale", "binding", ...
};

/// Behaviour beyond what every object gets; any may be null.
struct KindRules {
  /// Before defaults on creation: clears what the server owns (status).
  void (*prepare_create)(json::Value& object, Admission& admission) = nullptr;
  /// Kubernetes' defaults for absent fields; on every write.
  void (*defaults)(json::Value& object, json::Arena& arena) = nullptr;
  /// Admission plug-ins: may change or refuse. `old` is null on creation.
  Outcome<void> (*admit)(json::Value& object, const json::Value* old, Admission& admission) = nullptr;
  void (*validate)(const json::Value& object, const json::Value* old, Admission& admission,
                   StatusCauses& errors) = nullptr;
  FieldValues (*fields)(const json::Value& object) = nullptr;  // for field selectors
};

// Fields that no selector knows.
/// Of pods: "true" if the condition Ready is.
inline constexpr std::string_view kReadyField = "(ready)";
/// Of pods: the names of the claims that they use, each ended by a comma. Claims that the pod brings along
/// (ephemeral volumes) end with "+,".
inline constexpr std::string_view kClaimsField = "(claims)";
/// Of claims: the volume's name once they are bound to it.
inline constexpr std::string_view kBoundField = "(bound)";

struct Column {
  std::string name, type, format, description;
  int priority = 0;                   // 0 is always shown, others in the wide form
  std::optional<JsonPath> path = {};  // of custom resources
};

enum class NameRule : std::uint8_t { subdomain, label, dns1035, path_segment };

/// Renders the cells of one row as JSON values, in the order of the columns.
using CellsFn = void (*)(const json::Value& object, WallTime now, std::vector<std::string>& cells);

struct Kind {
  std::string group, version, resource, singular, kind;
  bool namespaced = true;
  std::vector<std::string> short_names, categories;
  std::vector<std::string> verbs;  // as discovery lists them
  bool status = false, scale = false;
  bool counts_generation = false;  // a changed spec bumps metadata.generation
  bool custom = false;             // from a CustomResourceDefinition
  NameRule names = NameRule::subdomain;
  KindRules rules;
  std::vector<Column> columns;  // empty: Name and Age
  CellsFn cells = nullptr;
  std::shared_ptr<const CrdSchema> schema;

  /// Where the objects are; several versions share one. Null for kinds that are never stored.
  Collection* objects = nullptr;
  /// Another form of what is stored (events.k8s.io of core events): applied to the whole document.
  void (*to_stored)(json::Value& object, json::Arena& arena) = nullptr;
  void (*from_stored)(json::Value& object, json::Arena& arena) = nullptr;
  std::string stored_version;  // custom kinds: the apiVersion of the stored form, if another

  std::string api_version() const { return group.empty() ? version : fmt::format("{}/{}", group, version); }
  Named named() const { return {group, resource}; }
  bool is_stored_form() const { return !from_stored && stored_version.empty(); }
};

/// The kinds by group, version and resource. Custom ones come and go; a Kind that has gone stays valid
/// while someone holds it.
class Registry {
 public:
  explicit Registry(Store& store) : store_(store) {}

  using KindPtr = std::shared_ptr<const Kind>;
  KindPtr find(std::string_view group, std::string_view version, std::string_view resource) const;
  KindPtr find_kind(std::string_view api_version, std::string_view kind) const;
  /// A built-in kind, which is known to exist.
  const Kind& get(std::string_view group, std::string_view resource) const;
  /// Replaces a kind of the same group, version and resource.
  void add(Kind kind);
  void remove(std::string_view group, std::string_view version, std::string_view resource);
  /// In the order in which they were added.
  const std::vector<KindPtr>& all() const { return kinds_; }
  Store& store() const { return store_; }
  /// Changes whenever a kind is added or removed.
  std::uint64_t revision() const { return revision_; }

 private:
  Store& store_;
  std::vector<KindPtr> kinds_;
  std::map<std::string, KindPtr, std::less<>> by_resource_, by_kind_;
  std::uint64_t revision_ = 0;
};

/// Of NodeMetrics and PodMetrics, which are worked out when they are asked for.
inline constexpr std::string_view kMetricsGroup = "metrics.k8s.io";

}  // namespace koord::sandbox
