// DefaultBinder: binds pods by POST to their binding subresource, which the role's writer does.
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

namespace default_binder {
namespace {

class DefaultBinder final : public Plugin, public BindPlugin {
 public:
  explicit DefaultBinder(const PluginContext&) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
  bool binds(const PodInfo& pod) const override { return !is_placeholder(*pod.pod); }
};

}  // namespace
}  // namespace default_binder

extern const PluginEntry kDefaultBinder{.name = "DefaultBinder",
                                        .make = &make<default_binder::DefaultBinder>};

}  // namespace koord::scheduling
