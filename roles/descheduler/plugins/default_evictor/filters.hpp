// Filters: which pods DefaultEvictor lets go.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "evictions/evictable.hpp"
#include "framework/plugin.hpp"
#include "plugins/default_evictor/args.hpp"

namespace koord::api {
struct PersistentVolumeClaim;
}

namespace koord::descheduler::default_evictor {

/// Belongs to the role's strand.
class Filters {
 public:
  struct Sources {
    /// As of PluginContext.
    std::function<const Snapshot*()> snapshot;
    std::function<Pass*()> pass;
    /// By namespace and name; nullptr: none is known. Only asked where needs_claims().
    std::function<std::shared_ptr<const api::PersistentVolumeClaim>(std::string_view, std::string_view)>
        claim;
  };
  /// `args` have been validated.
  Filters(const DefaultEvictorArgs& args, Sources sources);

  /// As of Evictor.
  std::string why_not(const api::Pod& pod);
  std::string why_not_now(const api::Pod& pod);

  static bool needs_claims(const DefaultEvictorArgs& args);

 private:
  /// What is remembered of a pass.
  struct Known {
    std::uint64_t snapshot = 0;
    std::unordered_map<std::string_view, std::size_t> replicas;                // by the owner's UID
    std::unordered_map<std::string_view, std::vector<api::Selector>> budgets;  // by namespace
    std::optional<std::int32_t> threshold;                                     // of priority_class_
    std::vector<const NodeView*> nodes;                                        // for nodeFit
  };
  const Known& known(const Snapshot& snapshot);
  std::string why_not_by_pass(const api::Pod& pod, const Snapshot& snapshot);
  std::string why_not_by_claims(const api::Pod& pod) const;
  static bool is_covered(const api::Pod& pod, const Known& known);

  DefaultEvictorArgs args_;
  Sources sources_;
  Protections kept_;
  EvictableRules rules_;
  std::string priority_class_;
  std::vector<std::string> storage_classes_;
  api::Selector nodes_;
  std::optional<api::Selector> namespaces_;
  Known known_;
};

}  // namespace koord::descheduler::default_evictor
