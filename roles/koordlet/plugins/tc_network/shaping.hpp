// Shaping: from what is on the host's network to what shall be, step by step. No step before another one
// holds anybody back more than both do, and any of them may be the last one that is made.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "koord/host/address_marks.hpp"
#include "koord/host/traffic_control.hpp"
#include "plugins/tc_network/wanted.hpp"

namespace koord::koordlet::tc_network {

/// The table of nf_tables.
inline constexpr std::string_view kTable = "koord_network";
/// koord's filter below its qdisc.
inline constexpr std::uint16_t kFilterPriority = 1;
inline constexpr std::uint32_t kFilterHandle = 1;

struct Observed {
  host::NetworkLink link;               // of the default route; index 0: there is none
  std::vector<host::RootQdisc> roots;   // that somebody has put there, of all devices
  std::vector<host::HtbClass> classes;  // of koord's qdisc on the link
  std::vector<host::TcFilter> filters;  // the same
  std::uint32_t program = 0;            // the filter that this process has; 0: it can have none
  bool can_mark = true;                 // the kernel has nf_tables
  host::AddressMarks::State marks;
  std::map<std::string, host::TcHandle> groups;  // that have a class of koord's
  std::set<std::string> absent;                  // groups that are wanted and are not there
};

enum class StepKind : std::uint8_t {
  remove_root,
  add_root,
  put_class,
  remove_class,
  put_group,
  forget_group,
  put_filter,
  make_marks,
  change_marks,
  remove_marks,
};

struct Step {
  StepKind kind{};
  host::NetworkLink link = {};  // of the first four and of the filter
  host::HtbClass what = {};     // of a class; where one goes the handle
  std::string group = {};
  host::TcHandle of_class = 0;  // of a group
  host::AddressClasses from = {}, to = {};
};
/// For the audit: "eth0: class 6b6f:4 sends 1000 to 125000 bytes a second".
std::string to_string(const Step& step);

struct Steps {
  std::vector<Step> steps;
  std::string refused;  // why what is wanted cannot be; empty: it can
};
Steps steps_to(const Wanted& wanted, const Observed& observed);

}  // namespace koord::koordlet::tc_network
