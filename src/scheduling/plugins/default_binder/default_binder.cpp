// DefaultBinder: binds by POST to the pod's binding subresource, which the role's binder does.
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

namespace default_binder {
namespace {

class DefaultBinder final : public Plugin, public BindPlugin {
 public:
  explicit DefaultBinder(const PluginContext&) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
};

}  // namespace
}  // namespace default_binder

extern const PluginEntry kDefaultBinder{.name = "DefaultBinder",
                                        .make = &make<default_binder::DefaultBinder>};

}  // namespace koord::scheduling
