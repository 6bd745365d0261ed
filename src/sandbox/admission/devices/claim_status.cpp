#include "sandbox/admission/devices/claim_status.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <optional>
#include <set>
#include <tuple>

#include "sandbox/admission/devices/checks.hpp"
#include "sandbox/admission/devices/claim_spec.hpp"

namespace koord::sandbox {
namespace {

constexpr std::size_t kMostConditions = 8, kLongestInterface = 256, kLongestAddress = 128, kMostIps = 16;
constexpr std::size_t kLongestReason = 1024, kLongestMessage = std::size_t{32} * 1024;

/// A device, or a share of one.
using DeviceId = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;

template <class T>
DeviceId id_of(const T& device) {
  return {device.driver.view(), device.pool.view(), device.device.view(),
          device.share_id ? std::string_view(*device.share_id) : std::string_view()};
}

// As kube-apiserver shows it.
std::string shown(const DeviceId& id) {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("Driver", std::get<0>(id)).member("Pool", std::get<1>(id));
  json.member("Device", std::get<2>(id)).member("ShareID", std::get<3>(id)).end_object();
  return out;
}

DeviceId id_in(const json::Value& device) {
  return {text_at(device, "driver"), text_at(device, "pool"), text_at(device, "device"),
          text_at(device, "shareID")};
}

std::set<DeviceId> devices_of(const json::Value& claim) {
  std::set<DeviceId> all;
  if (const json::Value* results = find(claim, "status", "allocation", "devices", "results"))
    for (const json::Value& each : results->elements()) all.insert(id_in(each));
  return all;
}

void check_consumer(const api::ResourceClaimConsumerReference& user, const FieldPath& path,
                    StatusCauses& errors) {
  if (user.resource.empty()) errors.required(path.field("resource").text());
  if (user.name.empty()) errors.required(path.field("name").text());
  if (user.uid.empty()) errors.required(path.field("uid").text());
}

// What may be asked of a condition's reason: [A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?
bool is_reason(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto word = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  if (text.empty() || !letter(text.front()) || !word(text.back())) return false;
  for (const char c : text)
    if (!word(c) && c != ',' && c != ':') return false;
  return true;
}

void check_conditions(const api::List<api::Condition>& conditions, const FieldPath& path,
                      StatusCauses& errors) {
  std::set<std::string_view> types;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const api::Condition& each = conditions[i];
    const FieldPath at = path.at(i);
    if (!types.insert(each.type).second) errors.duplicate(at.field("type").text(), each.type);
    check_label_name(each.type, at.field("type"), errors);
    if (each.status != "True" && each.status != "False" && each.status != "Unknown")
      errors.unsupported(at.field("status").text(), each.status, {"False", "True", "Unknown"});
    if (each.observed_generation < 0)
      errors.invalid_raw(at.field("observedGeneration").text(), fmt::to_string(each.observed_generation),
                         "must be greater than or equal to zero");
    if (each.last_transition_time == api::Time()) errors.required(at.field("lastTransitionTime").text());
    if (each.reason.empty()) {
      errors.required(at.field("reason").text());
    } else {
      if (!is_reason(each.reason))
        errors.invalid(at.field("reason").text(), each.reason,
                       "a condition reason must start with alphabetic character, optionally followed by a "
                       "string of alphanumeric characters or '_,:', and must end with an alphanumeric "
                       "character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or "
                       "'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
                       "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')");
      if (each.reason.size() > kLongestReason) errors.too_long(at.field("reason").text(), kLongestReason);
    }
    if (each.message.size() > kLongestMessage) errors.too_long(at.field("message").text(), kLongestMessage);
  }
}

// "10.9.8.7/24" as it would be printed, empty if it is none.
std::string canonical_interface(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {};
  boost::system::error_code error;
  boost::asio::ip::address address = boost::asio::ip::make_address(text.substr(0, slash), error);
  const std::string_view digits = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (error || wrong != std::errc() || end != digits.data() + digits.size()) return {};
  constexpr unsigned kBits4 = 32, kBits6 = 128;
  if (bits > (address.is_v4() ? kBits4 : kBits6)) return {};
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6());
    if (bits > kBits4) bits -= kBits6 - kBits4;
  }
  return fmt::format("{}/{}", address.to_string(), bits);
}

