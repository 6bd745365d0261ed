// Devices as selectors of resource claims see them: device.attributes["domain"].name and what else there is.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "koord/cel/environment.hpp"

namespace koord::cel {

/// What a slice says of one device. Names of attributes and capacities are asked for by domain: one that is
/// written without a domain lies in the driver's. Values of attributes are int, bool, string or semver,
/// capacities quantities.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view driver() const = 0;
  virtual bool allows_multiple_allocations() const = 0;
  /// nullptr where nothing is known of the domain, which then is an empty map.
  virtual const HostMap* attributes(std::string_view domain) const = 0;
  virtual const HostMap* capacities(std::string_view domain) const = 0;
};

/// The variable `device` over a Device, which must outlive it; it must outlive the evaluation.
class DeviceView final : public HostMap {
 public:
  explicit DeviceView(const Device& device)
      : device_(device), attributes_(device, &Device::attributes), capacities_(device, &Device::capacities) {}

  std::optional<Value> find(std::string_view key, Memory& memory) const override;
  std::uint32_t size() const override;
  std::pair<std::string_view, Value> entry(std::uint32_t index, Memory& memory) const override;

 private:
  /// Answers for every domain; which there are it does not say.
  class Domains final : public HostMap {
   public:
    using Lookup = const HostMap* (Device::*)(std::string_view) const;
    Domains(const Device& device, Lookup lookup) : device_(device), lookup_(lookup) {}
    std::optional<Value> find(std::string_view key, Memory& memory) const override;
    std::uint32_t size() const override { return 0; }
    std::pair<std::string_view, Value> entry(std::uint32_t, Memory&) const override { return {}; }

   private:
    const Device& device_;
    Lookup lookup_;
  };

  const Device& device_;
  Domains attributes_, capacities_;
};

/// The name of an attribute's type, which is of kind `dyn`: no other type of that kind has one.
inline constexpr std::string_view kAnyName = "google.protobuf.Any";

/// One variable, `device`; cel.bind is there; at most 10,240 code points. Programs must give a bool, or an
/// attribute: see type().
const Environment& device_environment();

}  // namespace koord::cel
