// ProdPredictor: what prod pods requested and will not use, and what they and the system will use at most.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "framework/predict/models.hpp"

namespace koord::koordlet {

/// Nothing where a model or the node's allocatable is missing.
struct Forecast {
  std::optional<Amounts> reclaimable, peak;
  friend bool operator==(const Forecast&, const Forecast&) = default;
};

/// What two predictors say, and the careful one of both: the lesser reclaimable, the greater peak.
struct ProdForecast {
  Forecast by_pods;   // the sum of what is predicted of each pod
  Forecast by_class;  // of all prod pods and the system as a whole
  Forecast careful;
};

/// For one report.
class ProdPredictor {
 public:
  /// What a model, by its name, predicts; nothing: there is none.
  using PeakOf = std::function<std::optional<Amounts>(std::string_view)>;
  struct Terms {
    nanoseconds cold_start = std::chrono::hours(24);  // so long after its creation a pod uses all it requests
    std::int64_t margin_percent = 10;                 // what is added to each prediction
  };
  ProdPredictor(PeakOf peak_of, Terms terms, WallTime now)
      : peak_of_(std::move(peak_of)), terms_(terms), now_(now) {}

  /// A pod that was measured; at most once. Those of other classes than prod are passed over.
  void add(const PodInfo& pod);
  ProdForecast forecast(const NodeInfo& node) const;

 private:
  Amounts with_margin(const Amounts& peak) const;

  PeakOf peak_of_;
  Terms terms_;
  WallTime now_;
  Amounts reclaimable_, predicted_;  // of pods that have a model
  Amounts unpredicted_;              // requests of those that are young, or have none
  Amounts requested_;
};

}  // namespace koord::koordlet
