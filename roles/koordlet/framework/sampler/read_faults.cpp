// Counting and telling.
#include "framework/sampler/read_faults.hpp"

#include <string>
#include <system_error>

namespace koord::koordlet {

namespace {

constexpr nanoseconds kTellEvery = std::chrono::minutes(5);
constexpr metrics::Metric kFaults{.name = "koordlet_sampler_read_faults_total",
                                  .help = "Reads of kernel files that failed or could not be understood",
                                  .labels = {"file", "reason"}};

}  // namespace

const metrics::Table ReadFaults::kMetrics = {&kFaults};

ReadFaults::ReadFaults(metrics::Registry& registry, Logger log)
    : counts_(registry.counters(kFaults)), log_(std::move(log)) {}

void ReadFaults::garbled(std::string_view file, std::string_view group, const Error& error) {
  tell(file, group, "garbled", error.message());
}

void ReadFaults::failed(std::string_view file, std::string_view group, int errnum) {
  const std::string text = errnum == 0 ? "too long" : std::generic_category().message(errnum);
  tell(file, group, "failed", text);
}

void ReadFaults::tell(std::string_view file, std::string_view group, std::string_view reason,
                      std::string_view text) {
  ++total_;
  counts_.with({file, reason}).inc();
  const auto [it, first] = told_.try_emplace(file, now_);
  if (!first && now_ - it->second < kTellEvery) {
    ++untold_;
    return;
  }
  it->second = now_;
  log_.warn("a kernel file could not be read; its value is left out", kv("file", file), kv("group", group),
            kv("error", text), kv("more", untold_));
  untold_ = 0;
}

}  // namespace koord::koordlet
