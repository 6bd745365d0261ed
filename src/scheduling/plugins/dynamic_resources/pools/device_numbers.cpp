// DeviceNumbers: see device_numbers.hpp.
#include "scheduling/plugins/dynamic_resources/pools/device_numbers.hpp"

#include <fmt/format.h>

namespace koord::scheduling::dynamic_resources {

std::string DeviceId::text() const {
  return fmt::format("{}/{}/{}", driver.view(), pool.view(), device.view());
}

std::size_t DeviceNumbers::Hash::operator()(const DeviceId& id) const noexcept {
  constexpr std::size_t kMix = 0x9E3779B97F4A7C15;
  return ((id.driver.hash() * kMix) ^ id.pool.hash()) * kMix ^ id.device.hash();
}

DeviceNumber DeviceNumbers::hold(const DeviceId& id) {
  const auto [it, added] = numbers_.try_emplace(id, static_cast<DeviceNumber>(rows_.size()));
  if (added) {
    if (free_.empty()) {
      rows_.emplace_back();
    } else {
      it->second = free_.back();
      free_.pop_back();
    }
    rows_[it->second].id = id;
  }
  ++rows_[it->second].holders;
  return it->second;
}

void DeviceNumbers::release(DeviceNumber number) {
  Row& row = rows_[number];
  if (--row.holders != 0) return;
  numbers_.erase(row.id);
  row.id = {};
  free_.push_back(number);
}

}  // namespace koord::scheduling::dynamic_resources
