// The kinds of what is set of processes: see process_kind.hpp.
#include "framework/action/process_kind.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "framework/action/processes.hpp"
#include "framework/plan/action.hpp"
#include "koord/host/core_sched.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr const char* kOomFile = "oom_score_adj";

constexpr metrics::Metric kScore{.name = "koordlet_container_oom_score_adj",
                                 .type = metrics::Type::gauge,
                                 .help = "The oom_score_adj that the container's processes were given.",
                                 .labels = {"pod_name", "pod_namespace", "pod_uid", "container_name"}};

constexpr metrics::Metric kCookie{
    .name = "koordlet_container_core_sched_cookie",
    .type = metrics::Type::gauge,
    .help = "1 for the core scheduling cookie that the container's processes were given.",
    .labels = {"pod_name", "pod_namespace", "pod_uid", "container_name", "container_id", "core_sched_group",
               "core_sched_cookie"}};
constexpr metrics::Metric kCookiePasses{
    .name = "koordlet_core_sched_cookie_manage_status",
    .type = metrics::Type::counter,
    .help =
        "How often a container of the group was looked at; failed: not all of its processes have its cookie.",
    .labels = {"core_sched_group", "status"}};

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

Result<std::int64_t> read_cookie(const ProcessFolder& process) {
  auto cookie = host::core_cookie(process.pid());
  if (!cookie && cookie.error().code() == Code::forbidden) return kHiddenCookie;
  return cookie;
}

std::vector<std::string> cookie_labels(const ProcessSetting& setting, std::int64_t cookie) {
  const PodInfo& pod = *setting.pod;
  const auto container = std::find_if(pod.containers.begin(), pod.containers.end(),
                                      [&](const ContainerInfo& one) { return one.group == setting.group; });
  return {pod.name,
          pod.ns,
          pod.uid,
          setting.container,
          container == pod.containers.end() ? std::string() : container->full_id,
          std::string(shown_name(setting.shared)),
          fmt::format("{}", static_cast<std::uint64_t>(cookie))};
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

const ProcessKind kCoreCookieKind{.name = "core scheduling cookie",
                                  .a_name = "a core scheduling cookie",
                                  .key = "cookie",
                                  .needs = "of others' processes it needs CAP_SYS_PTRACE",
                                  .audit_reason = "CoreSched",
                                  .file = "cookies",
                                  .book = {.header = "koord-cookies 1 ",
                                           .what = "a file of core scheduling cookies",
                                           .row = "process",
                                           .max_size = std::size_t{32} << 20,
                                           .max_rows = 50'000},
                                  .gauge = &kCookie,
                                  .labels = &cookie_labels,
                                  .passes = &kCookiePasses,
                                  .shared = true,
                                  .available = &host::core_sched_available,
                                  .read = &read_cookie};

std::string_view shown_name(std::string_view shared) {
  const auto slash = shared.find('/');
  return slash == std::string_view::npos ? shared : shared.substr(slash + 1);
}

const metrics::Table kProcessMetrics = {&kScore, &kCookie, &kCookiePasses};

}  // namespace koord::koordlet