void check_interface_address(const std::string& text, const FieldPath& path, StatusCauses& errors) {
  const std::string canonical = canonical_interface(text);
  if (canonical.empty())
    errors.invalid(path.text(), text,
                   "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)");
  else if (canonical != text)
    errors.invalid(path.text(), text, fmt::format("must be in canonical form ({})", json::quote(canonical)));
}

void check_network(const api::NetworkDeviceData& data, const FieldPath& path, StatusCauses& errors) {
  if (data.interface_name.size() > kLongestInterface)
    errors.too_long(path.field("interfaceName").text(), kLongestInterface);
  if (data.hardware_address.size() > kLongestAddress)
    errors.too_long(path.field("hardwareAddress").text(), kLongestAddress);
  check_set(
      data.ips, kMostIps, path.field("ips"), errors,
      [&](const std::string& each, const FieldPath& at) { check_interface_address(each, at, errors); },
      [](const std::string& each) { return std::string_view(each); });
}

void check_device_status(const api::AllocatedDeviceStatus& device, const std::set<DeviceId>& allocated,
                         const FieldPath& path, StatusCauses& errors) {
  check_driver(device.driver, path.field("driver"), errors);
  check_pool(device.pool, path.field("pool"), errors);
  check_label(device.device, path.field("device"), errors);
  if (device.share_id) check_uuid(*device.share_id, path.field("shareID"), errors);
  if (!allocated.contains(id_of(device)))
    errors.invalid_raw(path.text(), shown(id_of(device)), "must be an allocated device in the claim");
  const FieldPath conditions = path.field("conditions");
  if (device.conditions.size() > kMostConditions)
    errors.too_many(conditions.text(), device.conditions.size(), kMostConditions);
  check_conditions(device.conditions, conditions, errors);
  if (!device.data.empty()) check_parameters(device.data, kMostParameterBytes, path.field("data"), errors);
  if (device.network_data) check_network(*device.network_data, path.field("networkData"), errors);
}

void check_result(const api::DeviceRequestAllocationResult& result, const RequestNames& names,
                  const FieldPath& path, StatusCauses& errors) {
  names.check(result.request, path.field("request"), errors);
  check_driver(result.driver, path.field("driver"), errors);
  check_pool(result.pool, path.field("pool"), errors);
  check_label(result.device, path.field("device"), errors);
  check_bindings(result.binding_conditions, result.binding_failure_conditions, path, errors);
  if (result.share_id) check_uuid(*result.share_id, path.field("shareID"), errors);
}

void check_allocation(const api::AllocationResult& allocation, const RequestNames& names,
                      const FieldPath& path, StatusCauses& errors) {
  const FieldPath devices = path.field("devices");
  check_list(allocation.devices.results, kMostRequests, devices.field("results"), errors,
             [&](const api::DeviceRequestAllocationResult& each, const FieldPath& at) {
               check_result(each, names, at, errors);
             });
  check_list(allocation.devices.config, 2 * kMostConfigs, devices.field("config"), errors,
             [&](const api::DeviceAllocationConfiguration& each, const FieldPath& at) {
               const FieldPath source = at.field("source");
               if (each.source.empty())
                 errors.required(source.text());
               else if (each.source != "FromClass" && each.source != "FromClaim")
                 errors.unsupported(source.text(), each.source, {"FromClaim", "FromClass"});
               check_request_refs(each.requests, at.field("requests"), names, errors);
               check_configuration(each.configuration, at, errors);
             });
  if (allocation.node_selector)
    check_node_selector(*allocation.node_selector, path.field("nodeSelector"), errors);
}

