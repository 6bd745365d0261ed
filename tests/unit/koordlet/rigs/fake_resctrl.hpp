// FakeResctrl: groups of resctrl and tasks that fork, in memory, beside a SimKernel, which has their schemata
// and by whose count of writes the agent dies.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/resctrl/resctrl_files.hpp"
#include "koord/base/file.hpp"
#include "rigs/sim_kernel.hpp"

namespace koord::koordlet::testing {

class FakeResctrl final : public ResctrlFiles {
 public:
  explicit FakeResctrl(SimKernel& kernel) : kernel_(kernel) {}

  struct Task {
    std::string cgroup, group;
  };
  std::map<std::int32_t, Task> all;
  /// What a new group's schemata say, and the machine; nothing: it is not mounted, or there is none.
  std::optional<host::ResctrlInfo> machine;
  std::string schemata;
  bool can_mount = false;
  std::string mount_is = "1";                                 // what which() says of the mount
  std::optional<Error> fault;                                 // of info()
  std::size_t rooms = 16;                                     // groups, the root's included
  std::function<void(const std::string& cgroup)> after_look;  // tasks_below() has answered
  std::function<int(std::int32_t task)> refuses;              // errno of move()
  std::size_t moves = 0;

  /// A machine with these caches.
  void build(const std::vector<int>& ids, std::uint64_t mask, host::ResctrlBandwidth bandwidth) {
    bandwidth.ids = ids;
    machine = host::ResctrlInfo{.caches = {{"L3", mask, 1, ids}},
                                .bandwidth = bandwidth,
                                .groups = static_cast<int>(rooms),
                                .occupancy = true,
                                .local_bytes = true,
                                .total_bytes = true};
    host::SchemataLine l3{"L3", {}}, mb{"MB", {}};
    for (const int id : ids) {
      l3.fields.push_back({id, mask});
      mb.fields.push_back({id, static_cast<std::uint64_t>(bandwidth.most)});
    }
    const auto line = [](std::string text) {
      text.erase(text.size() - 2);  // the last ';' and the line feed
      return fmt::format("    {}\n", text);
    };
    std::string numbers = host::print_schemata(mb);  // the kernel's "%*u"
    for (auto at = numbers.find('='); at != std::string::npos; at = numbers.find('=', at + 1))
      numbers.insert(at + 1, "  ");
    schemata = line(host::print_schemata(l3)) + line(std::move(numbers));
    kernel_.settings[file("")] = schemata;
  }
  void fork(std::int32_t parent, std::int32_t task) { all[task] = all.at(parent); }
  std::vector<std::int32_t> in(const std::string& group) const {
    std::vector<std::int32_t> found;
    for (const auto& [task, one] : all)
      if (one.group == group) found.push_back(task);
    return found;
  }
  bool has(const std::string& group) const { return kernel_.settings.contains(file(group)); }
  std::string said(const std::string& group) const { return kernel_.settings.at(file(group)); }
  /// All that is there: schemata and who is where.
  std::string state() const {
    std::string text;
    for (const auto& [path, value] : kernel_.settings)
      if (path.starts_with(kFolder)) text += path + "\n" + value;
    for (const auto& [task, one] : all) text += fmt::format("{} {}\n", task, one.group);
    return text;
  }
  void make_of_others(const std::string& group) { kernel_.settings[file(group)] = schemata; }

  Result<host::ResctrlInfo> info() override {
    if (fault) return *fault;
    if (!machine || (can_mount && !mounted)) return errno_error(ENOENT, std::string(kFolder));
    return *machine;
  }
  Result<> mount() override {
    if (!can_mount) return Error(Code::unsupported, "no resctrl here");
    write("mount");
    mounted = true;
    kernel_.settings[file("")] = schemata;
    return {};
  }
  Result<> unmount() override {
    write("unmount");
    mounted = false;
    std::erase_if(kernel_.settings, [](const auto& one) { return one.first.starts_with(kFolder); });
    return {};
  }
  Result<std::string> which() override { return mount_is; }
  Result<bool> is_bare() override {
    return std::ranges::none_of(kernel_.settings, [](const auto& one) {
      return one.first.starts_with(kFolder) && one.first != file("");
    });
  }
  Result<std::vector<std::string>> groups() override {
    std::vector<std::string> found;
    for (const auto& [path, value] : kernel_.settings) {
      if (!path.starts_with(kFolder)) continue;
      const std::string rest = path.substr(kFolder.size());
      if (std::count(rest.begin(), rest.end(), '/') == 1) found.push_back(rest.substr(0, rest.find('/')));
    }
    return found;
  }
  bool exists(const std::string& group) override { return has(group); }
  Result<bool> is_watched(const std::string& group) override { return has(group) && watched.contains(group); }
  Result<> make(const std::string& group) override {
    if (groups()->size() + 1 >= rooms) return Error(Code::too_large, group + ": no room for another group");
    write("mkdir " + group);
    make_of_others(group);
    return {};
  }
  Result<> remove(const std::string& group) override {
    if (!has(group)) return {};
    write("rmdir " + group);
    kernel_.settings.erase(file(group));
    for (auto& [task, one] : all)
      if (one.group == group) one.group.clear();
    return {};
  }
  Result<std::vector<std::int32_t>> tasks(const std::string& group) override {
    if (!has(group)) return errno_error(ENOENT, group);
    return in(group);
  }
  Result<std::vector<std::int32_t>> tasks_below(const std::string& cgroup) override {
    std::vector<std::int32_t> found;
    for (const auto& [task, one] : all)
      if (one.cgroup == cgroup || one.cgroup.starts_with(cgroup + "/")) found.push_back(task);
    if (found.empty()) return errno_error(ENOENT, cgroup);
    if (after_look) after_look(cgroup);
    return found;
  }
  Result<> move(std::int32_t task, const std::string& group) override {
    ++moves;
    if (!all.contains(task) || !has(group)) return errno_error(ENOENT, group);
    if (refuses)
      if (const int failure = refuses(task); failure != 0) return errno_error(failure, group);
    write(fmt::format("{} to {}", task, group));
    all[task].group = group;
    return {};
  }

  std::set<std::string> watched;  // groups with others' monitoring groups inside
  bool mounted = false;

 private:
  static constexpr std::string_view kFolder = "/sim/sys/fs/resctrl/";
  static std::string file(const std::string& group) {
    return fmt::format("{}{}{}schemata", kFolder, group, group.empty() ? "" : "/");
  }
  void write(std::string text) {
    if (kernel_.die_after && kernel_.written.size() >= *kernel_.die_after) throw Killed();
    kernel_.written.push_back(std::move(text));
  }

  SimKernel& kernel_;
};

}  // namespace koord::koordlet::testing
