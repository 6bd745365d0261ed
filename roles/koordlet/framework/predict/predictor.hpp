// Predictor: learns what pods use, once a minute, and keeps it for the next agent.
#pragma once

#include <string>

#include "framework/predict/models.hpp"
#include "framework/predict/prod.hpp"
#include "framework/tick/tick_view.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/task.hpp"
#include "koord/base/log.hpp"

namespace koord::koordlet {

struct PredictorSettings {
  PeakModels::Limits limits;
  ProdPredictor::Terms terms;
  nanoseconds training = std::chrono::minutes(1);  // how often; at most the window of the series
  nanoseconds checkpoint = std::chrono::minutes(10);
  std::size_t checkpoints_at_once = 12;  // of one keep()
};

/// The event loop's thread; everything outlives it.
class Predictor {
 public:
  struct Parts {
    Clock& clock;
    Logger& log;
    WorkerPool& workers;
    const SeriesStore& series;
  };
  /// `folder` ends in a slash and is there; empty: nothing is kept.
  Predictor(Parts parts, PredictorSettings settings, std::string folder);

  /// What an earlier agent has kept. Blocks; before the first tick.
  void restore();
  /// Learns if it is time: at once when all pods were measured, then every `training`. Allocates nothing
  /// while no pod is new.
  void tick(const TickView& view);
  /// Until it is cancelled: keep() once a minute, more often only where `checkpoint` is shorter.
  Task<Result<>> run();
  /// Ends models that had no sample for long and removes their files, writes those that are due.
  Task<Result<>> keep();

  /// For a report that is made now; this outlives it.
  ProdPredictor prod() const;
  const PeakModels& models() const { return models_; }

 private:
  Parts parts_;
  PredictorSettings settings_;
  std::string folder_;
  PeakModels models_;
  std::optional<MonoTime> first_seen_, trained_;
  bool crowded_ = false, refused_ = false;
};

}  // namespace koord::koordlet
