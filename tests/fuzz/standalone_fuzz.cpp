// The file of --standalone-config: it is refused with its name and a line, or its groups are inside of the
// hierarchy, apart from each other, and each is a pod of the inventory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/standalone/config.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

bool is_inside(std::string_view group) {
  return !group.empty() && !group.starts_with('/') && !group.ends_with('/') &&
         ("/" + std::string(group) + "/").find("/../") == std::string::npos &&
         group.find_first_of(std::string_view("\0\n", 2)) == std::string_view::npos;
}

bool is_below(std::string_view path, std::string_view other) {
  return path == other ||
         (path.size() > other.size() && path.starts_with(other) && path[other.size()] == '/');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = read_standalone(text, "f.yaml");
  if (!config) {
    check(config.error().message().starts_with("f.yaml"));
    return 0;
  }
  // A tree in which each group has two children, three levels deep.
  const auto list = [](const std::string& group) -> std::optional<std::vector<std::string>> {
    if (std::count(group.begin(), group.end(), '/') > 2) return std::nullopt;
    return std::vector<std::string>{"a.slice", "b.service"};
  };
  const auto found =
      find_groups(*config, list, [](const std::string& group) { return group.ends_with("b.service"); });
  const Inventory inventory = standalone_inventory(*config, {4000, 1 << 30}, found);
  check(found.size() == config->groups.size() && inventory.slo && inventory.node.reserved_milli_cpu >= 0);
  for (std::size_t i = 0; i < inventory.pods.size(); ++i) {
    check(is_inside(inventory.pods[i]->group));
    check(i == 0 || inventory.pods[i - 1]->uid < inventory.pods[i]->uid);
    for (std::size_t k = 0; k < inventory.pods.size(); ++k)
      check(k == i || !is_below(inventory.pods[i]->group, inventory.pods[k]->group));
  }
  for (const HostApplication& application : inventory.host_applications) check(is_inside(application.group));
  return 0;
}
