// SimKernel: cgroups in memory that refuse what the kernel refuses, count reads and writes, fail on command
// and die between two writes.
#pragma once

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/executor/kernel_files.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/cpuset.hpp"
#include "rigs/sim_block_io.hpp"
#include "support/tree.hpp"

namespace koord::koordlet::testing {

/// Thrown instead of the write that an agent does not live to make.
struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

class SimKernel final : public KernelFiles {
 public:
  struct Group {
    host::CpuSet cpus;  // v2: empty is the parent's
    std::int64_t quota = -1, period = 100'000;
    std::int64_t shares = 1024;  // v2: the weight
    std::int64_t burst = 0;
    std::int64_t bvt = 0;
    bool idle = false;  // then its shares are the kernel's
    std::string memory = "9223372036854771712";
    /// Other files, by name. Limits of memory are rounded as the kernel does it.
    std::map<std::string, std::string, std::less<>> files = {};
    bool populated = false;  // has processes of its own: v2 refuses to empty its set
    std::uint64_t inode = 0;
  };

  explicit SimKernel(host::CgroupVersion version) : version_(version) {
    // Only the hierarchies' names are looked for on the disk.
    for (const char* name : {"cpu/", "cpuset/", "cpuacct/", "memory/", "blkio/"}) tree_.write(name, "");
    root_ = {
        .cgroup = tree_.path() + "/", .sys = "/sim/sys/", .sys_fs = "/sim/sys/fs/", .proc = "/sim/proc/"};
  }
  host::CgroupFs fs() const { return *host::CgroupFs::open(root_, version_); }
  host::CgroupVersion version() const { return version_; }

  Group& group(const std::string& name) {
    Group& group = groups_[name];
    if (group.inode == 0) group.inode = ++last_inode_;
    return group;
  }
  void remove(const std::string& name) { groups_.erase(name); }
  /// Files of the whole machine, by their paths: "/sim/proc/sys/...", "/sim/sys/...", those of groups of
  /// resctrl ("/sim/sys/fs/resctrl/GROUP/schemata"), and what is asked over netlink ("netlink:eth0/...").
  std::map<std::string, std::string, std::less<>> settings;
  /// The inode of what is below /proc/sys: the kernel counts on whenever it has dropped the name from its
  /// cache.
  std::uint64_t proc_inode = 1;
  const std::map<std::string, Group>& groups() const { return groups_; }
  /// Of "HIERARCHY/GROUP/FILE"; in v2 of "GROUP/FILE".
  std::string path(const std::string& file) const { return root_.cgroup + file; }
  std::string cpus(const std::string& name) { return groups_.at(name).cpus.to_string(); }
  std::int64_t quota(const std::string& name) { return groups_.at(name).quota; }

  /// errno for writes to files whose path ends so; 0: none.
  std::function<int(std::string_view path, std::string_view text)> fault;
  std::vector<std::string> written;  // "GROUP/FILE TEXT", refused ones not
  std::vector<std::string> refused;  // by the kernel's own rules
  std::size_t reads = 0, listings = 0, looks = 0;
  /// All system calls but those that wrote.
  std::size_t calls() const { return reads + listings + looks + attempts_; }
  std::optional<std::size_t> die_after;  // so many writes
  /// Whether the kernel reclaims for a write to the file whose path this is: the value is in force at once,
  /// but the write ends with answer(), or never.
  std::function<bool(std::string_view path)> reclaims;
  struct Waiting {
    std::string path;
    Result<> verdict;
    Done done;
  };
  std::vector<Waiting> waiting;
  /// Ends the oldest of them.
  void answer() {
    Waiting first = std::move(waiting.at(0));
    waiting.erase(waiting.begin());
    first.done(first.verdict);
  }
  std::optional<host::CpuSet> online;  // v1 takes no other CPUs
  bool has_burst = true;               // the kernel knows cpu.cfs_burst_us,
  bool has_bvt = false;                // cpu.bvt_warp_ns: an Anolis
  bool has_idle = true;                // cpu.idle
  bool burst_within_quota = false;     // and takes none above the quota
  SimBlockIo block_io;

