// Netlink messages: written attribute by attribute, read without trust in their lengths.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace koord::host {

/// One message, with room for its header in front: the socket numbers it and fills the length in. A nest may
/// hold 65,531 bytes: its writer takes care.
class NetlinkMessage {
 public:
  NetlinkMessage(std::uint16_t type, std::uint16_t flags);

  /// The family's fixed header, first of all.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  NetlinkMessage& header(const T& fixed) {
    append(&fixed, sizeof fixed);
    return *this;
  }
  NetlinkMessage& put(std::uint16_t type, std::span<const std::byte> value);
  template <class T>
    requires std::is_trivially_copyable_v<T>
  NetlinkMessage& put_struct(std::uint16_t type, const T& value) {
    return put(type, std::as_bytes(std::span(&value, 1)));
  }
  NetlinkMessage& put_number(std::uint16_t type, std::uint32_t value);
  /// As nf_tables wants its numbers.
  NetlinkMessage& put_big_endian(std::uint16_t type, std::uint32_t value);
  /// With a zero at its end.
  NetlinkMessage& put_text(std::uint16_t type, std::string_view value);

  /// Attributes of attributes: what is put until close(begin) is in it.
  std::size_t open(std::uint16_t type);
  NetlinkMessage& close(std::size_t nest);

  std::uint16_t flags() const;
  /// The whole message, as it is sent.
  std::span<const std::byte> finish(std::uint32_t sequence);

 private:
  void append(const void* data, std::size_t size);

  std::vector<std::byte> bytes_;
};

/// The attributes of a message or a nest. The bytes stay where they are.
class NetlinkAttributes {
 public:
  explicit NetlinkAttributes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  struct Attribute {
    std::uint16_t type = 0;
    std::span<const std::byte> value;
  };
  /// The next one, from the first on; nothing: no more, or what is left is none.
  std::optional<Attribute> next();

  /// The first of that type, wherever next() is; empty: there is none.
  std::span<const std::byte> find(std::uint16_t type) const;
  std::optional<std::uint32_t> number(std::uint16_t type) const;
  std::optional<std::uint32_t> big_endian(std::uint16_t type) const;
  /// Up to its zero.
  std::string_view text(std::uint16_t type) const;
  NetlinkAttributes nest(std::uint16_t type) const { return NetlinkAttributes(find(type)); }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  std::optional<T> structure(std::uint16_t type) const {
    const auto value = find(type);
    if (value.size() < sizeof(T)) return std::nullopt;
    T copy;
    std::memcpy(&copy, value.data(), sizeof copy);
    return copy;
  }

 private:
  std::span<const std::byte> bytes_;
};

/// A message's fixed header and what follows it; nothing: it is too short.
template <class T>
  requires std::is_trivially_copyable_v<T>
std::optional<std::pair<T, NetlinkAttributes>> split(std::span<const std::byte> payload) {
  if (payload.size() < sizeof(T)) return std::nullopt;
  T fixed;
  std::memcpy(&fixed, payload.data(), sizeof fixed);
  const std::size_t after = (sizeof(T) + 3) & ~std::size_t{3};
  return std::pair(fixed, NetlinkAttributes(payload.subspan(std::min(after, payload.size()))));
}

}  // namespace koord::host
