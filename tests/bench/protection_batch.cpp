// Best-effort work for the protection benchmark, of one of three kinds, in several processes: spinners that
// only use CPU, streamers that pass through more memory than caches hold, forkers whose processes live a
// moment each. Counts what it has done in a file of 64-bit numbers, one a process, and goes on until it is
// killed.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "bench/protection_work.hpp"

namespace {

constexpr std::size_t kStreamBytes = std::size_t{64} << 20;
constexpr std::size_t kChildBytes = std::size_t{256} << 10;
using Counter = std::atomic<std::uint64_t>;

[[noreturn]] void spin(Counter& done) {
  const protection::Work work(std::size_t{16} << 10);
  for (std::uint64_t place = 0;; ++done) work.run(1000, place);
}

[[noreturn]] void stream(Counter& done) {
  std::vector<std::uint64_t> from(kStreamBytes / sizeof(std::uint64_t), 1), to(from.size(), 2);
  constexpr std::size_t kChunk = (std::size_t{1} << 20) / sizeof(std::uint64_t);
  for (std::size_t at = 0;; at = (at + kChunk) % from.size(), ++done) {
    std::memcpy(&to[at], &from[at], kChunk * sizeof(std::uint64_t));
    asm volatile("" ::"r"(to.data()) : "memory");
  }
}

[[noreturn]] void forks(Counter& done) {
  const protection::Work work(std::size_t{16} << 10);
  while (true) {
    const pid_t child = fork();
    if (child == 0) {
      std::vector<char> touched(kChildBytes, 1);
      asm volatile("" ::"r"(touched.data()) : "memory");
      std::uint64_t place = 0;
      work.run(5000, place);
      _exit(0);
    }
    if (child > 0 && waitpid(child, nullptr, 0) == child) ++done;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto given =
      protection::options(argc, argv, {{"--kind", ""}, {"--processes", "1"}, {"--counter", ""}});
  const std::string kind = given ? given->at("--kind") : "";
  const auto count = static_cast<std::size_t>(given ? std::atoi(given->at("--processes").c_str()) : 0);
  const auto run = kind == "spinners"    ? &spin
                   : kind == "streamers" ? &stream
                   : kind == "forkers"   ? &forks
                                         : nullptr;
  const int file =
      run == nullptr ? -1 : open(given->at("--counter").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::size_t bytes = count * sizeof(Counter);
  if (file < 0 || count == 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    std::fputs("usage: protection_batch --kind=spinners|streamers|forkers --counter=FILE [--processes=1]\n",
               stderr);
    return 2;
  }
  void* shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) return 1;
  auto* counters = static_cast<Counter*>(shared);
  for (std::size_t i = 0; i < count; ++i) {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      run(counters[i]);
    }
  }
  while (wait(nullptr) > 0) {
  }
  return 1;
}
