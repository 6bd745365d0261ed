// Address marks: packets that leave the host get a priority by who sent them, in a table of nf_tables: the
// class of traffic control that they are of. Before addresses are translated and tunnels are entered.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::host {

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};  // of IPv4 the first four
  bool v6 = false;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};
/// Nothing: it is none. IPv4 written as IPv6 is IPv4; no zone.
std::optional<IpAddress> parse_address(std::string_view text);
std::string to_string(const IpAddress& address);
/// One that only one host has, and others can reach: neither 0, nor loopback, link-local nor multicast.
bool is_routable(const IpAddress& address);

/// The marks are numbers of classes (koord/host/traffic_control.hpp).
using AddressClasses = std::map<IpAddress, std::uint32_t>;

/// The table `inet NAME` of the network namespace in which it was opened. One thread at a time; each call
/// waits for the kernel, and each is one transaction. Code::forbidden without
/// CAP_NET_ADMIN, reading included; Code::unsupported where the kernel has no nf_tables.
class AddressMarks {
 public:
  static Result<AddressMarks> open(std::string name);
  AddressMarks(AddressMarks&&) noexcept;
  AddressMarks& operator=(AddressMarks&&) noexcept;
  ~AddressMarks();

  struct State {
    bool exists = false;
    bool whole = false;  // with all that marks packets
    AddressClasses classes;
  };
  Result<State> read();
  /// In place of what there is of the table.
  Result<> make(const AddressClasses& classes);
  /// Of a whole table: from what was read to what shall be.
  Result<> change(const AddressClasses& from, const AddressClasses& to);
  /// False: there was none.
  Result<bool> remove();

 private:
  class Impl;
  explicit AddressMarks(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::host
