// Names are those of Prometheus' client libraries; dashboards know them.
#include "process_metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>

#include "koord/base/file.hpp"
#include "koord/base/version.hpp"

namespace koord::app {

namespace {

using metrics::Metric;
using metrics::Type;

constexpr Metric kCpu{.name = "process_cpu_seconds_total",
                      .help = "Total user and system CPU time spent in seconds."};
constexpr Metric kStart{.name = "process_start_time_seconds",
                        .type = Type::gauge,
                        .help = "Start time of the process since unix epoch in seconds."};
constexpr Metric kResident{
    .name = "process_resident_memory_bytes", .type = Type::gauge, .help = "Resident memory size in bytes."};
constexpr Metric kVirtual{
    .name = "process_virtual_memory_bytes", .type = Type::gauge, .help = "Virtual memory size in bytes."};
constexpr Metric kOpenFiles{
    .name = "process_open_fds", .type = Type::gauge, .help = "Number of open file descriptors."};
constexpr Metric kMaxFiles{
    .name = "process_max_fds", .type = Type::gauge, .help = "Maximum number of open file descriptors."};
constexpr Metric kLostLines{
    .name = "koord_log_lines_lost_total",
    .help =
        "Number of log lines that were not written, by the reason: 'queue_full' (the reader is slower "
        "than the program) or 'write_failed' (a full disk, a closed descriptor).",
    .labels = {"reason"}};
constexpr Metric kBuild{
    .name = "kubernetes_build_info",
    .type = Type::gauge,
    .help =
        "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree "
        "state, build date, Go version, and compiler from which koord was built, and platform on which "
        "it is running.",
    .labels = {"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version",
               "compiler", "platform"}};

struct Handles {
  explicit Handles(metrics::Registry& r)
      : cpu(r.counter(kCpu)),
        start(r.gauge(kStart)),
        resident(r.gauge(kResident)),
        virtual_memory(r.gauge(kVirtual)),
        open_files(r.gauge(kOpenFiles)),
        max_files(r.gauge(kMaxFiles)),
        lost_lines(r.counters(kLostLines)),
        build(r.gauges(kBuild)) {}

  metrics::Counter cpu;
  metrics::Gauge start, resident, virtual_memory, open_files, max_files;
  metrics::Family<metrics::Counter> lost_lines;
  metrics::Family<metrics::Gauge> build;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void raise_to(const metrics::Counter& counter, double value) {
  const double more = value - counter.value();
  if (more > 0) counter.add(more);
}

void read_memory(const Handles& h) {
  const auto statm = read_file("/proc/self/statm");
  std::uint64_t pages = 0, resident = 0;
  if (!statm || std::sscanf(statm->c_str(), "%" SCNu64 " %" SCNu64, &pages, &resident) != 2) return;
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  h.virtual_memory.set(static_cast<double>(pages) * page);
  h.resident.set(static_cast<double>(resident) * page);
}

void read_files(const Handles& h) {
  std::error_code failed;
  double open = -1;  // the descriptor that reads the folder
  for (auto at = std::filesystem::directory_iterator("/proc/self/fd", failed);
       !failed && at != std::filesystem::directory_iterator(); at.increment(failed))
    ++open;
  if (open >= 0) h.open_files.set(open);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) h.max_files.set(static_cast<double>(limit.rlim_cur));
}

}  // namespace

const metrics::Table ProcessMetrics::kMetrics = {&kCpu,       &kStart,    &kResident,  &kVirtual,
                                                 &kOpenFiles, &kMaxFiles, &kLostLines, &kBuild};

ProcessMetrics::ProcessMetrics(const AsyncLogSink& log, const Clock& clock)
    : log_(log), start_(clock.now()) {}

void ProcessMetrics::add_to(metrics::Registry& registry) const {
  const Handles handles(registry);
  const BuildInfo& info = build_info();
  // What koord has no word for is empty, as upstream's is in a build without it.
  handles.build.with({info.major, info.minor, info.version, "", "", "", "", info.compiler, info.platform})
      .set(1);
  registry.on_scrape([h = handles, this] {
    h.start.set(std::chrono::duration<double>(start_.time_since_epoch()).count());
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
      raise_to(h.cpu, seconds(usage.ru_utime) + seconds(usage.ru_stime));
    read_memory(h);
    read_files(h);
    const AsyncLogSink::Stats lost = log_.stats();
    raise_to(h.lost_lines.with({"queue_full"}), static_cast<double>(lost.dropped));
    raise_to(h.lost_lines.with({"write_failed"}), static_cast<double>(lost.failed));
  });
}

}  // namespace koord::app
