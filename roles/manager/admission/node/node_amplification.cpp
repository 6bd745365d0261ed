// Amplified nodes: see node_amplification.hpp.
#include "admission/node/node_amplification.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "admission/raw/raw_object.hpp"
#include "koord/api/koordinator/node.hpp"

namespace koord::manager {
namespace {

using json::Value;

constexpr std::array<std::string_view, 2> kAmplified = {"cpu", "memory"};  // in the order of their text

/// By number, and by whether it is there.
bool changed(const Value* before, const Value* now) {
  for (const std::string_view name : kAmplified)
    if (amount(before, name) != amount(now, name)) return true;
  return false;
}

/// What an annotation's text says.
template <class T>
Result<T> read(std::string_view text, std::string_view what) {
  Result<T> value{T()};
  if (text.size() > api::kMaxAnnotation)
    value = Error(Code::too_large, "longer than 64 KiB");
  else if (auto done = decode_annotation(text, *value); !done)
    value = std::move(done).error();
  if (!value) value = std::move(value).error().context(fmt::format("failed to unmarshal node {}", what));
  return value;
}

/// Those amounts of a list that are amplified.
api::AnnotatedResources amplified(const Value& list) {
  api::AnnotatedResources amounts;
  for (const std::string_view name : kAmplified)
    if (const auto quantity = amount(&list, name)) amounts.resources[name] = *quantity;
  return amounts;
}

}  // namespace

Result<> amplify_node(Value& node, const Value& before, json::Arena& arena) {
  const std::string_view ratio_text = annotation(node, api::AmplificationRatios::kAnnotation).value_or("");
  if (ratio_text.empty()) {
    if (Value* annotations = json::find(node, "metadata", "annotations"))
      json::remove(*annotations, api::kRawAllocatable);
    return {};
  }
  Value* const allocatable = json::find(node, "status", "allocatable");
  if (allocatable == nullptr || !allocatable->is_object()) return {};
  // What may fail comes first: a node with a ratio that cannot be read keeps what it had.
  KOORD_TRY(ratios, read<api::AmplificationRatios>(ratio_text, "resource amplification ratio"));
  const std::optional<std::string_view> kept = annotation(node, api::kRawAllocatable);
  api::AnnotatedResources raw;
  if (!kept || (!before.is_null() && changed(json::find(before, "status", "allocatable"), allocatable))) {
    raw = amplified(*allocatable);
    if (!raw.resources.empty())
      json::set_text(annotations_of(node, arena), api::kRawAllocatable, encode_annotation(raw), arena);
  } else {
    KOORD_TRY(said, read<api::AnnotatedResources>(*kept, "raw allocatable"));
    raw = std::move(said);
  }
  for (const std::string_view name : kAmplified) {
    const double* const ratio = ratios.ratios.find(name);
    const api::Quantity* const quantity = raw.resources.find(name);
    if (ratio == nullptr || !(*ratio > 1) || quantity == nullptr) continue;
    const double milli = static_cast<double>(quantity->milli_value()) * *ratio;
    if (!(std::abs(milli) < 9e18)) continue;  // no machine has that
    const auto more = api::Quantity::from_milli(static_cast<std::int64_t>(milli), quantity->format());
    json::set_text(*allocatable, name, more.to_string(), arena);
  }
  return {};
}

}  // namespace koord::manager
