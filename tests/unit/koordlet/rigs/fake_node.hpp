// FakeNode: a machine of text files whose pods use what the test says, in both cgroup versions.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "support/tree.hpp"

namespace koord::koordlet::testing {

/// CPUs 0 to `cpus` - 1, each a core of its own, spread evenly over NUMA nodes (one socket each).
class FakeNode {
 public:
  explicit FakeNode(host::CgroupVersion version, int cpus = 4, int nodes = 1)
      : version_(version), cpus_(cpus), nodes_(nodes) {
    const std::string sys = "sys/devices/system/";
    tree_.write(sys + "cpu/online", fmt::format("0-{}\n", cpus - 1));
    tree_.write(sys + "node/online", fmt::format("0-{}\n", nodes - 1));
    for (int cpu = 0; cpu < cpus; ++cpu) {
      const std::string folder = fmt::format("{}cpu/cpu{}/topology/", sys, cpu);
      tree_.write(folder + "core_id", fmt::format("{}\n", cpu));
      tree_.write(folder + "physical_package_id", fmt::format("{}\n", node_of(cpu)));
    }
    for (int node = 0; node < nodes; ++node)
      tree_.write(fmt::format("{}node/node{}/cpulist", sys, node),
                  fmt::format("{}-{}\n", node * cpus / nodes, (node + 1) * cpus / nodes - 1));
    tree_.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: FakeCorp\nmodel name\t: Fake 9000\n");
    for (const char* subsystem : {"cpu", "cpuacct", "cpuset", "memory"})
      if (version == host::CgroupVersion::v1) tree_.write(fmt::format("sys/fs/cgroup/{}/", subsystem), "");
    tree_.write("sys/fs/cgroup/", "");
    memory(16ULL << 30, 8ULL << 30, 4ULL << 30);
    cpu_ticks(std::vector<std::uint64_t>(static_cast<std::size_t>(cpus), 0));
  }

  koord::testing::Tree& tree() { return tree_; }
  host::Root root() const { return host::Root::below(tree_.path()); }
  host::CgroupFs cgroups() const { return *host::CgroupFs::open(root(), version_); }
  bool v1() const { return version_ == host::CgroupVersion::v1; }
  int node_of(int cpu) const { return cpu * nodes_ / cpus_; }

  /// Used clock ticks of each CPU since the start; -1 in `offline` have no line.
  void cpu_ticks(const std::vector<std::uint64_t>& used, const std::vector<int>& offline = {}) {
    std::uint64_t sum = 0;
    std::string lines;
    for (std::size_t cpu = 0; cpu < used.size(); ++cpu) {
      sum += used[cpu];
      bool off = false;
      for (const int other : offline) off |= other == static_cast<int>(cpu);
      if (!off) lines += fmt::format("cpu{} {} 0 0 1000 50 0 0 7 0 0\n", cpu, used[cpu]);
    }
    tree_.write("proc/stat",
                fmt::format("cpu  {} 0 0 9000 300 0 0 50 0 0\n{}intr 1 2 3\nctxt 5\n", sum, lines));
  }
  /// In bytes; NUMA nodes share the total and what is free.
  void memory(std::uint64_t total, std::uint64_t available, std::uint64_t free) {
    tree_.write("proc/meminfo", fmt::format("MemTotal: {} kB\nMemFree: {} kB\nMemAvailable: {} kB\n",
                                            total / 1024, free / 1024, available / 1024));
    for (int node = 0; node < nodes_; ++node)
      numa_memory(node, total / static_cast<std::uint64_t>(nodes_),
                  free / static_cast<std::uint64_t>(nodes_));
  }
  void numa_memory(int node, std::uint64_t total, std::uint64_t free) {
    tree_.write(
        fmt::format("sys/devices/system/node/node{}/meminfo", node),
        fmt::format("Node {0} MemTotal: {1} kB\nNode {0} MemFree: {2} kB\nNode {0} Active(file): 0 kB\n"
                    "Node {0} Inactive(file): 0 kB\nNode {0} SReclaimable: 0 kB\n",
                    node, total / 1024, free / 1024));
  }

