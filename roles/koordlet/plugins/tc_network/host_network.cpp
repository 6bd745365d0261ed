// The host's network: see network.hpp.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "plugins/tc_network/network.hpp"

namespace koord::koordlet::tc_network {
namespace {

constexpr std::string_view kFilterName = "koord_classes";

/// Whether the agent is in the network of the host whose /proc that is. Who may not look at it is taken at
/// his word.
bool is_hosts_network(const host::Root& root) {
  struct stat hosts {};
  struct stat mine {};
  const std::string first = fmt::format("{}1/ns/net", root.proc);
  if (::stat(first.c_str(), &hosts) != 0) return errno == EACCES || errno == EPERM;
  if (::stat("/proc/self/ns/net", &mine) != 0) return false;
  return hosts.st_ino == mine.st_ino && hosts.st_dev == mine.st_dev;
}

std::string folder_of(const host::Root& root, std::string_view group) {
  return fmt::format("{}{}", root.cgroup, group);
}

void add(std::string& missing, std::string_view what) {
  missing += missing.empty() ? what : fmt::format("; {}", what);
}

}  // namespace

HostNetwork::HostNetwork(host::Root root, host::CgroupVersion version, const Clock* clock)
    : root_(std::move(root)),
      version_(version),
      clock_(clock),
      files_(fmt::format("{}net_cls", root_.cgroup)) {}

Result<> HostNetwork::open() {
  if (!traffic_) {
    if (!is_hosts_network(root_))
      return Error(Code::unsupported, "the agent is not in the host's network (hostNetwork: true)");
    KOORD_TRY(traffic, host::TrafficControl::open());
    traffic_ = std::move(traffic);
  }
  return {};
}

Result<bool> HostNetwork::has_any() {
  KOORD_CHECK(open());
  KOORD_TRY(roots, traffic_->roots());
  for (const host::RootQdisc& root : roots)
    if (root.handle == kQdisc) return true;
  return false;
}

Result<Network::Seen> HostNetwork::observe(const Wanted& wanted) {
  KOORD_CHECK(open());
  Seen seen;
  KOORD_CHECK(look_at_link(wanted, seen));
  look_at_marks(wanted, seen);
  KOORD_CHECK(look_at_groups(wanted, seen));
  return seen;
}

Result<> HostNetwork::look_at_link(const Wanted& wanted, Seen& seen) {
  Observed& observed = seen.observed;
  KOORD_TRY(way, traffic_->default_link());
  const host::NetworkLink& link = observed.link = std::move(way.link);
  if (way.others && wanted.wanted)
    add(seen.missing,
        fmt::format("the default route has several devices: only what {} sends is shaped", link.name));
  KOORD_TRY(roots, traffic_->roots());
  bool ours = false;
  for (host::RootQdisc& root : roots) {
    if (root.handle == 0) continue;  // the kernel's
    ours = ours || (root.handle == kQdisc && root.link == link.index);
    observed.roots.push_back(std::move(root));
  }
  if (!ours) return {};
  KOORD_TRY(classes, traffic_->classes(link.index));
  observed.classes = std::move(classes);
  KOORD_TRY(filters, traffic_->filters(link.index, kQdisc));
  observed.filters = std::move(filters);
  return {};
}

void HostNetwork::look_at_marks(const Wanted& wanted, Seen& seen) {
  auto marks = read_marks();
  if (marks) {
    seen.observed.marks = std::move(*marks);
    return;
  }
  seen.observed.can_mark = false;
  // Where there is no nf_tables no table is left, either.
  if (!wanted.wanted && marks.error().code() == Code::unsupported) return;
  add(seen.missing,
      fmt::format("pods with a network of their own have no classes: {}", marks.error().message()));
}

Result<host::AddressMarks::State> HostNetwork::read_marks() {
  if (!marks_) {
    KOORD_TRY(marks, host::AddressMarks::open(std::string(kTable)));
    marks_ = std::move(marks);
  }
  return marks_->read();
}

Result<> HostNetwork::look_at_groups(const Wanted& wanted, Seen& seen) {
  Observed& observed = seen.observed;
  if (version_ == host::CgroupVersion::v1) {
    auto state = files_.read(wanted.groups);
    if (!state && state.error().code() != Code::not_found) return std::move(state).error();
    if (!state) {
      if (wanted.wanted)
        add(seen.missing, fmt::format("groups have no classes: {}", state.error().message()));
      return {};
    }
    observed.groups = std::move(state->groups);
    observed.absent = std::move(state->absent);
  }
  if (wanted.wanted && !groups_) load_groups();
  if (!no_groups_.empty() && wanted.wanted)
    add(seen.missing, fmt::format("groups have no classes: {}", no_groups_));
  if (!groups_) return {};
  observed.program = groups_->program_number();
  if (version_ == host::CgroupVersion::v2) see_groups(wanted, observed);
  return {};
}

/// The kernel checks the whole program each time: not every ten seconds what it refuses.
void HostNetwork::load_groups() {
  if (clock_ != nullptr && !pause_.is_over(clock_->mono())) return;
  auto loaded = host::GroupClasses::load(root_, version_);
  no_groups_ = loaded ? std::string() : loaded.error().message();
  if (loaded)
    groups_ = std::move(*loaded);
  else if (clock_ != nullptr)
    pause_.begin(clock_->mono());
}

void HostNetwork::see_groups(const Wanted& wanted, Observed& observed) {
  for (const auto& [group, of_class] : wanted.groups) {
    const auto number = host::group_number(folder_of(root_, group));
    const auto told = numbered_.find(group);
    if (!number)
      observed.absent.insert(group);
    else if (told != numbered_.end() && told->second.number == *number)
      observed.groups[group] = told->second.of_class;
  }
  for (const auto& [group, told] : numbered_)
    if (!wanted.groups.contains(group)) observed.groups[group] = told.of_class;
}

Result<> HostNetwork::put_group(const std::string& group, host::TcHandle of_class) {
  if (version_ == host::CgroupVersion::v1) return files_.put(group, of_class);
  KOORD_TRY(number, host::group_number(folder_of(root_, group)));
  Group& told = numbered_[group];
  if (told.number != 0 && told.number != number) KOORD_CHECK(groups_->forget(told.number));
  told = {};
  KOORD_CHECK(groups_->put(number, of_class));
  told = {number, of_class};
  return {};
}

Result<> HostNetwork::forget_group(const std::string& group) {
  if (version_ == host::CgroupVersion::v1) return files_.forget(group);
  const auto told = numbered_.find(group);
  if (told == numbered_.end()) return {};
  if (groups_) KOORD_CHECK(groups_->forget(told->second.number));
  numbered_.erase(told);
  return {};
}

Result<> HostNetwork::run(const Step& step) {
  KOORD_CHECK(open());
  switch (step.kind) {
    case StepKind::remove_root: return traffic_->remove_root(step.link, kQdisc);
    case StepKind::add_root: return traffic_->add_root(step.link, kQdisc, kDefaultMinor);
    case StepKind::put_class: return traffic_->put_class(step.link, step.what);
    case StepKind::remove_class: return traffic_->remove_class(step.link, step.what.handle);
    case StepKind::put_group: return put_group(step.group, step.of_class);
    case StepKind::forget_group: return forget_group(step.group);
    case StepKind::put_filter:
      return traffic_->put_filter(step.link, kQdisc, {kFilterPriority, kFilterHandle, "bpf"},
                                  groups_->program(), kFilterName);
    case StepKind::make_marks: return marks_->make(step.to);
    case StepKind::change_marks: return marks_->change(step.from, step.to);
    case StepKind::remove_marks: {
      KOORD_CHECK(marks_->remove());
      return {};
    }
  }
  return {};
}

}  // namespace koord::koordlet::tc_network
