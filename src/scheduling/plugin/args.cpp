// Plugin arguments: see args.hpp.
#include "koord/scheduling/plugin/args.hpp"

#include <algorithm>
#include <stdexcept>

#include "koord/api/schema/codec.hpp"

namespace koord::scheduling {

std::shared_ptr<void> ArgsType::make_default() const {
  std::shared_ptr<void> args = create();
  set_defaults(args.get());
  return args;
}

void ArgsType::set_defaults(void* args) const {
  if (auto done = api::apply_defaults(args, schema()); !done) throw std::logic_error(done.error().message());
  complete(args);
}

const PluginEntry* find_plugin(PluginTable table, std::string_view name) {
  auto row = std::find_if(table.begin(), table.end(), [&](const PluginEntry* e) { return e->name == name; });
  return row == table.end() ? nullptr : *row;
}

}  // namespace koord::scheduling