  Result<std::string_view> read(host::HeldFile& file, host::ReadBuffer&) override {
    ++reads;
    if (is_machines(file.path())) {
      const auto found = settings.find(file.path());
      if (found == settings.end()) return errno_error(ENOENT, file.path());
      return std::string_view(found->second);
    }
    const auto [name, knob] = split(file.path());
    const auto it = groups_.find(name);
    if (it == groups_.end()) return errno_error(ENOENT, file.path());
    if (const auto garbled = garbled_.find(file.path()); garbled != garbled_.end()) return {garbled->second};
    const Group& g = it->second;
    const bool v2 = version_ == host::CgroupVersion::v2;
    if (knob == "cpuset.cpus")
      text_ = g.cpus.to_string() + "\n";
    else if (knob == "cpuset.cpus.effective" && v2)
      text_ = effective(name).to_string() + "\n";
    else if (knob == "cpu.max" && v2)
      text_ = (g.quota < 0 ? "max" : std::to_string(g.quota)) + " " + std::to_string(g.period) + "\n";
    else if (knob == "cpu.cfs_quota_us" && !v2)
      text_ = std::to_string(g.quota) + "\n";
    else if (knob == "cpu.cfs_period_us" && !v2)
      text_ = std::to_string(g.period) + "\n";
    else if (knob == "cpu.shares" && !v2)
      text_ = std::to_string(g.shares) + "\n";
    else if (knob == "cpu.weight" && v2)
      text_ = std::to_string(g.shares) + "\n";
    else if (knob == (v2 ? "memory.max" : "memory.limit_in_bytes"))
      text_ = g.memory + "\n";
    else if (has_idle && knob == "cpu.idle")
      text_ = g.idle ? "1\n" : "0\n";
    else if (has_bvt && knob == "cpu.bvt_warp_ns")
      text_ = std::to_string(g.bvt) + "\n";
    else if (has_burst && knob == (v2 ? "cpu.max.burst" : "cpu.cfs_burst_us"))
      text_ = std::to_string(g.burst) + "\n";
    else if (const auto other = g.files.find(knob); other != g.files.end())
      text_ = other->second + "\n";
    else
      return errno_error(ENOENT, file.path());
    return std::string_view(text_);
  }

  Result<> write(const std::string& path, std::string_view text) override {
    ++attempts_;
    if (die_after && written.size() >= *die_after) throw Killed();
    if (is_machines(path)) {
      const auto found = settings.find(path);
      if (found == settings.end()) return errno_error(ENOENT, path);
      if (fault)
        if (const int failure = fault(path, text); failure != 0) return errno_error(failure, path);
      if (path.ends_with("/sched_features")) {
        if (!toggle(found->second, text)) return errno_error(EINVAL, path);
      } else if (path.ends_with("/schemata")) {
        if (!set_field(found->second, text, ':', ';')) return errno_error(EINVAL, path);
      } else if (!choose(found->second, text)) {
        return errno_error(EINVAL, path);
      }
      --attempts_;
      written.push_back(path + " " + std::string(text));
      return {};
    }
    const auto [name, knob] = split(path);
    if (!groups_.contains(name)) return errno_error(ENOENT, path);
    if (fault)
      if (const int failure = fault(path, text); failure != 0) return errno_error(failure, path);
    const int failure = store(name, knob, text);
    if (failure != 0) {
      refused.push_back(name + "/" + knob + " " + std::string(text));
      return errno_error(failure, path);
    }
    --attempts_;
    written.push_back(name + "/" + knob + " " + std::string(text));
    return {};
  }

  void write_later(const std::string& path, std::string_view text, Done done) override {
    Result<> verdict = write(path, text);
    if (reclaims && reclaims(path))
      waiting.push_back({path, std::move(verdict), std::move(done)});
    else
      done(verdict);
  }

  Result<std::vector<std::string>> folders(const std::string& path) override {
    ++listings;
    const std::string name = split(path + "/x").first;
    if (!groups_.contains(name)) return errno_error(ENOENT, path);
    std::vector<std::string> found;
    for (const auto& [other, group] : groups_)
      if (other.size() > name.size() && other.starts_with(name + "/") &&
          other.find('/', name.size() + 1) == std::string_view::npos)
        found.push_back(other.substr(name.size() + 1));
    return found;
  }
  std::uint64_t inode(const std::string& path) override {
    ++looks;
    if (is_machines(path)) {
      const bool folder = path.starts_with("/sim/sys/fs/resctrl/") && settings.contains(path + "/schemata");
      const bool is_there = settings.contains(path) || folder || path == "/sim/proc/sys/vm";
      return !is_there ? 0 : path.starts_with("/sim/proc/") ? proc_inode : 1;
    }
    if (const auto folder = groups_.find(split(path + "/x").first); folder != groups_.end())
      return folder->second.inode;
    const auto [name, knob] = split(path);
    const auto it = groups_.find(name);
    if (it == groups_.end() || !(has(knob) || it->second.files.contains(knob))) return 0;
    return it->second.inode * 100;  // of its files one and the same will do
  }

