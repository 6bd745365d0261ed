// What it costs to choose a pod's CPUs: machines of 2 sockets x 64 cores x 2 threads, half of them taken.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <random>

#include "scheduling/plugins/node_numa_resource/pick_cpus.hpp"

namespace {

using namespace koord;
using namespace koord::scheduling::node_numa_resource;

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 100'000;
  constexpr int kCores = 128;
  api::CpuTopology reported;
  for (int cpu = 0; cpu < 2 * kCores; ++cpu)
    reported.detail.push_back(
        {.id = cpu, .core = cpu % kCores, .socket = cpu % kCores / 64, .node = cpu % kCores / 32});
  const CpuTopology topology(reported);
  std::mt19937 random(1);
  CpuSet half;
  for (int core = 0; core < kCores; ++core)
    if (random() % 2 == 0) {
      half.add(core);
      if (random() % 4 != 0) half.add(core + kCores);
    }
  fmt::print("| policy | CPUs | taken | us |\n|---|---|---|---|\n");
  for (const BindPolicy bind : {BindPolicy::full_pcpus, BindPolicy::spread_by_pcpus})
    for (const bool taken : {false, true})
      for (const int count : {4, 16, 60}) {
        const CpuChoice from{.topology = topology,
                             .available = taken ? topology.all() - half : topology.all()};
        int sum = 0;
        const double began = cpu_seconds();
        for (int i = 0; i < rounds; ++i) {
          const auto picked = pick_cpus(from, {.count = count, .bind = bind});
          sum += picked ? picked->size() : 0;
        }
        const double each = (cpu_seconds() - began) * 1e6 / rounds;
        fmt::print("| {} | {} | {} | {:.2f} |\n", to_string(bind), sum / rounds, taken ? "half" : "none",
                   each);
      }
  return 0;
}
