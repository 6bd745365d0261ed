// KeptVerdicts: see verdicts.hpp.
#include "scheduling/plugins/dynamic_resources/allocate/verdicts.hpp"

namespace koord::scheduling::dynamic_resources {

KeptVerdicts::OfSlice& KeptVerdicts::row(const Symbol& expression, const Slice& slice) {
  Last& last = last_[(expression.hash() >> 4) % kLast];
  if (last.serial == slice.serial() && last.expression == expression) return *last.row;
  if (kept_.size() >= kMostExpressions && !kept_.contains(expression)) {
    kept_.clear();
    last_ = {};
  }
  OfSlice& row = kept_[expression][slice.serial()];
  if (row.known.empty()) row.known.resize(slice.spec().devices.size());
  last = {expression, slice.serial(), &row};
  return row;
}

Verdict KeptVerdicts::ask(const Symbol& expression, const Slice& slice, std::uint32_t device) {
  OfSlice& of = row(expression, slice);
  std::uint8_t& known = of.known[device];
  if (known == 0) {
    auto [verdict, error] = evaluate_(expression, slice, device);
    if (!error.empty()) of.errors[device] = std::move(error);
    known = static_cast<std::uint8_t>(static_cast<std::uint8_t>(verdict) + 1);
  }
  return static_cast<Verdict>(known - 1);
}

std::string KeptVerdicts::why(const Symbol& expression, const Slice& slice, std::uint32_t device) {
  ask(expression, slice, device);
  const OfSlice& of = row(expression, slice);
  const auto error = of.errors.find(device);
  return error == of.errors.end() ? std::string() : error->second;
}

void KeptVerdicts::forget(const Slice& slice) {
  for (auto& [expression, rows] : kept_) rows.erase(slice.serial());
  last_ = {};
}

}  // namespace koord::scheduling::dynamic_resources
