// What tiers stand still for beside a CPU, on a real kernel: direct I/O, reclaim at a memory cgroup's limit
// and an OOM kill are counted as the tier's. Exit status 77: skipped.
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "blame_rig.hpp"

namespace {
using koord::host::Root;
using koord::host::Stalls;
using koord::host::Tracepoints;
using namespace koord::node_test;

constexpr int kSkipped = 77;

/// The folder of a group where the hierarchy of the memory controller has it; limited.
class MemoryGroup {
 public:
  MemoryGroup(const CgroupFs& cgroups, const std::string& name, std::uint64_t bytes) {
    const bool v2 = cgroups.version() == koord::host::CgroupVersion::v2;
    folder_ = v2 ? "/sys/fs/cgroup/" + name : "/sys/fs/cgroup/memory/" + name;
    if (mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST) fail("mkdir " + folder_);
    const std::string file = folder_ + (v2 ? "/memory.max" : "/memory.limit_in_bytes");
    limited_ = koord::host::write_file(file, std::to_string(bytes)).has_value();
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  ~MemoryGroup() { rmdir(folder_.c_str()); }
  bool limited() const { return limited_; }
  void enter() const {
    if (!koord::host::write_file(folder_ + "/cgroup.procs", std::to_string(getpid()))) _exit(1);
  }

 private:
  std::string folder_;
  bool limited_ = false;
};

Stalls::State read(Stalls& stalls) {
  Stalls::State state;
  if (const auto done = stalls.read(state); !done) fail(done.error().message());
  return state;
}

/// Writes that wait for the device, one after the other. False: a file cannot be written past the page cache.
bool write_through(const std::string& path, int count) {
  const koord::Fd file(open(path.c_str(), O_CREAT | O_WRONLY | O_DIRECT | O_CLOEXEC, 0600));
  unlink(path.c_str());
  constexpr std::size_t kSize = 65536;
  void* memory = nullptr;
  if (!file || posix_memalign(&memory, 4096, kSize) != 0) return false;
  std::memset(memory, 1, kSize);
  for (int i = 0; i < count; ++i)
    if (pwrite(file.get(), memory, kSize, static_cast<off_t>(kSize) * (i % 16)) !=
        static_cast<ssize_t>(kSize))
      return false;
  std::free(memory);
  return true;
}

/// What a tier's task writes is the tier's, one request for each write. A kernel may answer requests for some
/// milliseconds without running the programs (6.18, beside other tasks on the CPU that the device
/// interrupts), so of a few rounds one has to be whole; none may count more time than there was.
void block_io(const Groups& groups, Stalls& stalls) {
  constexpr int kWrites = 200, kRounds = 8;
  for (int round = 0; round < kRounds; ++round) {
    const Shared<bool> written;
    const auto before = read(stalls);
    const std::uint64_t begun = now_ns();
    Process writer(groups[CpuTier::lse], [&] {
      *written = write_through("koord-test-" + std::to_string(getpid()) + ".bin", kWrites);
    });
    writer.join();
    const auto taken = static_cast<double>(now_ns() - begun);
    const auto after = read(stalls);
    if (!*written) {
      std::printf("    no direct I/O here\n");
      return;
    }
    const auto& one = after.block_io[index(CpuTier::lse)];
    const auto ns = static_cast<double>(one.ns - before.block_io[index(CpuTier::lse)].ns);
    const auto count = one.histogram.count() - before.block_io[index(CpuTier::lse)].histogram.count();
    std::printf("    %llu requests of %d writes, %.2f ms of %.2f ms\n",
                static_cast<unsigned long long>(count), kWrites, ns / 1e6, taken / 1e6);
    if (ns > taken) fail("block I/O took longer than there was time");
    if (count >= kWrites && ns > 0) return;
  }
  fail("block I/O is not the tier's");
}

void fill(std::size_t bytes) {
  std::vector<char> all(bytes);
  for (std::size_t i = 0; i < bytes; i += 4096) all[i] = 1;
}

/// Reclaim, block I/O and OOM kills by tier.
void stall(const CgroupFs& cgroups, WaitBlame& blame) {
  const auto opened = blame.open_stalls(Root::host_mode(), cgroups.version());
  if (!opened) fail(opened.error().message());
  Stalls& stalls = **opened;
  std::printf("  what else tasks stand still for\n");
  const Groups groups(cgroups, blame);
  if (const std::string& why = stalls.missing(Stalls::block_io); !why.empty()) {
    std::printf("    no block I/O: %s\n", why.c_str());
  } else {
    block_io(groups, stalls);
  }
  constexpr std::uint64_t kLimit = std::uint64_t{48} << 20;
  const MemoryGroup memory(cgroups, "koord-test-" + std::to_string(getpid()) + "-blame-ls", kLimit);
  if (!memory.limited()) {
    std::printf("    no memory limits here\n");
    return;
  }
  if (const std::string& why = stalls.missing(Stalls::reclaim); !why.empty()) {
    std::printf("    no direct reclaim: %s\n", why.c_str());
  } else {
    const auto before = read(stalls);
    Process reader(groups[CpuTier::ls], [&] {
      memory.enter();
      const std::string path = "koord-test-" + std::to_string(getpid()) + ".cache";
      const koord::Fd file(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
      unlink(path.c_str());
      const std::vector<char> block(1 << 20, 1);
      for (int i = 0; i < 160; ++i)
        if (write(file.get(), block.data(), block.size()) < 0) _exit(1);
    });
    reader.join();
    const auto after = read(stalls);
    for (std::size_t tier = 0; tier < koord::host::kCpuTiers; ++tier)
      std::printf("    reclaim of %s: %.2f ms, %llu times\n", kNames[tier],
                  static_cast<double>(after.reclaim[tier].ns - before.reclaim[tier].ns) / 1e6,
                  static_cast<unsigned long long>(after.reclaim[tier].histogram.count() -
                                                  before.reclaim[tier].histogram.count()));
    if (after.reclaim[index(CpuTier::ls)].ns == before.reclaim[index(CpuTier::ls)].ns)
      fail("reclaim is not the tier's");
  }
  if (const std::string& why = stalls.missing(Stalls::oom_kills); !why.empty()) {
    std::printf("    no OOM kills: %s\n", why.c_str());
    return;
  }
  const auto before = read(stalls);
  Process victim(groups[CpuTier::ls], [&] {
    memory.enter();
    fill(std::size_t{256} << 20);
  });
  siginfo_t end{};
  if (waitid(P_PID, static_cast<id_t>(victim.pid()), &end, WEXITED | WNOWAIT) != 0 ||
      end.si_code != CLD_KILLED) {
    std::printf("    nobody was killed: there is swap\n");
    return;
  }
  const auto after = read(stalls);
  const auto own = after.oom_kills[index(CpuTier::ls)] - before.oom_kills[index(CpuTier::ls)];
  const auto other = after.other_oom_kills - before.other_oom_kills;
  std::printf("    OOM kills: %llu of LS, %llu of nobody knows whom\n", static_cast<unsigned long long>(own),
              static_cast<unsigned long long>(other));
  if (own + other != 1) fail("an OOM kill was not counted");
}

}  // namespace

int main() try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto cgroups = CgroupFs::open(Root::host_mode());
  if (!cgroups) fail(cgroups.error().message());
  const auto opened =
      koord::host::open_run_queue_latency(Root::host_mode(), cgroups->version(), Tracepoints::typed, true);
  if (!opened) {
    std::printf("stalls: skipped: %s\n", opened.error().message().c_str());
    return kSkipped;
  }
  stall(*cgroups, *(*opened)->blame());
  std::printf("stalls: passed\n");
  return 0;
} catch (const std::exception& error) {
  std::printf("stalls: FAILED: %s\n", error.what());
  return 1;
}
