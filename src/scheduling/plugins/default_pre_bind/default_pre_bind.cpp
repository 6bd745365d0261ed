// DefaultPreBind: marks that what plugins change of a pod is written before its binding; the writer does it,
// in one patch.
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

namespace default_pre_bind {
namespace {

class DefaultPreBind final : public Plugin, public PodPatchPlugin {
 public:
  explicit DefaultPreBind(const PluginContext&) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
};

}  // namespace
}  // namespace default_pre_bind

extern const PluginEntry kDefaultPreBind{.name = "DefaultPreBind",
                                         .make = &make<default_pre_bind::DefaultPreBind>};

}  // namespace koord::scheduling
