// Messages of traffic control: see tc_messages.hpp.
#include "tc_messages.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace koord::host {
namespace {

constexpr std::uint64_t kMost32 = UINT32_MAX;
constexpr std::string_view kHtb = "htb", kBpf = "bpf";
constexpr std::uint16_t kList = NLM_F_REQUEST | NLM_F_DUMP, kAsk = NLM_F_REQUEST | NLM_F_ACK;

tcmsg about(int link, TcHandle handle, TcHandle parent) {
  tcmsg head{};
  head.tcm_family = AF_UNSPEC;
  head.tcm_ifindex = link;
  head.tcm_handle = handle;
  head.tcm_parent = parent;
  return head;
}

tc_ratespec rate_spec(std::uint64_t rate) {
  tc_ratespec spec{};
  spec.linklayer = TC_LINKLAYER_ETHERNET;  // the kernel counts by itself, without a table of rates
  spec.rate = static_cast<std::uint32_t>(std::min(rate, kMost32));
  return spec;
}

/// The first one counts.
void read_ways(std::span<const std::byte> ways, DefaultRoute& route) {
  rtnexthop way{};
  while (ways.size() >= sizeof way) {
    std::memcpy(&way, ways.data(), sizeof way);
    if (way.rtnh_len < sizeof way) return;
    if (route.link == 0) route.link = way.rtnh_ifindex;
    route.others = route.others || way.rtnh_ifindex != route.link;
    ways = ways.subspan(std::min<std::size_t>(RTNH_ALIGN(way.rtnh_len), ways.size()));
  }
}

}  // namespace

NetlinkMessage list_roots() { return NetlinkMessage(RTM_GETQDISC, kList).header(about(0, 0, 0)); }

NetlinkMessage list_classes(int link) {
  return NetlinkMessage(RTM_GETTCLASS, kList).header(about(link, 0, 0));
}

NetlinkMessage list_filters(int link, TcHandle parent) {
  return NetlinkMessage(RTM_GETTFILTER, kList).header(about(link, 0, parent));
}

NetlinkMessage get_link(int link) {
  ifinfomsg head{};
  head.ifi_index = link;
  return NetlinkMessage(RTM_GETLINK, kAsk).header(head);
}

NetlinkMessage list_routes(unsigned char family) {
  rtmsg head{};
  head.rtm_family = family;
  head.rtm_table = RT_TABLE_MAIN;
  return NetlinkMessage(RTM_GETROUTE, kList).header(head);
}

NetlinkMessage add_root(int link, TcHandle handle, std::uint16_t default_minor) {
  NetlinkMessage message(RTM_NEWQDISC, kAsk | NLM_F_CREATE | NLM_F_EXCL);
  message.header(about(link, handle, TC_H_ROOT)).put_text(TCA_KIND, kHtb);
  tc_htb_glob options{};
  options.version = 3;
  options.rate2quantum = 10;
  options.defcls = default_minor;
  const std::size_t nest = message.open(TCA_OPTIONS);
  return message.put_struct(TCA_HTB_INIT, options).close(nest);
}

NetlinkMessage remove_root(int link, TcHandle handle) {
  return NetlinkMessage(RTM_DELQDISC, kAsk).header(about(link, handle, TC_H_ROOT));
}

NetlinkMessage put_class(int link, const HtbClass& what) {
  NetlinkMessage message(RTM_NEWTCLASS, kAsk | NLM_F_CREATE);
  message.header(about(link, what.handle, what.parent)).put_text(TCA_KIND, kHtb);
  tc_htb_opt options{};
  options.rate = rate_spec(what.rate);
  options.ceil = rate_spec(what.ceil);
  options.buffer = what.buffer;
  options.cbuffer = what.ceil_buffer;
  options.quantum = what.quantum;
  options.prio = what.priority;
  const std::size_t nest = message.open(TCA_OPTIONS);
  message.put_struct(TCA_HTB_PARMS, options);
  if (what.rate > kMost32) message.put_struct(TCA_HTB_RATE64, what.rate);
  if (what.ceil > kMost32) message.put_struct(TCA_HTB_CEIL64, what.ceil);
  return message.close(nest);
}

NetlinkMessage remove_class(int link, TcHandle handle) {
  return NetlinkMessage(RTM_DELTCLASS, kAsk).header(about(link, handle, 0));
}

