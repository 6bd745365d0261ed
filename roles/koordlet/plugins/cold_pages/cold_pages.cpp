// Cold pages: the kernel's scans for them (kidled) run while the gate is on. What they find the collector of
// that name reads.
#include "framework/qos/plugin.hpp"

namespace koord::koordlet {

namespace cold_pages {
namespace {

using host::Knob;

constexpr std::string_view kReason = "the gate ColdPageCollector", kAuditReason = "ColdPageCollector";

struct Setting {
  std::string_view file;
  std::int64_t value;  // upstream's
};
/// The period is last: setting it begins the scans.
constexpr Setting kSettings[] = {
    {"kernel/mm/kidled/use_hierarchy", 1},
    {"kernel/mm/kidled/scan_period_in_seconds", 5},
};

class ColdPages final : public Strategy {
 public:
  explicit ColdPages(const PluginContext& context) : context_(context) {}
  StrategyStatus status() const override { return status_; }
  void release(const Inventory&, Plan&) override { status_ = {false, "off: its gate is"}; }

  void plan(const TickView&, Plan& plan) override {
    for (const Setting& setting : kSettings)
      if (!context_.knobs.original(Knob::sys, setting.file)) {
        status_ = {false, "off: the kernel has no kidled"};
        return;
      }
    for (const Setting& setting : kSettings)
      plan.want(Knob::sys, setting.file, setting.value, kReason).audit_reason = kAuditReason;
    if (!status_.active) status_ = {true, "kidled scans every 5 s"};
  }

 private:
  const PluginContext& context_;
  StrategyStatus status_;
};

constexpr std::string_view kGates[] = {"ColdPageCollector"};

}  // namespace
}  // namespace cold_pages

extern const StrategyEntry kColdPageScans{
    .name = "ColdPages",
    .gates = cold_pages::kGates,
    .replan = Replan::on_change,
    .needs_slo = false,
    .make = &make<cold_pages::ColdPages>,
};

}  // namespace koord::koordlet
