// The ledger: see ledger.hpp.
#include "passes/ledger.hpp"

#include <fmt/format.h>

#include "koord/base/text.hpp"

namespace koord::device_daemon {

void Ledger::found(std::string_view vendor, std::vector<api::XpuDevice> devices) {
  vendors_.insert_or_assign(std::string(vendor), Known{.devices = std::move(devices)});
}

void Ledger::failed(std::string_view vendor, std::string_view why) {
  constexpr std::size_t kLongestWhy = 512;
  Known& known = vendors_[std::string(vendor)];
  if (known.has_failed)
    for (api::XpuDevice& device : known.devices) {
      auto& status = device.status.emplace();
      status.err_code = "not known";
      status.err_message = utf8_prefix(why, kLongestWhy);
    }
  known.has_failed = true;
}

void Ledger::absent(std::string_view vendor) {
  if (const auto it = vendors_.find(vendor); it != vendors_.end()) vendors_.erase(it);
}

std::vector<api::XpuDevice> Ledger::devices() const {
  std::vector<api::XpuDevice> all;
  for (const auto& [vendor, known] : vendors_)
    all.insert(all.end(), known.devices.begin(), known.devices.end());
  return all;
}

Ledger::Count Ledger::count(std::string_view vendor) const {
  Count count;
  if (const auto it = vendors_.find(vendor); it != vendors_.end())
    for (const api::XpuDevice& device : it->second.devices)
      ++(device.status && device.status->healthy ? count.healthy : count.unhealthy);
  return count;
}

}  // namespace koord::device_daemon
