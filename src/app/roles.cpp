// The program's table of roles.
#include <array>

#include "app.hpp"
#include "roles/descheduler/role.hpp"
#include "roles/device_daemon/role.hpp"
#include "roles/koordlet/role.hpp"
#include "roles/manager/role.hpp"
#include "roles/proxy/role.hpp"
#include "roles/scheduler/role.hpp"

namespace koord::app {

std::span<const runtime::RoleDescriptor* const> all_roles() {
  static const std::array roles = {&scheduler::role(),   &koordlet::role(), &manager::role(),
                                   &descheduler::role(), &proxy::role(),    &device_daemon::role()};
  return roles;
}

}  // namespace koord::app
