// What the tests of the eBPF collectors put on this machine: cgroups of their own, processes that talk
// through pipes, and the kernel's own books about them.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "koord/host/cgroup_fs.hpp"
#include "koord/host/file.hpp"
#include "koord/host/run_queue_latency.hpp"

namespace koord::node_test {

[[noreturn]] inline void fail(const std::string& what) { throw std::runtime_error(what); }

struct Books {  // of one or more tasks
  std::uint64_t run_ns = 0, wait_ns = 0, slices = 0;
  Books& operator+=(const Books& other) {
    run_ns += other.run_ns;
    wait_ns += other.wait_ns;
    slices += other.slices;
    return *this;
  }
};

inline Books books_of(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/schedstat");
  unsigned long long run = 0, wait = 0, slices = 0;
  if (!text || std::sscanf(text->c_str(), "%llu %llu %llu", &run, &wait, &slices) != 3) fail("no schedstat");
  return {run, wait, slices};
}

/// The folder of a new group below the hierarchy that has the cpu controller, removed at the end.
class TestGroup {
 public:
  TestGroup(const host::CgroupFs& cgroups, const std::string& name) {
    const auto folder = cgroups.version() == host::CgroupVersion::v1
                            ? cgroups.folder(host::Knob::cpu_quota, name)
                            : Result<std::string>("/sys/fs/cgroup/" + name);
    if (!folder) fail(folder.error().message());
    folder_ = *folder;
    if (mkdir(folder_.c_str(), 0755) != 0) fail("mkdir " + folder_ + ": " + std::strerror(errno));
  }
  TestGroup(const TestGroup&) = delete;
  TestGroup& operator=(const TestGroup&) = delete;
  ~TestGroup() { remove(); }

  void remove() { rmdir(folder_.c_str()); }
  const std::string& folder() const { return folder_; }
  host::RunQueueLatency::GroupId id() const { return host::cgroup_id(folder_).value(); }
  void enter(pid_t pid) const {
    const auto entered = host::write_file(folder_ + "/cgroup.procs", std::to_string(pid));
    if (!entered) fail(entered.error().message());
  }
  /// False where the hierarchy has no such knob.
  bool quota(int percent) const {
    const std::string period = "100000", quota = std::to_string(percent * 1000);
    if (host::exists(folder_ + "/cpu.max"))
      return host::write_file(folder_ + "/cpu.max", quota + " " + period).has_value();
    return host::exists(folder_ + "/cpu.cfs_quota_us") &&
           host::write_file(folder_ + "/cpu.cfs_quota_us", quota).has_value();
  }
  /// As large or as small as the kernel has it.
  void weigh(bool most) const {
    if (host::exists(folder_ + "/cpu.weight"))
      (void)host::write_file(folder_ + "/cpu.weight", most ? "10000" : "1");
    else
      (void)host::write_file(folder_ + "/cpu.shares", most ? "262144" : "2");
  }
  /// Where the kernel counts real-time tasks by group, they may run so much.
  void real_time(int percent) const {
    const std::string file = folder_ + "/cpu.rt_runtime_us";
    if (host::exists(file) && !host::write_file(file, std::to_string(percent * 10'000)))
      fail("no real-time share for " + folder_);
  }

 private:
  std::string folder_;
};

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  void put(const void* data, std::size_t size) const {
    if (write(ends[1], data, size) != static_cast<ssize_t>(size)) _exit(1);
  }
  void put() const { put("", 1); }
  /// False at the end of the file.
  bool get(void* data, std::size_t size) const {
    return read(ends[0], data, size) == static_cast<ssize_t>(size);
  }
  void wait() const {
    char byte = 0;
    if (!get(&byte, 1)) _exit(1);
  }
};

using Steady = std::chrono::steady_clock;

inline void spin(std::chrono::microseconds length) {
  const auto end = Steady::now() + length;
  while (Steady::now() < end) {
  }
}

/// A load's pause; nothing waits for one.
inline void rest(std::chrono::microseconds length) {
  const auto us = length.count();
  const timespec time{us / 1'000'000, us % 1'000'000 * 1000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

}  // namespace koord::node_test
