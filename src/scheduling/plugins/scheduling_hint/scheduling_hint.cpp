// SchedulingHint: a pod goes to one of the nodes that its annotation names, and first of all to those that it
// prefers.
#include <algorithm>

#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/plugin/pod_hint.hpp"

namespace koord::scheduling {

namespace scheduling_hint {

struct SchedulingHintArgs {
  std::optional<std::int32_t> max_hint_nodes;

  void validate(const std::string&, FieldErrors& errors) const {
    if (*max_hint_nodes <= 0)
      errors.invalid("maxHintNodes", std::to_string(*max_hint_nodes), "must be a positive value");
  }
  KOORD_STRUCT(SchedulingHintArgs);
};
KOORD_OBJECT(SchedulingHintArgs, args_kind("SchedulingHintArgs"),
             ROW(max_hint_nodes).default_json("100").doc("Preferred nodes beyond so many are not tried."));

namespace {

class SchedulingHint final : public Plugin,
                             public PreFilterAlonePlugin,
                             public PreferNodesPlugin,
                             public EventPlugin {
 public:
  SchedulingHint(const SchedulingHintArgs& args, const PluginContext&)
      : max_(static_cast<std::size_t>(*args.max_hint_nodes)) {}

  /// Not the preferred ones: no answer follows from them.
  bool sign(const PodInfo& pod, Signature& signature) const override {
    const auto hint = hint_of(*pod.pod);
    signature.add(std::int64_t{hint.has_error()});
    if (!hint) signature.add(hint.error().message());
    signature.add(static_cast<std::int64_t>(hint && *hint ? (*hint)->node_names.size() : 0));
    if (hint && *hint)
      for (const std::string& name : (*hint)->node_names) signature.add(name);
    return true;
  }
  // Of the pod alone; nothing is worth sharing.
  Depends filter_depends() const override { return Depends::pods; }
  Prepared prepare_filter(const PodInfo& pod) override {
    Prepared prepared;
    auto hint = hint_of(*pod.pod);
    prepared.skip = true;
    if (!hint) {
      prepared.rejected = hint.error().message();
      prepared.code = StatusCode::error;
    } else if (*hint && !(*hint)->node_names.empty()) {
      prepared.only_nodes = std::move((*hint)->node_names);
    }
    return prepared;
  }
  std::vector<std::string> prefer_nodes(const PodInfo& pod) const override {
    if (!has_hint(*pod.pod)) return {};
    auto hint = hint_of(*pod.pod);
    if (!hint || !*hint) return {};
    std::vector<std::string> names = std::move((*hint)->preferred_node_names);
    if (names.size() > max_) names.resize(max_);
    return names;
  }
  // As for all plugins that do not say which: whatever happens may help.
  EventMask events() const override { return EventMask::all(); }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override { return true; }

 private:
  std::size_t max_;
};

}  // namespace

}  // namespace scheduling_hint

extern const PluginEntry kSchedulingHint{
    .name = "SchedulingHint",
    .args = &args_type<scheduling_hint::SchedulingHintArgs>,
    .make = &make_with<scheduling_hint::SchedulingHint, scheduling_hint::SchedulingHintArgs>};

}  // namespace koord::scheduling
