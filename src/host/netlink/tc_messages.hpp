// What traffic control asks and is answered, as messages.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "koord/host/traffic_control.hpp"
#include "message.hpp"

namespace koord::host {

NetlinkMessage list_roots();
NetlinkMessage list_classes(int link);
NetlinkMessage list_filters(int link, TcHandle parent);
NetlinkMessage get_link(int link);
/// Of the main table, as far as the kernel heeds that (4.20).
NetlinkMessage list_routes(unsigned char family);
NetlinkMessage add_root(int link, TcHandle handle, std::uint16_t default_minor);
NetlinkMessage remove_root(int link, TcHandle handle);
NetlinkMessage put_class(int link, const HtbClass& what);
NetlinkMessage remove_class(int link, TcHandle handle);
NetlinkMessage put_filter(int link, TcHandle parent, const TcFilter& filter, int program,
                          std::string_view name);

/// Of an answer's payload; nothing: it is of something else, or cut off.
std::optional<RootQdisc> read_root(std::span<const std::byte> payload);
std::optional<HtbClass> read_class(int link, std::span<const std::byte> payload);
std::optional<TcFilter> read_filter(int link, TcHandle parent, std::span<const std::byte> payload);
std::optional<NetworkLink> read_link(std::span<const std::byte> payload);
struct DefaultRoute {
  int link = 0;
  std::uint32_t metric = 0;
  bool others = false;  // it goes over other devices, too
};
std::optional<DefaultRoute> read_default_route(std::span<const std::byte> payload);

}  // namespace koord::host
