// Traffic control: the queueing of network devices (tc): HTB with its classes, and filters, by rtnetlink.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::host {

/// MAJOR:MINOR of a class, MAJOR:0 of a qdisc.
using TcHandle = std::uint32_t;
constexpr TcHandle tc_handle(std::uint16_t major, std::uint16_t minor) {
  return TcHandle{major} << 16 | TcHandle{minor};
}
/// As tc prints it, hexadecimal: "6b6f:2".
std::string tc_text(TcHandle handle);
inline constexpr TcHandle kTcRoot = 0xFFFFFFFF;

struct NetworkLink {
  int index = 0;  // 0: none
  std::string name;
  friend bool operator==(const NetworkLink&, const NetworkLink&) = default;
};

struct DefaultLink {
  NetworkLink link;     // index 0: there is none
  bool others = false;  // the route goes over other devices, too
};

/// What is at a device's root. One that the kernel has put there by itself has the handle 0.
struct RootQdisc {
  int link = 0;
  std::string kind;
  TcHandle handle = 0;
  std::uint32_t default_minor = 0;  // of HTB
  friend bool operator==(const RootQdisc&, const RootQdisc&) = default;
};

/// Rates are bytes a second. `buffer` and `ceil_buffer` are how long sending what may be sent at once takes,
/// in the kernel's ticks of 64 ns; `quantum` is how many bytes a class sends before its neighbour's turn.
struct HtbClass {
  TcHandle handle = 0, parent = kTcRoot;
  std::uint64_t rate = 0, ceil = 0;
  std::uint32_t priority = 0, quantum = 0, buffer = 0, ceil_buffer = 0;
  friend bool operator==(const HtbClass&, const HtbClass&) = default;
};
/// With buffers for 4 ms at its rates and a packet. `ceil` is at least `rate`, and that at least 1.
HtbClass htb_class(TcHandle handle, TcHandle parent, std::uint64_t rate, std::uint64_t ceil,
                   std::uint32_t priority, std::uint32_t quantum);

struct TcFilter {
  std::uint16_t priority = 0;
  std::uint32_t handle = 0;
  std::string kind;
  std::uint32_t program = 0;  // the number of its eBPF program
  friend bool operator==(const TcFilter&, const TcFilter&) = default;
};

/// Of the network namespace in which it was opened; one thread at a time; each call waits for the kernel.
/// Reading needs no rights, writing CAP_NET_ADMIN. Errors name the device and what was asked.
class TrafficControl {
 public:
  static Result<TrafficControl> open();
  TrafficControl(TrafficControl&&) noexcept;
  TrafficControl& operator=(TrafficControl&&) noexcept;
  ~TrafficControl();

  /// Where packets leave that nothing else says of: that of IPv4's default route with the least metric, else
  /// IPv6's; of several ways the first one. Code::not_found: its device has gone meanwhile.
  Result<DefaultLink> default_link();
  Result<std::vector<RootQdisc>> roots();
  /// HTB's alone.
  Result<std::vector<HtbClass>> classes(int link);
  /// Of the root qdisc of that handle.
  Result<std::vector<TcFilter>> filters(int link, TcHandle parent);

  /// In place of what the kernel put there. What goes to no class goes to that of `default_minor`.
  Result<> add_root(const NetworkLink& link, TcHandle handle, std::uint16_t default_minor);
  /// With its classes and filters; the kernel puts there again what it begins with.
  Result<> remove_root(const NetworkLink& link, TcHandle handle);
  /// Makes it, or changes it; not its parent.
  Result<> put_class(const NetworkLink& link, const HtbClass& what);
  Result<> remove_class(const NetworkLink& link, TcHandle handle);
  /// An eBPF program that says of each packet whose class it is, in place of the one before.
  Result<> put_filter(const NetworkLink& link, TcHandle parent, const TcFilter& filter, int program,
                      std::string_view name);

 private:
  class Impl;
  explicit TrafficControl(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::host
