// Peak files: see peak_files.hpp.
#include "framework/predict/peak_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "koord/api/values/time.hpp"
#include "koord/base/file.hpp"
#include "koord/host/file.hpp"
#include "koord/host/text.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::koordlet {

namespace {

/// A model has 363 buckets, of some 20 bytes each at most.
constexpr std::size_t kMaxFile = std::size_t{64} << 10;
constexpr std::size_t kMaxRefused = 8;
constexpr std::size_t kLeastUid = 32;  // a static pod's is a hash of so many digits

void write(json::Writer& json, const SavedHistogram& saved) {
  json.begin_object();
  // Without a sample the original's is the year 1.
  json.member("referenceTimestamp",
              saved.reference ? api::Time(*saved.reference).to_string() : "0001-01-01T00:00:00Z");
  if (!saved.weights.empty()) {
    json.key("bucketWeights").begin_object();
    for (const auto& [bucket, weight] : saved.weights) json.member(std::to_string(bucket), weight);
    json.end_object();
  }
  if (saved.total != 0) json.member("totalWeight", saved.total);
  json.end_object();
}

Result<SavedHistogram> read(const json::Value& document, std::string_view name) {
  const auto wrong = [&](std::string_view what) {
    return Error(Code::parse, fmt::format("/{}: {}", name, what));
  };
  const json::Value* const value = json::find(document, name);
  if (value == nullptr || !value->is_object()) return wrong("expected an object");
  SavedHistogram saved;
  if (const json::Value* time = json::find(*value, "referenceTimestamp")) {
    const auto reference = api::Time::parse(time->text());
    if (!reference) return wrong("referenceTimestamp: expected a time");
    if (reference->at > std::chrono::sys_seconds{}) saved.reference = reference->wall();
  }
  if (const json::Value* total = json::find(*value, "totalWeight")) {
    const auto number = total->to_double();
    if (!number) return wrong("totalWeight: expected a number");
    saved.total = *number;
  }
  const json::Value* const weights = json::find(*value, "bucketWeights");
  if (weights == nullptr || weights->is_null()) return saved;
  if (!weights->is_object()) return wrong("bucketWeights: expected an object");
  for (const json::Member& member : weights->members()) {
    SavedHistogram::Weight one;
    const auto weight = member.value.to_uint();
    if (!host::to_number(member.key(), one.bucket) || !weight ||
        *weight > std::numeric_limits<std::uint32_t>::max())
      return wrong("bucketWeights: expected numbers of buckets and weights");
    one.weight = static_cast<std::uint32_t>(*weight);
    saved.weights.push_back(one);
  }
  return saved;
}

std::string_view without_suffix(std::string_view name) {
  for (const std::string_view suffix : {".tmp", ".new"})  // the original's, and replace_file()'s
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  return name;
}

}  // namespace

bool is_model_name(std::string_view name) {
  return is_node_model(name) ||
         (name.size() >= kLeastUid && std::all_of(name.begin(), name.end(), [](unsigned char c) {
            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
          }));
}

void write_peaks(std::string_view uid, const PeakModel& model, WallTime wall, std::string& out) {
  SavedHistogram saved;
  json::Writer json(out);
  json.begin_object().member("UID", uid);
  model.cpu.save(saved);
  json.key("CPU");
  write(json, saved);
  model.memory.save(saved);
  json.key("Memory");
  write(json, saved);
  json.member("LastUpdated", api::Time(wall).to_string());
  json.end_object();
  out += '\n';
}

Result<SavedModel> read_peaks(std::string_view text) {
  KOORD_TRY(document, json::parse(text));
  KOORD_TRY(cpu, read(document, "CPU"));
  KOORD_TRY(memory, read(document, "Memory"));
  if (const auto updated = api::Time::parse(json::text_at(document, "LastUpdated")))
    cpu.written = memory.written = updated->wall();
  return SavedModel{std::move(cpu), std::move(memory)};
}

Result<RestoredPeaks> restore_peaks(const std::string& folder, PeakModels& models, MonoTime now,
                                    WallTime wall) {
  KOORD_TRY(names, host::list_folder(folder));
  RestoredPeaks restored;
  for (const std::string& name : names) {
    const std::string path = folder + name;
    if (const auto stem = without_suffix(name); stem.size() != name.size()) {
      if (is_model_name(stem)) (void)::unlink(path.c_str());
      continue;
    }
    if (!is_model_name(name)) continue;
    const auto take = [&]() -> Result<> {
      KOORD_TRY(text, read_file(path, kMaxFile, Source::own));
      auto saved = read_peaks(text);
      if (!saved) return std::move(saved).error().context(path);
      auto taken = models.restore(name, saved->cpu, saved->memory, now, wall);
      if (!taken) return std::move(taken).error().context(path);
      return {};
    };
    const Result<> taken = take();
    if (taken) {
      ++restored.models;
      continue;
    }
    (void)::unlink(path.c_str());  // a folder of that name stays
    if (restored.refused.size() < kMaxRefused)
      restored.refused.push_back(taken.error());
    else
      ++restored.more_refused;
  }
  return restored;
}

}  // namespace koord::koordlet