NetlinkMessage put_filter(int link, TcHandle parent, const TcFilter& filter, int program,
                          std::string_view name) {
  NetlinkMessage message(RTM_NEWTFILTER, kAsk | NLM_F_CREATE);
  tcmsg head = about(link, filter.handle, parent);
  head.tcm_info = TC_H_MAKE(std::uint32_t{filter.priority} << 16, htons(ETH_P_ALL));
  message.header(head).put_text(TCA_KIND, filter.kind);
  const std::size_t nest = message.open(TCA_OPTIONS);
  message.put_number(TCA_BPF_FD, static_cast<std::uint32_t>(program)).put_text(TCA_BPF_NAME, name);
  return message.close(nest);
}

std::optional<RootQdisc> read_root(std::span<const std::byte> payload) {
  const auto message = split<tcmsg>(payload);
  if (!message || message->first.tcm_parent != TC_H_ROOT) return std::nullopt;
  const auto& [head, attributes] = *message;
  RootQdisc root{head.tcm_ifindex, std::string(attributes.text(TCA_KIND)), head.tcm_handle};
  if (root.kind == kHtb)
    if (const auto options = attributes.nest(TCA_OPTIONS).structure<tc_htb_glob>(TCA_HTB_INIT))
      root.default_minor = options->defcls;
  return root;
}

std::optional<HtbClass> read_class(int link, std::span<const std::byte> payload) {
  const auto message = split<tcmsg>(payload);
  if (!message || message->first.tcm_ifindex != link) return std::nullopt;
  const auto& [head, attributes] = *message;
  const NetlinkAttributes options = attributes.nest(TCA_OPTIONS);
  const auto found = options.structure<tc_htb_opt>(TCA_HTB_PARMS);
  if (attributes.text(TCA_KIND) != kHtb || !found) return std::nullopt;
  HtbClass what{head.tcm_handle, head.tcm_parent};
  what.rate = options.structure<std::uint64_t>(TCA_HTB_RATE64).value_or(found->rate.rate);
  what.ceil = options.structure<std::uint64_t>(TCA_HTB_CEIL64).value_or(found->ceil.rate);
  what.priority = found->prio;
  what.quantum = found->quantum;
  what.buffer = found->buffer;
  what.ceil_buffer = found->cbuffer;
  return what;
}

std::optional<TcFilter> read_filter(int link, TcHandle parent, std::span<const std::byte> payload) {
  const auto message = split<tcmsg>(payload);
  if (!message || message->first.tcm_ifindex != link || message->first.tcm_parent != parent)
    return std::nullopt;
  const auto& [head, attributes] = *message;
  if (head.tcm_handle == 0) return std::nullopt;  // says that there are filters of this priority
  TcFilter filter{static_cast<std::uint16_t>(TC_H_MAJ(head.tcm_info) >> 16), head.tcm_handle,
                  std::string(attributes.text(TCA_KIND))};
  if (filter.kind == kBpf) filter.program = attributes.nest(TCA_OPTIONS).number(TCA_BPF_ID).value_or(0);
  return filter;
}

std::optional<NetworkLink> read_link(std::span<const std::byte> payload) {
  const auto message = split<ifinfomsg>(payload);
  if (!message) return std::nullopt;
  return NetworkLink{message->first.ifi_index, std::string(message->second.text(IFLA_IFNAME))};
}

std::optional<DefaultRoute> read_default_route(std::span<const std::byte> payload) {
  const auto message = split<rtmsg>(payload);
  if (!message) return std::nullopt;
  const auto& [head, attributes] = *message;
  const std::uint32_t table = attributes.number(RTA_TABLE).value_or(head.rtm_table);
  if (head.rtm_dst_len != 0 || head.rtm_type != RTN_UNICAST || table != RT_TABLE_MAIN) return std::nullopt;
  DefaultRoute route{static_cast<int>(attributes.number(RTA_OIF).value_or(0)),
                     attributes.number(RTA_PRIORITY).value_or(0)};
  if (route.link == 0) read_ways(attributes.find(RTA_MULTIPATH), route);
  return route.link > 0 ? std::optional(route) : std::nullopt;
}

}  // namespace koord::host
