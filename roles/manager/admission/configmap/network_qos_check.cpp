// Network quality of service: see network_qos_check.hpp.
#include "admission/configmap/network_qos_check.hpp"

#include <fmt/format.h>

#include <optional>

#include "admission/raw/raw_object.hpp"
#include "framework/config/go_json.hpp"
#include "koord/api/rules/validation_names.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

using api::Quantity;
using json::Value;

struct ClassName {
  std::string_view wire, named;
};
constexpr ClassName kClasses[] = {{"lsrClass", "LSRClass"}, {"lsClass", "LSClass"}, {"beClass", "BEClass"}};
struct FieldName {
  std::string_view wire, named;
};
constexpr FieldName kFields[] = {{"ingressRequest", "IngressRequest"},
                                 {"ingressLimit", "IngressLimit"},
                                 {"egressRequest", "EgressRequest"},
                                 {"egressLimit", "EgressLimit"}};
constexpr std::string_view kIngress = "ingressRequest", kEgress = "egressRequest";

const Value* field_of(const Value& strategy, std::string_view class_name, std::string_view field) {
  const Value* const value = json::find(strategy, class_name, "networkQOS", field);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

std::string check_element(const Value& value, std::string_view path) {
  if (value.is_string()) {
    const auto quantity = Quantity::parse(value.text());
    return quantity ? std::string() : api::invalid_value(path, value.text(), quantity.error().message());
  }
  const std::int64_t percent = value.to_int().value_or(-1);
  if (percent >= 0 && percent <= 100) return {};
  return fmt::format("{}: Invalid value: {}: must be percentage value just in 0-100'", path,
                     json::to_text(value));
}

std::string check_elements(const Value& strategy, std::string_view path) {
  for (const ClassName& each : kClasses)
    for (const FieldName& field : kFields)
      if (const Value* value = field_of(strategy, each.wire, field.wire)) {
        std::string wrong = check_element(*value, fmt::format("{}.{}.{}", path, each.named, field.named));
        if (!wrong.empty()) return wrong;
      }
  return {};
}

bool mixes_formats(const Value& strategy) {
  bool shares = false, amounts = false;
  for (const ClassName& each : kClasses)
    for (const std::string_view field : {kIngress, kEgress})
      if (const Value* value = field_of(strategy, each.wire, field))
        (value->is_string() ? amounts : shares) = true;
  return shares && amounts;
}

bool shares_exceed(const Value& strategy, std::string_view field) {
  std::int64_t sum = 0;
  for (const ClassName& each : kClasses)
    if (const Value* value = field_of(strategy, each.wire, field)) sum += value->to_int().value_or(0);
  return sum > 100;
}

bool amounts_exceed(const Value& strategy, std::string_view field, const Quantity& total) {
  Quantity sum;
  for (const ClassName& each : kClasses)
    if (const Value* value = field_of(strategy, each.wire, field); value != nullptr && value->is_string())
      if (const auto quantity = Quantity::parse(value->text())) sum += *quantity;
  return sum > total;
}

std::optional<Quantity> bandwidth_in(const Value* strategy) {
  const Value* const said = strategy != nullptr ? find_like_go(*strategy, "totalNetworkBandwidth") : nullptr;
  auto quantity = said != nullptr ? to_quantity(*said) : std::nullopt;
  return quantity && quantity->sign() > 0 ? quantity : std::nullopt;
}

/// That of the group of nodes with the very same selector, else the cluster's; nothing where it is not known.
std::optional<Quantity> bandwidth_of(const Value* system, const api::LabelSelector* selector) {
  if (system == nullptr || !system->is_object()) return std::nullopt;
  if (selector != nullptr) {
    const Value* const groups = find_like_go(*system, "nodeStrategies");
    for (std::size_t i = 0; groups != nullptr && i < groups->size() && groups->is_array(); ++i) {
      const Value* const theirs =
          (*groups)[i].is_object() ? find_like_go((*groups)[i], "nodeSelector") : nullptr;
      if (theirs == nullptr || !theirs->is_object()) continue;
      const auto read = api::decode<api::LabelSelector>(*theirs);
      if (!read || !(*read == *selector)) continue;
      if (auto bandwidth = bandwidth_in(&(*groups)[i])) return bandwidth;
      break;
    }
  }
  const Value* const cluster = find_like_go(*system, "clusterStrategy");
  return cluster != nullptr && cluster->is_object() ? bandwidth_in(cluster) : std::nullopt;
}

bool any_exceeds(const Value& strategy, const std::optional<Quantity>& total) {
  return total && (amounts_exceed(strategy, kIngress, *total) || amounts_exceed(strategy, kEgress, *total));
}

}  // namespace

std::string check_network_qos(const Value& cluster, std::span<const GroupStrategy> groups,
                              const Value* system) {
  if (std::string wrong = check_elements(cluster, "ResourceQOSCfg.ClusterStrategy"); !wrong.empty())
    return wrong;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::string wrong = check_elements(*groups[i].strategy, fmt::format("ResourceQOSCfg.nodeStrategy.{}", i));
    if (!wrong.empty()) return wrong;
  }
  if (mixes_formats(cluster))
    return "only one type can be used for percentages or quantity in clusterStrategy";
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (mixes_formats(*groups[i].strategy))
      return fmt::format("only one type can be used for percentages or quantity in nodeStrategy[{}]", i);
  if (shares_exceed(cluster, kIngress) || shares_exceed(cluster, kEgress))
    return "ClusterStrategy total net bandwidth percentage already over 100";
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (shares_exceed(*groups[i].strategy, kIngress) || shares_exceed(*groups[i].strategy, kEgress))
      return fmt::format("cfg.NodeStrategies[{}] total net bandwidth percentage already over 100", i);
  if (any_exceeds(cluster, bandwidth_of(system, nullptr)))
    return "total net bandwidth over total network bandwidth in clusterStrategy";
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (any_exceeds(*groups[i].strategy, bandwidth_of(system, groups[i].selector)))
      return fmt::format(
          "total net bandwidth quantity already over total network bandwidth in cfg.NodeStrategies[{}]", i);
  return {};
}

}  // namespace koord::manager
