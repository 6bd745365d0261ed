// The program's table of roles.
#include "app.hpp"

namespace koord::app {

std::span<const runtime::RoleDescriptor* const> all_roles() { return {}; }

}  // namespace koord::app
