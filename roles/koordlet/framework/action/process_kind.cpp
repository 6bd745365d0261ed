// The kinds of what is set of processes: see process_kind.hpp.
#include "framework/action/process_kind.hpp"

#include <fmt/format.h>

#include "framework/action/processes.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr const char* kOomFile = "oom_score_adj";

constexpr metrics::Metric kScore{.name = "koordlet_container_oom_score_adj",
                                 .type = metrics::Type::gauge,
                                 .help = "The oom_score_adj that the container's processes were given.",
                                 .labels = {"pod_name", "pod_namespace", "pod_uid", "container_name"}};

Result<std::int64_t> read_score(const ProcessFolder& process) {
  KOORD_TRY(text, process.read(kOomFile));
  std::int64_t score = 0;
  if (!host::to_number(host::trimmed(text), score))
    return Error(Code::parse, fmt::format("{}/{}: no number", process.path(), kOomFile));
  return score;
}

Result<> write_score(const ProcessFolder& process, std::int64_t score) {
  return process.write(kOomFile, fmt::format("{}", score));
}

}  // namespace

const ProcessKind kOomScoreAdjKind{.name = kOomFile,
                                   .a_name = "an oom_score_adj",
                                   .key = "score",
                                   .least = -1000,
                                   .most = 1000,
                                   .needs = "lowering it needs CAP_SYS_RESOURCE",
                                   .audit_reason = "OOMScoreAdj",
                                   .file = "scores",
                                   .book = {.header = "koord-scores 1 ",
                                            .what = "a file of scores",
                                            .row = "process",
                                            .max_size = std::size_t{32} << 20,
                                            .max_rows = 50'000},
                                   .gauge = &kScore,
                                   .read = &read_score,
                                   .write = &write_score};

const metrics::Table kProcessMetrics = {&kScore};

}  // namespace koord::koordlet
