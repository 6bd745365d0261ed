#include "sandbox/admission/devices/capacity.hpp"

#include <fmt/format.h>

#include <set>

#include "sandbox/admission/devices/checks.hpp"

namespace koord::sandbox {
namespace {

constexpr std::size_t kMostValues = 10;

using api::Quantity;

void check_values(const Quantity& preset, const Quantity& most, const api::List<Quantity>& values,
                  const FieldPath& path, StatusCauses& errors) {
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i - 1] > values[i])
      errors.invalid(path.at(i).text(), values[i].to_string(), "values must be sorted in ascending order");
  bool found = false;
  if (check_count(values.size(), kMostValues, path, errors)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] > most)
        errors.invalid(path.at(i).text(), values[i].to_string(),
                       fmt::format("option is larger than capacity value: {}", most.to_string()));
      found = found || values[i] == preset;
    }
    std::set<std::int64_t> seen;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!seen.insert(values[i].value()).second)
        errors.duplicate(path.at(i).text(), fmt::to_string(values[i].value()));
  }
  if (!found)
    errors.invalid(path.text(), preset.to_string(),
                   "default value is not valid according to the requestPolicy");
}

void check_step(const Quantity& value, const Quantity& least, const Quantity& step, const FieldPath& path,
                StatusCauses& errors) {
  // kube-apiserver divides by the step as it is: nobody can be told what a step of 0 made of it.
  const __int128 above = static_cast<__int128>(value.value()) - least.value();
  if (step.value() == 0 || above % step.value() != 0)
    errors.invalid(path.text(), value.to_string(),
                   fmt::format("value is not a multiple of a given step ({}) from ({})", step.to_string(),
                               least.to_string()));
}

void check_range(const Quantity& preset, const Quantity& most, const api::CapacityRequestPolicyRange& range,
                 const FieldPath& path, StatusCauses& errors) {
  const FieldPath min_at = path.field("min"), max_at = path.field("max"), step_at = path.field("step");
  if (!range.min) return errors.required(min_at.text(), "required when validRange is defined");
  const auto larger = [&](const FieldPath& at, const Quantity& shown, std::string_view what,
                          const Quantity& than) {
    errors.invalid(at.text(), shown.to_string(), fmt::format("{}: {}", what, than.to_string()));
  };
  if (*range.min > most) larger(min_at, *range.min, "min is larger than capacity value", most);
  if (preset < *range.min) larger(min_at, preset, "default is less than min", *range.min);
  if (range.max) {
    if (*range.min > *range.max) larger(max_at, *range.min, "min is larger than max", *range.max);
    if (*range.max > most) larger(max_at, *range.max, "max is larger than capacity value", most);
    if (preset > *range.max) larger(max_at, preset, "default is more than max", *range.max);
  }
  if (!range.step) return;
  if (const Quantity first = *range.min + *range.step; first > most)
    errors.invalid(
        step_at.text(), range.step->to_string(),
        fmt::format("one step {} is larger than capacity value: {}", first.to_string(), most.to_string()));
  check_step(preset, *range.min, *range.step, step_at, errors);
  if (range.max) check_step(*range.max, *range.min, *range.step, step_at, errors);
}

}  // namespace

void check_capacity(const api::DeviceCapacity& capacity, bool shared, const FieldPath& path,
                    StatusCauses& errors) {
  if (!capacity.request_policy) return;
  const api::CapacityRequestPolicy& policy = *capacity.request_policy;
  const FieldPath at = path.field("requestPolicy");
  if (!shared) return errors.forbidden(at.text(), "allowMultipleAllocations must be true");
  const bool values = !policy.valid_values.empty(), range = policy.valid_range.has_value();
  if (values && range)
    return errors.forbidden(at.text(),
                            R"(exactly one policy can be specified, cannot specify "validValues" and )"
                            R"("validRange" at the same time)");
  if (!values && !range) return;
  if (!policy.default_)
    return errors.required(at.field("default").text(),
                           fmt::format("required when {} is defined", values ? "validValues" : "validRange"));
  if (values)
    return check_values(*policy.default_, capacity.value, policy.valid_values, at.field("validValues"),
                        errors);
  check_range(*policy.default_, capacity.value, *policy.valid_range, at.field("validRange"), errors);
}

}  // namespace koord::sandbox
