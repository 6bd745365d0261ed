// Amplified nodes: see node_amplification.hpp.
#include "admission/node/node_amplification.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "admission/raw/raw_object.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/json/writer.hpp"

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

/// An annotation's object; null in it is an empty one, as in Go.
Result<json::Document> read_map(std::string_view text, std::string_view what) {
  auto map = json::parse(text);
  if (!map) return map.error().context(fmt::format("failed to unmarshal node {}", what));
  if (!map->is_object() && !map->is_null())
    return Error(Code::parse, fmt::format("failed to unmarshal node {}: an object is expected", what));
  return map;
}

std::string print_raw(const Value& allocatable) {
  std::string text;
  json::Writer json(text);
  json.begin_object();
  for (const std::string_view name : kAmplified)
    if (const auto quantity = amount(&allocatable, name)) json.member(name, quantity->to_string());
  json.end_object();
  return text;
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
  KOORD_TRY(ratios, read_map(ratio_text, "resource amplification ratio"));
  for (const json::Member& member : ratios.members())
    if (!member.value.is_number() && !member.value.is_null())
      return Error(Code::parse,
                   "failed to unmarshal node resource amplification ratio: a number is expected");
  const std::optional<std::string_view> kept = annotation(node, api::kRawAllocatable);
  json::Document raw;
  if (!kept || (!before.is_null() && changed(json::find(before, "status", "allocatable"), allocatable))) {
    const std::string text = print_raw(*allocatable);
    if (text != "{}") json::set_text(annotations_of(node, arena), api::kRawAllocatable, text, arena);
    raw = json::clone(*allocatable);
  } else {
    KOORD_TRY(read, read_map(*kept, "raw allocatable"));
    for (const json::Member& member : read.members())
      if (!to_quantity(member.value))
        return Error(Code::parse, "failed to unmarshal node raw allocatable: a quantity is expected");
    raw = std::move(read);
  }
  for (const std::string_view name : kAmplified) {
    const Value* const said = json::find(ratios, name);
    const double ratio = said != nullptr ? said->to_double().value_or(0) : 0;
    const auto quantity = amount(&raw, name);
    if (!(ratio > 1) || !quantity) continue;
    const double milli = static_cast<double>(quantity->milli_value()) * ratio;
    if (!(std::abs(milli) < 9e18)) continue;  // no machine has that
    const auto amplified = api::Quantity::from_milli(static_cast<std::int64_t>(milli), quantity->format());
    json::set_text(*allocatable, name, amplified.to_string(), arena);
  }
  return {};
}

}  // namespace koord::manager