  std::string path(const std::string& subsystem, const std::string& group, const std::string& file) const {
    return "sys/fs/cgroup/" + (v1() ? subsystem + "/" : "") + group + "/" + file;
  }
  /// Times in nanoseconds (v2 shows microseconds).
  void cpu(const std::string& group, std::uint64_t used_ns, std::uint64_t periods = 0,
           std::uint64_t throttled = 0) {
    const std::string counts = fmt::format("nr_periods {}\nnr_throttled {}\n", periods, throttled);
    if (v1()) {
      tree_.write(path("cpuacct", group, "cpuacct.usage"), fmt::format("{}\n", used_ns));
      tree_.write(path("cpu", group, "cpu.stat"), counts + "throttled_time 0\n");
    } else {
      tree_.write(path("", group, "cpu.stat"),
                  fmt::format("usage_usec {}\nuser_usec 0\nsystem_usec 0\n{}throttled_usec 0\n",
                              used_ns / 1000, counts));
    }
  }
  /// Bytes of anonymous and of file pages.
  void group_memory(const std::string& group, std::uint64_t anon, std::uint64_t file) {
    const std::string t = v1() ? "total_" : "";
    std::string text = v1() ? "cache 1\nrss 2\nhierarchical_memory_limit 3\n" : "";
    text += v1() ? fmt::format("total_cache {}\ntotal_rss {}\n", file, anon)
                 : fmt::format("anon {}\nfile {}\nkernel 77\n", anon, file);
    text += fmt::format(
        "{0}inactive_anon {1}\n{0}active_anon 0\n{0}inactive_file {2}\n{0}active_file 0\n"
        "{0}unevictable 0\n",
        t, anon, file);
    tree_.write(path("memory", group, "memory.stat"), text);
  }
  /// By node, in pages of so many bytes.
  void numa_pages(const std::string& group, const std::vector<std::uint64_t>& pages,
                  std::uint64_t page_size = 4096) {
    std::string nodes;
    std::string zeros;
    for (std::size_t node = 0; node < pages.size(); ++node) {
      nodes += fmt::format(" N{}={}", node, pages[node] * (v1() ? 1 : page_size));
      zeros += fmt::format(" N{}=0", node);
    }
    tree_.write(path("memory", group, "memory.numa_stat"), v1()
                                                               ? "total=9" + nodes + "\nfile=9" + nodes + "\n"
                                                               : "anon" + nodes + "\nfile" + zeros + "\n");
  }
  void cpuset(const std::string& group, const std::string& cpus) {
    tree_.write(path("cpuset", group, v1() ? "cpuset.cpus" : "cpuset.cpus.effective"), cpus + "\n");
  }
  /// -1: none.
  void quota(const std::string& group, std::int64_t quota_us) {
    if (v1()) {
      tree_.write(path("cpu", group, "cpu.cfs_quota_us"), fmt::format("{}\n", quota_us));
      tree_.write(path("cpu", group, "cpu.cfs_period_us"), "100000\n");
    } else {
      tree_.write(path("", group, "cpu.max"),
                  quota_us < 0 ? "max 100000\n" : fmt::format("{} 100000\n", quota_us));
    }
  }
  void vanish(const std::string& group) {
    for (const char* subsystem : {"cpu", "cpuacct", "cpuset", "memory"})
      tree_.remove(path(subsystem, group, ""));
  }

 private:
  koord::testing::Tree tree_;
  host::CgroupVersion version_;
  int cpus_, nodes_;
};

inline std::shared_ptr<PodInfo> pod(const std::string& uid, Qos qos, int containers = 1) {
  auto info = std::make_shared<PodInfo>();
  info->uid = uid;
  info->ns = "default";
  info->name = "name-of-" + uid;
  info->qos = qos;
  info->kube_qos = qos == Qos::be ? host::KubeQos::besteffort : host::KubeQos::burstable;
  info->group = host::pod_folder(host::CgroupDriver::cgroupfs, info->kube_qos, uid);
  for (int i = 0; i < containers; ++i) {
    const std::string id = fmt::format("{}-c{}", uid, i);
    info->containers.push_back({.name = fmt::format("c{}", i),
                                .id = id,
                                .group = info->group + "/" + id,
                                .cpu_limit_milli = {},
                                .memory_limit = {}});
  }
  return info;
}

inline std::shared_ptr<Inventory> inventory(std::vector<std::shared_ptr<const PodInfo>> pods) {
  auto out = std::make_shared<Inventory>();
  out->generation = 1;
  out->pods = std::move(pods);
  out->be_roots = {"kubepods/besteffort"};
  out->pods_known = true;
  return out;
}

}  // namespace koord::koordlet::testing
