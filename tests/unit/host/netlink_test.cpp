// Netlink: messages as tc and nft of iproute2 and nftables write them, and answers that are cut off or lie.
#include <fmt/format.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "koord/host/address_marks.hpp"
#include "koord/host/group_classes.hpp"
#include "koord/host/traffic_control.hpp"
#include "netlink/mark_messages.hpp"
#include "netlink/tc_messages.hpp"

namespace koord::host {
namespace {

constexpr std::size_t kHead = sizeof(nlmsghdr);

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned>(byte));
  return text;
}
std::string hex(NetlinkMessage message) { return hex(message.finish(7)); }
std::span<const std::byte> payload_of(NetlinkMessage& message) { return message.finish(1).subspan(kHead); }
std::vector<std::byte> bytes_of(NetlinkMessage message) {
  const auto payload = payload_of(message);
  return {payload.begin(), payload.end()};
}

TEST_CASE("What is asked of traffic control, byte by byte", "[host][netlink]") {
  // strace -x -e sendmsg of tc qdisc add dev DEVICE5 root handle 6b6f: htb default 12, less r2q and the
  // length of its direct queue, which are the kernel's own; the sequence is ours.
  CHECK(hex(add_root(5, 0x6b6f0000, 0x12)) ==
        "48000000"
        "2400"
        "0506"
        "07000000"
        "00000000"
        "00000000"
        "05000000"
        "00006f6b"
        "ffffffff"
        "00000000"
        "08000100"
        "68746200"
        "1c000280"
        "18000200"
        "03000000"
        "0a000000"
        "12000000"
        "00000000"
        "00000000");
  CHECK(hex(remove_root(5, 0x6b6f0000)) ==
        "24000000"
        "2500"
        "0500"
        "07000000"
        "00000000"
        "00000000"
        "05000000"
        "00006f6b"
        "ffffffff"
        "00000000");
  CHECK(hex(remove_class(5, 0x6b6f0004)) ==
        "24000000"
        "2900"
        "0500"
        "07000000"
        "00000000"
        "00000000"
        "05000000"
        "04006f6b"
        "00000000"
        "00000000");
}

TEST_CASE("Of routes and devices no more is asked for than is wanted", "[host][netlink]") {
  NetlinkMessage link = get_link(5);
  CHECK((link.flags() & NLM_F_DUMP) == 0);
  CHECK((link.flags() & NLM_F_ACK) != 0);
  ifinfomsg device{};
  std::memcpy(&device, payload_of(link).data(), sizeof device);
  CHECK(device.ifi_index == 5);
  rtmsg route{};
  const auto asked = bytes_of(list_routes(AF_INET));
  std::memcpy(&route, asked.data(), sizeof route);
  CHECK(route.rtm_table == RT_TABLE_MAIN);
}

