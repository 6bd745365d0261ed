// Predictor: see predictor.hpp.
#include "framework/predict/predictor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "framework/predict/peak_files.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/file.hpp"

namespace koord::koordlet {

namespace {
/// How often models end and are kept: as often as they may be, within these.
constexpr nanoseconds kShortestKeep = std::chrono::seconds(1), kLongestKeep = std::chrono::minutes(1);
}  // namespace

Predictor::Predictor(Parts parts, PredictorSettings settings, std::string folder)
    : parts_(parts), settings_(settings), folder_(std::move(folder)), models_(settings.limits) {}

void Predictor::restore() {
  if (folder_.empty()) return;
  const auto restored = restore_peaks(folder_, models_, parts_.clock.mono(), parts_.clock.now());
  if (!restored) {
    parts_.log.warn("the folder of usage models cannot be read: prediction starts without history",
                    kv("error", restored.error()));
    return;
  }
  for (const Error& error : restored->refused)
    parts_.log.warn("a pod's usage model on disk cannot be used: it is learned again from new samples",
                    kv("error", error));
  if (restored->more_refused > 0)
    parts_.log.warn("further usage models on disk cannot be used: they are learned again",
                    kv("more", restored->more_refused));
  if (restored->models > 0)
    parts_.log.info("prediction goes on with what was learned before", kv("models", restored->models));
}

void Predictor::tick(const TickView& view) {
  if (!view.inventory->pods_known || !known(view.node.cpu)) return;
  if (!first_seen_) first_seen_ = view.at;
  // A class of which a pod is missing would look idle; one that can never be read must not stop all.
  if (!trained_ && !view.complete && view.at - *first_seen_ < settings_.training) return;
  if (trained_ && view.at - *trained_ < settings_.training - view.interval / 2) return;
  trained_ = view.at;
  const std::size_t refused =
      train(models_, parts_.series, *view.inventory, view.at, view.wall, settings_.training);
  if (refused > 0 && !crowded_)
    parts_.log.warn("there are more pods than are predicted: the others count with all that they request",
                    kv("pods", refused));
  crowded_ = refused > 0;
}

ProdPredictor Predictor::prod() const {
  return {[this](std::string_view uid) {
            const PeakModel* const model = models_.find(uid);
            return model != nullptr ? model->peak() : std::nullopt;
          },
          settings_.terms, parts_.clock.now()};
}

Task<Result<>> Predictor::run() {
  for (;;) {
    KOORD_CO_CHECK(
        co_await sleep(parts_.clock, std::clamp(settings_.checkpoint, kShortestKeep, kLongestKeep)));
    KOORD_CO_CHECK(co_await keep());
  }
}

Task<Result<>> Predictor::keep() {
  if (!trained_) co_return Result<>();
  models_.expire(parts_.clock.mono());
  std::vector<std::string> ended = models_.take_ended();
  if (folder_.empty()) co_return Result<>();
  struct File {
    std::string path, text;
  };
  std::vector<File> files;
  const auto due = models_.take_due(parts_.clock.mono(), settings_.checkpoint, settings_.checkpoints_at_once);
  for (const auto& [uid, model] : due) {
    if (!is_model_name(uid)) continue;
    File& file = files.emplace_back();
    file.path = fmt::format("{}{}", folder_, uid);
    write_peaks(uid, *model, parts_.clock.now(), file.text);
  }
  if (files.empty() && ended.empty()) co_return Result<>();
  std::function<Result<>()> job = [&]() -> Result<> {
    for (const std::string& uid : ended)
      if (is_model_name(uid)) (void)::unlink(fmt::format("{}{}", folder_, uid).c_str());
    Result<> all;
    for (const File& file : files)
      if (auto written = replace_file(file.path, file.text); !written) all = std::move(written);
    return all;
  };
  const Result<> written = co_await offload(parts_.workers, std::move(job));
  if (!written && written.error().code() == Code::cancelled) co_return written;
  if (!written && !refused_)
    parts_.log.warn("what is learned of the pods' usage cannot be kept, a restart will begin anew",
                    kv("error", written.error()));
  refused_ = !written;
  co_return Result<>();
}

}  // namespace koord::koordlet
