// DefaultBinder: see default_binder.hpp.
#include "plugins/default_binder/default_binder.hpp"

namespace koord::scheduler::default_binder {

namespace {

class DefaultBinder final : public Plugin, public BindPlugin {
 public:
  explicit DefaultBinder(const PluginContext&) {}
  std::string_view name() const override { return "DefaultBinder"; }
  bool sign(const PodInfo&, Signature&) const override { return true; }
};

}  // namespace

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context) {
  return make_plain<DefaultBinder>(args, context);
}

}  // namespace koord::scheduler::default_binder
