// PodTopologySpreadArgs: see args.hpp.
#include "scheduling/plugins/pod_topology_spread/args.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/rules/validation_names.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/base/text.hpp"

namespace koord::scheduling::pod_topology_spread {

namespace {

constexpr std::string_view kTypes[] = {"System", "List"};
constexpr std::string_view kActions[] = {"DoNotSchedule", "ScheduleAnyway"};

bool among(std::span<const std::string_view> list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

void PodTopologySpreadArgs::validate(const std::string& path, FieldErrors& errors) const {
  const std::string type = fmt::format("{}.defaultingType", path);
  if (!among(kTypes, defaulting_type)) {
    errors.not_supported(type, defaulting_type, kTypes);
  } else if (by_system() && !default_constraints.empty()) {
    errors.invalid(type, quote(defaulting_type), "when .defaultConstraints are not empty");
  }
  for (std::size_t i = 0; i < default_constraints.size(); ++i) {
    const api::TopologySpreadConstraint& c = default_constraints[i];
    const std::string at = fmt::format("{}.defaultConstraints[{}]", path, i);
    const auto field = [&](std::string_view name) { return fmt::format("{}.{}", at, name); };
    if (c.max_skew <= 0)
      errors.invalid(field("maxSkew"), std::to_string(c.max_skew), "not in valid range (0, inf)");
    if (c.topology_key.empty()) errors.required(field("topologyKey"), "can not be empty");
    if (!c.topology_key.empty())
      for (const std::string& why : api::check_qualified_name(c.topology_key))
        errors.invalid(field("topologyKey"), quote(c.topology_key.view()), why);
    if (c.when_unsatisfiable.empty()) {
      errors.required(field("whenUnsatisfiable"), "can not be empty");
    } else if (!among(kActions, c.when_unsatisfiable)) {
      errors.not_supported(field("whenUnsatisfiable"), c.when_unsatisfiable.view(), kActions);
    }
    if (c.label_selector)
      errors.add(
          fmt::format("{}: Forbidden: constraint must not define a selector, as they deduced for each "
                      "pod",
                      field("labelSelector")));
    if (std::any_of(default_constraints.begin(), default_constraints.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const auto& before) {
                      return before.topology_key == c.topology_key &&
                             before.when_unsatisfiable == c.when_unsatisfiable;
                    }))
      errors.duplicate(at,
                       quote(fmt::format("{{{}, {}}}", c.topology_key.view(), c.when_unsatisfiable.view())));
  }
}

KOORD_OBJECT(PodTopologySpreadArgs, args_kind("PodTopologySpreadArgs"),
             ROW(default_constraints)
                 .doc("Constraints of pods that have none, without selectors: what a pod's services and its "
                      "controller select is counted. For the type List."),
             ROW(defaulting_type)
                 .default_json(R"("System")")
                 .doc("System (by node and zone, preferred) or List (what defaultConstraints says)."));

std::vector<api::TopologySpreadConstraint> system_constraints() {
  std::vector<api::TopologySpreadConstraint> all(2);
  all[0].topology_key = "kubernetes.io/hostname";
  all[0].max_skew = 3;
  all[1].topology_key = "topology.kubernetes.io/zone";
  all[1].max_skew = 5;
  for (auto& c : all) c.when_unsatisfiable = "ScheduleAnyway";
  return all;
}

}  // namespace koord::scheduling::pod_topology_spread
