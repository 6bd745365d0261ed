// Throttles, weights and cost models: see limits.hpp.
#include "plugins/blkio/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace koord::koordlet::blkio {
namespace {

using api::IoConfig;
using host::Knob;
using Number = std::optional<std::int64_t> IoConfig::*;

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
/// The kernel counts operations in 32 bits.
constexpr std::int64_t kMostIops = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMostWeight = 100, kMostPercent = 100;
constexpr std::int64_t kMostLatency = 3'600'000'000;  // us: an hour
constexpr std::int64_t kLatency = 3000, kLatencyPercent = 95;

struct Range {
  Number field;
  std::string_view name;
  std::int64_t least, most;
};
constexpr Range kRanges[] = {
    {&IoConfig::read_iops, "readIOPS", 0, kMostIops},
    {&IoConfig::write_iops, "writeIOPS", 0, kMostIops},
    {&IoConfig::read_bps, "readBPS", 0, kAny},
    {&IoConfig::write_bps, "writeBPS", 0, kAny},
    {&IoConfig::io_weight_percent, "ioWeightPercent", 1, kMostWeight},
    {&IoConfig::read_latency, "readLatency", 1, kMostLatency},
    {&IoConfig::write_latency, "writeLatency", 1, kMostLatency},
    {&IoConfig::read_latency_percent, "readLatencyPercent", 0, kMostPercent},
    {&IoConfig::write_latency_percent, "writeLatencyPercent", 0, kMostPercent},
    {&IoConfig::model_read_bps, "modelReadBPS", 1, kAny},
    {&IoConfig::model_write_bps, "modelWriteBPS", 1, kAny},
    {&IoConfig::model_read_seq_iops, "modelReadSeqIOPS", 1, kAny},
    {&IoConfig::model_write_seq_iops, "modelWriteSeqIOPS", 1, kAny},
    {&IoConfig::model_read_rand_iops, "modelReadRandIOPS", 1, kAny},
    {&IoConfig::model_write_rand_iops, "modelWriteRandIOPS", 1, kAny},
};

/// cgroup v1 has a file for each, v2 a word of one file.
struct Throttle {
  Number field;
  Knob v1;
  std::string_view v2;
};
constexpr Throttle kThrottles[] = {
    {&IoConfig::read_iops, Knob::io_read_iops, "riops"},
    {&IoConfig::read_bps, Knob::io_read_bps, "rbps"},
    {&IoConfig::write_iops, Knob::io_write_iops, "wiops"},
    {&IoConfig::write_bps, Knob::io_write_bps, "wbps"},
};

struct Figure {
  Number field;
  std::string_view word, name;
};
constexpr Figure kModel[] = {
    {&IoConfig::model_read_bps, "rbps", "modelReadBPS"},
    {&IoConfig::model_read_seq_iops, "rseqiops", "modelReadSeqIOPS"},
    {&IoConfig::model_read_rand_iops, "rrandiops", "modelReadRandIOPS"},
    {&IoConfig::model_write_bps, "wbps", "modelWriteBPS"},
    {&IoConfig::model_write_seq_iops, "wseqiops", "modelWriteSeqIOPS"},
    {&IoConfig::model_write_rand_iops, "wrandiops", "modelWriteRandIOPS"},
};

/// Empty: one figure is not said.
std::string users_model(const IoConfig& io, std::string& lacking) {
  std::string text = "ctrl=user";
  for (const Figure& figure : kModel) {
    if (!(io.*figure.field)) {
      lacking = figure.name;
      return {};
    }
    text += fmt::format(" {}={}", figure.word, *(io.*figure.field));
  }
  return text;
}

}  // namespace

std::vector<std::string> drop_nonsense(IoConfig& io) {
  std::vector<std::string> wrong;
  for (const Range& range : kRanges) {
    auto& value = io.*range.field;
    if (!value || (*value >= range.least && *value <= range.most)) continue;
    wrong.push_back(
        range.most == kAny
            ? fmt::format(".{}: {}: expected at least {}", range.name, *value, range.least)
            : fmt::format(".{}: {}: expected {} to {}", range.name, *value, range.least, range.most));
    value.reset();
  }
  return wrong;
}

std::vector<std::string> drop_latencies(IoConfig& io) {
  std::vector<std::string> said;
  for (const auto field : {&IoConfig::read_latency, &IoConfig::write_latency, &IoConfig::read_latency_percent,
                           &IoConfig::write_latency_percent}) {
    if (!std::exchange(io.*field, std::nullopt)) continue;
    const auto* const range = std::ranges::find(kRanges, field, &Range::field);
    said.push_back(fmt::format(
        ".{}: not done: the kernel would keep it by holding back every group that has none", range->name));
  }
  return said;
}

void merge(IoConfig& io, const IoConfig& over) {
  for (const Range& range : kRanges)
    if (over.*range.field) io.*range.field = over.*range.field;
  if (over.enable_user_model) io.enable_user_model = over.enable_user_model;
}

void tighten(IoConfig& io, const IoConfig& by) {
  for (const Throttle& throttle : kThrottles) {
    const auto& limit = by.*throttle.field;
    auto& now = io.*throttle.field;
    if (limit && (now.value_or(0) == 0 || (*limit > 0 && *limit < *now))) now = limit;
  }
}

std::vector<Setting> throttles(const IoConfig& io, host::DeviceNumber disk, host::CgroupVersion version) {
  const std::string device = host::to_string(disk);
  const bool v2 = version == host::CgroupVersion::v2;
  std::vector<Setting> all;
  for (const Throttle& throttle : kThrottles) {
    const auto& value = io.*throttle.field;
    if (!value) continue;
    if (v2)
      all.push_back(
          {Knob::io_max, fmt::format("{}/{}", device, throttle.v2), *value == 0 ? host::kUnlimited : *value});
    else
      all.push_back({throttle.v1, device, *value});
  }
  return all;
}

std::vector<Setting> group_settings(const IoConfig& io, host::DeviceNumber disk,
                                    host::CgroupVersion version) {
  std::vector<Setting> all = throttles(io, disk, version);
  if (io.io_weight_percent) all.push_back({Knob::io_weight, host::to_string(disk), *io.io_weight_percent});
  return all;
}

std::vector<Setting> machine_settings(const IoConfig& io, host::DeviceNumber disk, std::string& lacking) {
  const std::string device = host::to_string(disk);
  std::vector<Setting> all;
  all.push_back(
      {Knob::io_cost_qos, device,
       fmt::format("enable=1 ctrl=user rpct={} rlat={} wpct={} wlat={}",
                   io.read_latency_percent.value_or(kLatencyPercent), io.read_latency.value_or(kLatency),
                   io.write_latency_percent.value_or(kLatencyPercent), io.write_latency.value_or(kLatency))});
  std::string model = io.enable_user_model.value_or(false) ? users_model(io, lacking) : "ctrl=auto";
  if (!model.empty()) all.push_back({Knob::io_cost_model, device, std::move(model)});
  return all;
}

}  // namespace koord::koordlet::blkio
