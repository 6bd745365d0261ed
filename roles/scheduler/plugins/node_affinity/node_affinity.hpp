// NodeAffinity: spec.nodeSelector and node affinity, and what the arguments add to every pod's.
#pragma once

#include "framework/args.hpp"
#include "koord/api/types/core_v1/pod_affinity.hpp"

namespace koord::scheduler::node_affinity {

struct NodeAffinityArgs {
  api::Box<api::NodeAffinity> added_affinity;

  void set_defaults() {}
  void validate(const std::string& path, FieldErrors& errors) const;
  KOORD_STRUCT(NodeAffinityArgs);
};

extern const ArgsType kArgs;
Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context);

}  // namespace koord::scheduler::node_affinity
