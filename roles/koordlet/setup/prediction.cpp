// Prediction: see prediction.hpp.
#include "setup/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/values/time.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr nanoseconds kYear = hours(365 * 24);
constexpr std::int64_t kMostAtOnce = 1'000;

}  // namespace

Result<PredictorSettings> read_prediction(const runtime::FlagValues& flags) {
  PredictorSettings settings;
  const struct {
    const char* flag;
    nanoseconds& setting;
    nanoseconds least, most;
  } durations[] = {
      {"prediction-cold-start-duration", settings.terms.cold_start, {}, kYear},
      {"prediction-memory-histogram-decay-halflife", settings.limits.memory_half_life, minutes(1), kYear},
      {"prediction-cpu-histogram-decay-halflife", settings.limits.cpu_half_life, minutes(1), kYear},
      // Of pods there are the samples of half an hour.
      {"prediction-training-interval", settings.training, seconds(1), minutes(30)},
      {"prediction-model-expiration-duration", settings.limits.expiration, minutes(1), kYear},
      {"prediction-model-checkpoint-interval", settings.checkpoint, {}, kYear},
  };
  for (const auto& [flag, setting, least, most] : durations) {
    setting = flags.get_duration(flag);
    if (setting < least || setting > most)
      return Error(Code::invalid,
                   fmt::format("--{}: not between {} and {}", flag, api::Duration(least).to_string(),
                               api::Duration(most).to_string()));
  }
  settings.terms.margin_percent = flags.get_int("prediction-safety-margin-percent");
  if (settings.terms.margin_percent < -100 || settings.terms.margin_percent > 1000)
    return Error(Code::invalid, "--prediction-safety-margin-percent: not between -100 and 1000");
  const std::int64_t at_once = flags.get_int("prediction-model-checkpoint-max-per-step");
  settings.checkpoints_at_once = static_cast<std::size_t>(std::clamp<std::int64_t>(at_once, 0, kMostAtOnce));
  return settings;
}

std::string find_predictions(const runtime::FlagValues& flags, const StateDirs& dirs) {
  const std::string& given = flags.get("prediction-checkpoint-filepath");
  if (!given.empty() && host::exists(given))
    return fmt::format("{}{}", given, given.ends_with('/') ? "" : "/");
  if (dirs.state.folder.empty()) return "";
  const std::string beside[] = {fmt::format("{}predictions", dirs.state.folder)};
  return choose_folder(beside, "").folder;
}

}  // namespace koord::koordlet
