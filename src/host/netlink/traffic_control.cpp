// Traffic control: see koord/host/traffic_control.hpp.
#include "koord/host/traffic_control.hpp"

#include <fmt/format.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "socket.hpp"
#include "tc_messages.hpp"

namespace koord::host {
namespace {

constexpr std::uint64_t kPacket = 1600, kBuffersPerSecond = 250;  // a packet with its headers; 4 ms
constexpr std::uint64_t kNanoseconds = 1'000'000'000, kTick = 64;

/// How long sending what may be sent at once takes.
std::uint32_t ticks(std::uint64_t rate) {
  const std::uint64_t at_once = rate / kBuffersPerSecond + kPacket;
  const auto bytes = static_cast<double>(at_once);
  const double took = bytes * static_cast<double>(kNanoseconds) / static_cast<double>(rate);
  return static_cast<std::uint32_t>(std::min(took / kTick, static_cast<double>(UINT32_MAX)));
}

}  // namespace

std::string tc_text(TcHandle handle) {
  return (handle & 0xFFFF) == 0 ? fmt::format("{:x}:", handle >> 16)
                                : fmt::format("{:x}:{:x}", handle >> 16, handle & 0xFFFF);
}

HtbClass htb_class(TcHandle handle, TcHandle parent, std::uint64_t rate, std::uint64_t ceil,
                   std::uint32_t priority, std::uint32_t quantum) {
  rate = std::max<std::uint64_t>(rate, 1);
  ceil = std::max(ceil, rate);
  return {handle, parent, rate, ceil, priority, quantum, ticks(rate), ticks(ceil)};
}

class TrafficControl::Impl {
 public:
  explicit Impl(Netlink netlink) : netlink_(std::move(netlink)) {}

  template <class T, class Read>
  Result<std::vector<T>> list(NetlinkMessage message, std::string_view what, const Read& read) {
    std::vector<T> found;
    KOORD_CHECK(netlink_.list(
        message, what, [&found] { found.clear(); },
        [&](std::uint16_t, std::span<const std::byte> payload) {
          if (auto one = read(payload)) found.push_back(std::move(*one));
        }));
    return found;
  }
  Result<> ask(NetlinkMessage message, const NetworkLink& link, std::string_view what) {
    return netlink_.ask(message, fmt::format("{}: {}", link.name, what));
  }
  /// Link 0: there is none.
  Result<DefaultRoute> default_route(unsigned char family) {
    auto routes = list<DefaultRoute>(list_routes(family), "listing routes", &read_default_route);
    // So the kernel answers for a table in which nothing has ever been.
    if (!routes && routes.error().code() == Code::not_found) return DefaultRoute{};
    KOORD_TRY(all, std::move(routes));
    const auto best = std::ranges::min_element(all, {}, &DefaultRoute::metric);
    return best == all.end() ? DefaultRoute{} : *best;
  }

 private:
  Netlink netlink_;
};

TrafficControl::TrafficControl(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrafficControl::TrafficControl(TrafficControl&&) noexcept = default;
TrafficControl& TrafficControl::operator=(TrafficControl&&) noexcept = default;
TrafficControl::~TrafficControl() = default;

Result<TrafficControl> TrafficControl::open() {
  KOORD_TRY(netlink, Netlink::open(NETLINK_ROUTE));
  return TrafficControl(std::make_unique<Impl>(std::move(netlink)));
}

Result<DefaultLink> TrafficControl::default_link() {
  KOORD_TRY(route, impl_->default_route(AF_INET));
  if (route.link == 0) {
    KOORD_TRY(other, impl_->default_route(AF_INET6));
    route = other;
  }
  if (route.link == 0) return DefaultLink{};
  const std::string what = fmt::format("asking for the default route's device {}", route.link);
  KOORD_TRY(links, impl_->list<NetworkLink>(get_link(route.link), what, &read_link));
  const auto found = std::ranges::find(links, route.link, &NetworkLink::index);
  if (found == links.end()) return Error(Code::not_found, fmt::format("{}: no answer", what));
  return DefaultLink{std::move(*found), route.others};
}

Result<std::vector<RootQdisc>> TrafficControl::roots() {
  return impl_->list<RootQdisc>(list_roots(), "listing qdiscs", &read_root);
}

Result<std::vector<HtbClass>> TrafficControl::classes(int link) {
  return impl_->list<HtbClass>(
      list_classes(link), "listing classes",
      [link](std::span<const std::byte> payload) { return read_class(link, payload); });
}

Result<std::vector<TcFilter>> TrafficControl::filters(int link, TcHandle parent) {
  return impl_->list<TcFilter>(
      list_filters(link, parent), "listing filters",
      [link, parent](std::span<const std::byte> payload) { return read_filter(link, parent, payload); });
}

Result<> TrafficControl::add_root(const NetworkLink& link, TcHandle handle, std::uint16_t default_minor) {
  return impl_->ask(host::add_root(link.index, handle, default_minor), link,
                    fmt::format("adding the qdisc htb {}", tc_text(handle)));
}

Result<> TrafficControl::remove_root(const NetworkLink& link, TcHandle handle) {
  return impl_->ask(host::remove_root(link.index, handle), link,
                    fmt::format("removing the qdisc {}", tc_text(handle)));
}

Result<> TrafficControl::put_class(const NetworkLink& link, const HtbClass& what) {
  return impl_->ask(host::put_class(link.index, what), link,
                    fmt::format("setting the class {}", tc_text(what.handle)));
}

Result<> TrafficControl::remove_class(const NetworkLink& link, TcHandle handle) {
  return impl_->ask(host::remove_class(link.index, handle), link,
                    fmt::format("removing the class {}", tc_text(handle)));
}

Result<> TrafficControl::put_filter(const NetworkLink& link, TcHandle parent, const TcFilter& filter,
                                    int program, std::string_view name) {
  return impl_->ask(host::put_filter(link.index, parent, filter, program, name), link,
                    fmt::format("setting the filter of {}", tc_text(parent)));
}

}  // namespace koord::host
