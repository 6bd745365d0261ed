// ForecastGauges: see forecast_gauges.hpp.
#include "framework/report/forecast_gauges.hpp"

namespace koord::koordlet {

namespace {

constexpr metrics::Metric kReclaimable{.name = "koordlet_node_predicted_resource_reclaimable",
                                       .type = metrics::Type::gauge,
                                       .help = "What prod pods requested and are predicted not to use.",
                                       .labels = {"predictor", "resource", "unit"}};
constexpr metrics::Metric kPeak{.name = "koordlet_node_predicted_resource_peak",
                                .type = metrics::Type::gauge,
                                .help = "What prod pods are predicted to use at most.",
                                .labels = {"predictor", "resource", "unit"}};
constexpr metrics::Metric kProdReclaimable{
    .name = "koordlet_node_priority_resource_reclaimable",
    .type = metrics::Type::gauge,
    .help = "What pods of a class requested and will not use, as reported.",
    .labels = {"priority", "resource", "unit"}};
constexpr metrics::Metric kProdStatus{.name = "koordlet_node_resource_priority_reclaimable_status",
                                      .type = metrics::Type::gauge,
                                      .help = "0 where that is known, 1 where nothing can be predicted.",
                                      .labels = {"priority"}};
constexpr std::string_view kProd = "koord-prod";

void set(const metrics::Family<metrics::Gauge>& family, std::string_view who, const Amounts& amounts) {
  family.with({who, "cpu", "core"}).set(static_cast<double>(amounts.cpu) / 1000);
  family.with({who, "memory", "byte"}).set(static_cast<double>(amounts.memory));
}

}  // namespace

const metrics::Table ForecastGauges::kInternal = {&kReclaimable, &kPeak};
const metrics::Table ForecastGauges::kExternal = {&kProdReclaimable, &kProdStatus};

ForecastGauges::ForecastGauges(metrics::Registry& internal, metrics::Registry& external)
    : reclaimable_(internal.gauges(kReclaimable)),
      peak_(internal.gauges(kPeak)),
      prod_reclaimable_(external.gauges(kProdReclaimable)),
      prod_status_(external.gauges(kProdStatus)) {}

void ForecastGauges::show(const ProdForecast& forecast) const {
  reclaimable_.clear();
  peak_.clear();
  const auto one = [this](std::string_view predictor, const Forecast& of) {
    if (of.reclaimable) set(reclaimable_, predictor, *of.reclaimable);
    if (of.peak) set(peak_, predictor, *of.peak);
  };
  one("podReclaimablePredictor", forecast.by_pods);
  one("priorityReclaimablePredictor", forecast.by_class);
  one("minPredictor", forecast.careful);
  const auto& reclaimable = forecast.careful.reclaimable;
  set(prod_reclaimable_, kProd, reclaimable.value_or(Amounts{}));
  prod_status_.with({kProd}).set(reclaimable ? 0 : 1);
}

}  // namespace koord::koordlet
