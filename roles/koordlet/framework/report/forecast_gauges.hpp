// ForecastGauges: what is predicted of prod pods, as metrics.
#pragma once

#include "framework/predict/prod.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

class ForecastGauges {
 public:
  static const metrics::Table kInternal, kExternal;
  ForecastGauges(metrics::Registry& internal, metrics::Registry& external);
  /// What is not predicted has no series; to the outside it is 0, and the status says that it is not known.
  void show(const ProdForecast& forecast) const;

 private:
  metrics::Family<metrics::Gauge> reclaimable_, peak_, prod_reclaimable_, prod_status_;
};

}  // namespace koord::koordlet
