// What a table of address marks asks of nf_tables, as messages.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "koord/host/address_marks.hpp"
#include "message.hpp"

namespace koord::host {

using Mark = std::pair<IpAddress, std::uint32_t>;

/// The two maps' names, of IPv4 and IPv6.
std::string_view map_name(bool v6);

NetlinkMessage new_table(const std::string& table);
NetlinkMessage remove_table(const std::string& table);
/// Maps, chain and rules of a table, in an order in which the kernel takes them.
std::vector<NetlinkMessage> fill_table(const std::string& table);
/// Marks of one family, as few messages as hold them.
void add_marks(const std::string& table, std::span<const Mark> marks, std::vector<NetlinkMessage>& to);
void remove_marks(const std::string& table, std::span<const Mark> marks, std::vector<NetlinkMessage>& to);
NetlinkMessage list_tables();
NetlinkMessage list_rules(const std::string& table);
NetlinkMessage list_marks(const std::string& table, bool v6);

std::string read_table(std::span<const std::byte> payload);
/// Whether the rule is one of the chain's that mark.
bool read_rule(const std::string& table, std::span<const std::byte> payload);
void read_marks(const std::string& table, bool v6, std::span<const std::byte> payload, AddressClasses& to);

}  // namespace koord::host
