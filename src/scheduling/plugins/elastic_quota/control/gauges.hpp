// Gauges of quotas: what each says, asks for, uses and may use.
#pragma once

#include "koord/base/metrics.hpp"
#include "scheduling/plugins/elastic_quota/control/summary.hpp"

namespace koord::scheduling::elastic_quota {

/// As Koordinator's dashboards read them: CPU in milli, everything else in its unit.
class QuotaGauges {
 public:
  explicit QuotaGauges(metrics::Registry& registry);
  void put(const QuotaSummary& now) const;
  /// Of one that was put() as it is here.
  void remove(const QuotaSummary& before) const;

 private:
  metrics::Family<metrics::Gauge> status_;
};

/// Of each write of a quota's status, in seconds.
metrics::Histogram write_seconds(metrics::Registry& registry);

}  // namespace koord::scheduling::elastic_quota