  void garble(const std::string& group, const std::string& file, std::string text) {
    const std::string hierarchy =
        version_ == host::CgroupVersion::v2 ? "" : file.substr(0, file.find('.')) + "/";
    garbled_[root_.cgroup + hierarchy + group + "/" + file] = std::move(text);
  }

  host::CpuSet effective(const std::string& name) const {
    const auto slash = name.rfind('/');
    const host::CpuSet own = groups_.at(name).cpus;
    if (slash == std::string_view::npos || !groups_.contains(name.substr(0, slash))) return own;
    const host::CpuSet above = effective(name.substr(0, slash));
    const host::CpuSet both = own & above;
    return both.empty() ? above : both;
  }

 private:
  static bool is_machines(std::string_view path) {
    return path.starts_with("/sim/") || path.starts_with("netlink:");
  }
  /// One of "always [madvise] never", or anything where there is no choice.
  static bool choose(std::string& had, std::string_view text) {
    const auto open = had.find('[');
    const auto close = had.find(']');
    if (open == std::string::npos || close == std::string::npos) {
      had = text;
      return true;
    }
    std::string plain = had;
    plain.erase(close, 1).erase(open, 1);
    std::istringstream words(plain);
    std::string chosen;
    bool known = false;
    for (std::string word; words >> word;) {
      known = known || word == text;
      chosen += (chosen.empty() ? "" : " ") + (word == text ? "[" + word + "]" : word);
    }
    if (known) had = chosen + "\n";
    return known;
  }
  /// One field of "  L3:0=0ff;1=0ff", as wide as it was; "MB:0= 90" has blanks. False: there is no such
  /// field, or the text is not one whole line.
  static bool set_field(std::string& had, std::string_view text, char after_name, char between) {
    if (!text.ends_with('\n')) return false;
    text = text.substr(0, text.find('\n'));
    const std::string name(text.substr(0, text.find(after_name)));
    const std::string_view set = text.substr(name.size() + 1);
    const std::string field(set.substr(0, set.find('=') + 1));
    std::string value(set.substr(field.size()));
    std::istringstream lines(std::exchange(had, {}));
    bool found = false;
    for (std::string line; std::getline(lines, line); had += line + "\n") {
      const auto start = line.find_first_not_of(' ');
      if (line.compare(start, name.size() + 1, name + after_name) != 0) continue;
      for (auto at = line.find(field); at != std::string::npos; at = line.find(field, at + 1)) {
        const char before = line[at - 1];
        if (before != between && before != after_name) continue;
        const auto from = at + field.size();
        const auto width = std::min(line.find(between, from), line.size()) - from;
        value.insert(0, width - std::min(width, value.size()), name == "MB" ? ' ' : '0');
        line.replace(from, width, value);
        found = true;
        break;
      }
    }
    return found;
  }
  /// One feature of "A NO_B"; false: there is none of that name.
  static bool toggle(std::string& features, std::string_view text) {
    std::string word(text.substr(0, text.find('\n')));
    const bool off = word.starts_with("NO_");
    if (off) word.erase(0, 3);
    std::istringstream words(std::exchange(features, {}));
    bool known = false;
    for (std::string one; words >> one;) {
      const std::string plain = one.starts_with("NO_") ? one.substr(3) : one;
      if (plain == word) {
        known = true;
        one = off ? "NO_" + plain : plain;
      }
      features += (features.empty() ? "" : " ") + one;
    }
    features += "\n";
    return known;
  }

  std::pair<std::string, std::string> split(std::string_view path) const {
    path.remove_prefix(root_.cgroup.size());
    if (version_ == host::CgroupVersion::v1) path.remove_prefix(path.find('/') + 1);
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos) return {std::string(), std::string(path)};  // the root's
    return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
  }

  bool has(const std::string& knob) const {
    static const std::set<std::string> v1 = {"cpuset.cpus", "cpu.cfs_quota_us", "cpu.cfs_period_us",
                                             "cpu.shares", "memory.limit_in_bytes"};
    static const std::set<std::string> v2 = {"cpuset.cpus", "cpuset.cpus.effective", "cpu.max", "cpu.weight",
                                             "memory.max"};
    if (knob == (version_ == host::CgroupVersion::v1 ? "cpu.cfs_burst_us" : "cpu.max.burst"))
      return has_burst;
    if (knob == "cpu.bvt_warp_ns") return has_bvt;
    if (knob == "cpu.idle") return has_idle;
    return (version_ == host::CgroupVersion::v1 ? v1 : v2).contains(knob);
  }