void check_users(const api::ResourceClaim& claim, const api::ResourceClaim& old, const FieldPath& path,
                 StatusCauses& errors) {
  const auto& users = claim.status.reserved_for;
  if (users.empty()) return;
  if (!claim.status.allocation)
    return errors.forbidden(path.text(), "may not be specified when `allocated` is not set");
  if (!claim.metadata.deletion_timestamp) return;
  const auto key = [](const api::ResourceClaimConsumerReference& user) {
    return std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>(
        user.api_group.view(), user.resource.view(), user.name, user.uid);
  };
  std::set<decltype(key(users[0]))> before;
  for (const auto& user : old.status.reserved_for) before.insert(key(user));
  for (const auto& user : users)
    if (!before.contains(key(user)))
      return errors.forbidden(
          path.text(),
          "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set");
}

void check_admin_results(const api::ResourceClaim& claim, const api::ResourceClaim& old,
                         const Registry& registry, StatusCauses& errors) {
  const auto first = [](const api::ResourceClaim& of) -> std::optional<std::size_t> {
    if (!of.status.allocation) return std::nullopt;
    const auto& results = of.status.allocation->devices.results;
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i].admin_access.value_or(false)) return i;
    return std::nullopt;
  };
  const auto granted = first(claim);
  if (!granted || first(old)) return;
  const FieldPath root("status"), allocation = root.field("allocation"),
                                  devices = allocation.field("devices"), results = devices.field("results"),
                                  at = results.at(*granted);
  check_admin_namespace(claim.metadata.namespace_, at.field("adminAccess"), registry, errors);
}

}  // namespace

void drop_statuses_of_gone_devices(json::Value& claim, const json::Value& old) {
  json::Value* statuses = find(claim, "status", "devices");
  if (!statuses || !statuses->is_array()) return;
  std::set<DeviceId> gone = devices_of(old);
  for (const DeviceId& kept : devices_of(claim)) gone.erase(kept);
  statuses->erase_if([&](const json::Value& each) { return gone.contains(id_in(each)); });
  if (statuses->empty()) json::remove(*find(claim, "status"), "devices");
}

void check_claim_status(const api::ResourceClaim& claim, const api::ResourceClaim& old,
                        const Registry& registry, StatusCauses& errors) {
  const FieldPath path("status"), reserved = path.field("reservedFor"), allocation = path.field("allocation");
  check_admin_results(claim, old, registry, errors);
  check_set(
      claim.status.reserved_for, kMostReservations, reserved, errors,
      [&](const api::ResourceClaimConsumerReference& each, const FieldPath& at) {
        check_consumer(each, at, errors);
      },
      [](const api::ResourceClaimConsumerReference& each) { return std::string_view(each.uid); });
  std::set<DeviceId> allocated;
  if (claim.status.allocation)
    for (const auto& result : claim.status.allocation->devices.results) allocated.insert(id_of(result));
  const FieldPath devices = path.field("devices");
  std::set<DeviceId> seen;
  for (std::size_t i = 0; i < claim.status.devices.size(); ++i)
    check_device_status(claim.status.devices[i], allocated, devices.at(i), errors);
  for (std::size_t i = 0; i < claim.status.devices.size(); ++i)
    if (const DeviceId id = id_of(claim.status.devices[i]); !seen.insert(id).second)
      errors.duplicate(devices.at(i).text(), shown(id));
  check_users(claim, old, reserved, errors);
  if (!claim.status.allocation) return;
  if (!old.status.allocation)
    return check_allocation(*claim.status.allocation, RequestNames(claim.spec.devices), allocation, errors);
  if (const std::string now = api::encode(*claim.status.allocation);
      now != api::encode(*old.status.allocation))
    errors.invalid_raw(allocation.text(), now, "field is immutable");
}

}  // namespace koord::sandbox