TEST_CASE("A class is read back as it was set, at rates beyond 4 GB/s, too", "[host][netlink]") {
  for (const std::uint64_t rate : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{125'000'000},
                                   std::uint64_t{UINT32_MAX}, std::uint64_t{50'000'000'000}}) {
    const HtbClass what = htb_class(0x6b6f0012, 0x6b6f0002, rate, rate * 2, 3, 15'140);
    CHECK(what.buffer > 0);
    CHECK(read_class(5, bytes_of(put_class(5, what))) == what);
    CHECK_FALSE(read_class(6, bytes_of(put_class(5, what))).has_value());
  }
  // 4 ms and a packet of 1,600 bytes at 1 MB/s take 5.6 ms, in ticks of 64 ns.
  CHECK(htb_class(1, 2, 1'000'000, 0, 0, 0).buffer == 87'500);
  CHECK(htb_class(1, 2, 0, 0, 0, 0).rate == 1);
  CHECK(htb_class(1, 2, 9, 5, 0, 0).ceil == 9);
}

TEST_CASE("Roots and filters are read; the kernel's own and others' are told apart", "[host][netlink]") {
  const auto root = read_root(bytes_of(add_root(5, 0x6b6f0000, 0x12)));
  REQUIRE(root.has_value());
  CHECK(*root == RootQdisc{5, "htb", 0x6b6f0000, 0x12});
  tcmsg leaf{};
  leaf.tcm_parent = 0x6b6f0012;
  CHECK_FALSE(read_root(std::as_bytes(std::span(&leaf, 1))).has_value());

  NetlinkMessage answer(RTM_NEWTFILTER, 0);
  tcmsg head{};
  head.tcm_ifindex = 5;
  head.tcm_parent = 0x6b6f0000;
  head.tcm_handle = 1;
  head.tcm_info = 1 << 16;
  answer.header(head).put_text(TCA_KIND, "bpf");
  const std::size_t nest = answer.open(TCA_OPTIONS);
  answer.put_number(TCA_BPF_ID, 77).close(nest);
  CHECK(read_filter(5, 0x6b6f0000, payload_of(answer)) == TcFilter{1, 1, "bpf", 77});
  CHECK_FALSE(read_filter(5, 0x10000, payload_of(answer)).has_value());
  CHECK(tc_text(0x6b6f0000) == "6b6f:");
  CHECK(tc_text(0x6b6f0012) == "6b6f:12");
  // The original's rows; of 1:2222 it makes 0x12222, whose minor is another one.
  CHECK(tc_handle(0x11, 2) == 1'114'114);
  CHECK((115'914 & 0xFFFF) == 0xc4ca);
  CHECK(tc_text(115'914) == "1:c4ca");
}

TEST_CASE("The default route is the main table's, to everywhere, and goes somewhere", "[host][netlink]") {
  struct Row {
    int table;
    unsigned char length, type;
    std::uint32_t metric, out;
    bool is;
  };
  const Row rows[] = {{RT_TABLE_MAIN, 0, RTN_UNICAST, 100, 3, true},
                      {RT_TABLE_MAIN, 24, RTN_UNICAST, 0, 3, false},
                      {RT_TABLE_LOCAL, 0, RTN_UNICAST, 0, 3, false},
                      {RT_TABLE_MAIN, 0, RTN_BLACKHOLE, 0, 3, false},
                      {RT_TABLE_MAIN, 0, RTN_UNICAST, 0, 0, false}};
  for (const Row& row : rows) {
    NetlinkMessage message(RTM_NEWROUTE, 0);
    rtmsg head{};
    head.rtm_table = static_cast<unsigned char>(row.table);
    head.rtm_dst_len = row.length;
    head.rtm_type = row.type;
    message.header(head).put_number(RTA_PRIORITY, row.metric);
    if (row.out > 0) message.put_number(RTA_OIF, row.out);
    const auto route = read_default_route(payload_of(message));
    REQUIRE(route.has_value() == row.is);
    if (route) CHECK((route->link == 3 && route->metric == 100));
  }
  rtmsg head{};
  head.rtm_table = RT_TABLE_MAIN;
  head.rtm_type = RTN_UNICAST;
  rtnexthop ways[] = {{.rtnh_len = sizeof(rtnexthop), .rtnh_flags = 0, .rtnh_hops = 0, .rtnh_ifindex = 9},
                      {.rtnh_len = sizeof(rtnexthop), .rtnh_flags = 0, .rtnh_hops = 0, .rtnh_ifindex = 9}};
  const auto over = [&]() {
    NetlinkMessage many(RTM_NEWROUTE, 0);
    many.header(head).put_struct(RTA_MULTIPATH, ways);
    return read_default_route(payload_of(many));
  };
  REQUIRE(over().has_value());
  CHECK((over()->link == 9 && !over()->others));
  ways[1].rtnh_ifindex = 8;
  CHECK((over()->link == 9 && over()->others));
  ways[1].rtnh_len = 60'000;  // the last one, and cut off
  CHECK((over()->link == 9 && over()->others));
  ways[0].rtnh_len = 0;
  CHECK_FALSE(over().has_value());
}

TEST_CASE("Addresses: what one is, and what no pod has", "[host][netlink]") {
  struct Row {
    const char *text, *printed;
    bool routable;
  };
  const Row rows[] = {{"10.1.2.3", "10.1.2.3", true},
                      {"fd00::1", "fd00::1", true},
                      {"::ffff:10.1.2.3", "10.1.2.3", true},
                      {"127.0.0.1", "127.0.0.1", false},
                      {"0.0.0.0", "0.0.0.0", false},
                      {"::", "::", false},
                      {"::1", "::1", false},
                      {"169.254.1.1", "169.254.1.1", false},
                      {"fe80::1", "fe80::1", false},
                      {"224.0.0.1", "224.0.0.1", false},
                      {"ff02::1", "ff02::1", false},
                      {"10.1.2", nullptr, false},
                      {"", nullptr, false},
                      {"10.1.2.3 ", nullptr, false},
                      {"fe80::1%eth0", nullptr, false},
                      {"010.1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20", nullptr, false}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto address = parse_address(row.text);
    REQUIRE(address.has_value() == (row.printed != nullptr));
    if (!address) continue;
    CHECK(to_string(*address) == row.printed);
    CHECK(is_routable(*address) == row.routable);
  }
  // The original's row: 0ad3f895.
  CHECK(hex(std::as_bytes(std::span(parse_address("10.211.248.149")->bytes)).first(4)) == "0ad3f895");
}

TEST_CASE("Marks are read back as they were written, thousands in messages that hold them",
          "[host][netlink]") {
  AddressClasses classes;
  std::vector<Mark> four, six;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    IpAddress address{.v6 = i % 2 == 1};
    address.bytes[0] = 10;
    address.bytes[2] = static_cast<std::uint8_t>(i >> 8);
    address.bytes[3] = static_cast<std::uint8_t>(i);
    classes[address] = 0x6b6f0000 + i;
    (address.v6 ? six : four).emplace_back(address, 0x6b6f0000 + i);
  }
  AddressClasses read;
  for (const auto* marks : {&four, &six}) {
    std::vector<NetlinkMessage> messages;
    add_marks("t", *marks, messages);
    CHECK(messages.size() == 3);
    for (NetlinkMessage& message : messages) {
      CHECK(message.finish(1).size() < 65'536);
      read_marks("t", marks == &six, payload_of(message), read);
      AddressClasses others;
      read_marks("u", marks == &six, payload_of(message), others);
      read_marks("t", marks != &six, payload_of(message), others);
      CHECK(others.empty());
    }
  }
  CHECK(read == classes);
  std::size_t rules = 0;
  for (NetlinkMessage& message : fill_table("t")) rules += read_rule("t", payload_of(message)) ? 1 : 0;
  CHECK(rules == 3);
  NetlinkMessage table = new_table("t");
  CHECK(read_table(payload_of(table)) == "t");
}

TEST_CASE("Answers that are cut off, or whose lengths lie, are read as far as they go", "[host][netlink]") {
  std::vector<std::vector<std::byte>> answers = {
      bytes_of(add_root(5, 0x6b6f0000, 2)), bytes_of(put_class(5, htb_class(1, 2, 5'000'000'000, 0, 1, 9)))};
  std::vector<NetlinkMessage> marks;
  add_marks("t", std::vector<Mark>{{IpAddress{.bytes = {10, 0, 0, 1}}, 5}}, marks);
  answers.push_back(bytes_of(std::move(marks.front())));
  std::mt19937 random(3);
  const auto look = [](std::span<const std::byte> bytes) {
    AddressClasses classes;
    (void)read_root(bytes);
    (void)read_class(5, bytes);
    (void)read_filter(5, 0x6b6f0000, bytes);
    (void)read_link(bytes);
    (void)read_default_route(bytes);
    (void)read_table(bytes);
    (void)read_rule("t", bytes);
    read_marks("t", false, bytes, classes);
    return classes.size();
  };
  for (const auto& answer : answers) {
    for (std::size_t size = 0; size <= answer.size(); ++size) {
      const std::vector<std::byte> cut(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK(look(cut) <= 1);
    }
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::byte> garbled = answer;
      for (int k = 0; k < 3; ++k) garbled[random() % garbled.size()] = static_cast<std::byte>(random());
      CHECK(look(garbled) <= 2);
    }
  }
}

TEST_CASE("A group's number is known by its folder", "[host][netlink]") {
  CHECK(group_number("/nowhere/at/all").error().code() == Code::not_found);
}

}  // namespace
}  // namespace koord::host