  int store(const std::string& name, const std::string& knob, std::string_view text) {
    Group& g = groups_.at(name);
    const bool v2 = version_ == host::CgroupVersion::v2;
    if (knob == "cpuset.cpus") {
      const auto cpus = host::CpuSet::parse(text);
      if (!cpus) return EINVAL;
      if (v2 && g.populated && cpus->empty() && !g.cpus.empty()) return ENOSPC;
      if (!v2) {
        if (cpus->empty()) return ENOSPC;
        if (online && !cpus->is_subset_of(*online)) return EINVAL;
        const auto slash = name.rfind('/');
        if (slash != std::string_view::npos) {
          const auto above = groups_.find(name.substr(0, slash));
          if (above != groups_.end() && !cpus->is_subset_of(above->second.cpus)) return EACCES;
        }
        for (const auto& [other, group] : groups_)
          if (other.starts_with(name + "/") && !group.cpus.is_subset_of(*cpus)) return EBUSY;
      }
      g.cpus = *cpus;
      return 0;
    }
    if (knob == (v2 ? "cpu.max" : "cpu.cfs_quota_us")) {
      const std::int64_t quota = text == "max" ? -1 : std::stoll(std::string(text));
      if ((v2 && text == "-1") || (quota != -1 && quota < 1000)) return EINVAL;
      if (burst_within_quota && quota >= 0 && g.burst > quota) return EINVAL;
      const std::int64_t before = g.quota;
      g.quota = quota;
      if (!v2 && !quotas_fit()) {
        g.quota = before;
        return EINVAL;
      }
      return 0;
    }
    if (knob == (v2 ? "memory.max" : "memory.limit_in_bytes")) {
      if (text == "max" || text == "-1")
        g.memory = v2 ? "max" : "9223372036854771712";
      else
        g.memory = std::to_string(std::stoll(std::string(text)) / 4096 * 4096);
      return 0;
    }
    if (has_bvt && knob == "cpu.bvt_warp_ns") {
      // It is off as a whole.
      const auto on = settings.find("/sim/proc/sys/kernel/sched_group_identity_enabled");
      if (on != settings.end() && on->second.starts_with("0")) return EPERM;
      g.bvt = std::stoll(std::string(text));
      return 0;
    }
    if (has_burst && knob == (v2 ? "cpu.max.burst" : "cpu.cfs_burst_us")) {
      const std::int64_t burst = std::stoll(std::string(text));
      if (burst_within_quota && g.quota >= 0 && burst > g.quota) return EINVAL;
      g.burst = burst;
      return 0;
    }
    if (knob == "cpu.cfs_period_us" && !v2) {
      g.period = std::stoll(std::string(text));
      return 0;
    }
    if (has_idle && knob == "cpu.idle") {
      if (text != "0" && text != "1") return EINVAL;
      const bool idle = text == "1";
      if (std::exchange(g.idle, idle) != idle) g.shares = idle ? (v2 ? 1 : 3) : (v2 ? 100 : 1024);
      return 0;
    }
    if (knob == (v2 ? "cpu.weight" : "cpu.shares")) {
      if (g.idle) return EINVAL;
      g.shares = std::stoll(std::string(text));
      return 0;
    }
    if (const auto other = g.files.find(knob); other != g.files.end()) {
      if (SimBlockIo::is_file(knob)) return block_io.store(knob, other->second, text);
      const bool bytes = knob == "memory.min" || knob == "memory.low" || knob == "memory.high";
      const bool none = bytes && (text == "max" || text == "9223372036854775807");
      other->second = none    ? v2 ? "max" : "9223372036854771712"
                      : bytes ? std::to_string(std::stoll(std::string(text)) / 4096 * 4096)
                              : std::string(text);
      return 0;
    }
    return ENOENT;
  }

  /// cgroup v1's rule: no quota is larger than that of a group above.
  bool quotas_fit() const {
    for (const auto& [name, group] : groups_) {
      if (group.quota < 0) continue;
      for (auto slash = name.rfind('/'); slash != std::string_view::npos;
           slash = name.rfind('/', slash - 1)) {
        const auto above = groups_.find(name.substr(0, slash));
        if (above != groups_.end() && above->second.quota >= 0 &&
            group.quota * above->second.period > above->second.quota * group.period)
          return false;
        if (slash == 0) break;
      }
    }
    return true;
  }

  host::CgroupVersion version_;
  koord::testing::Tree tree_;
  host::Root root_;
  std::map<std::string, Group> groups_;
  std::uint64_t last_inode_ = 0;
  std::size_t attempts_ = 0;  // writes that came to nothing
  std::map<std::string, std::string> garbled_;
  std::string text_;
};

}  // namespace koord::koordlet::testing
