// From what a cluster runs to what koord will do of it, line by line. Nothing is asked here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/runtime/role.hpp"
#include "migrate/facts.hpp"
#include "migrate/finding.hpp"

namespace koord::app::migrate {

/// What koord is compared by: the tables of its roles, and the flags of its process.
struct Tables {
  std::span<const runtime::RoleDescriptor* const> roles;
  std::span<const runtime::Flag> process;
};

/// Everything below in one, with the order of the swap.
Report judge(const Facts& facts, const Tables& tables);

/// The parts. Each adds its findings.
using Findings = std::vector<Finding>;
/// Flags one by one, gates one by one, and the version.
void judge_program(const Program& program, const Tables& tables, Findings& findings);
/// The ConfigMaps that programs name, by the parsers of the roles that read them.
void judge_configuration(const Facts& facts, Findings& findings);
void judge_webhooks(const Facts& facts, Findings& findings);
void judge_kinds(const Facts& facts, Findings& findings);
void judge_nodes(const Facts& facts, Findings& findings);
std::vector<Step> order_of(const Facts& facts);

/// The value of a flag on a command line, as "--NAME=VALUE" or "--NAME VALUE", the last that is given; empty:
/// it is not.
std::string flag_of(const Program& program, std::string_view name);
/// "NAMESPACE/NAME" of the ConfigMap that a manager with this command line follows.
std::string slo_config_of(const Program& program);

}  // namespace koord::app::migrate
