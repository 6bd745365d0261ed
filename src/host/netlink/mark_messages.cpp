// Messages of address marks: see mark_messages.hpp.
#include "mark_messages.hpp"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netlink.h>

#include <algorithm>
#include <cstring>

#include "koord/host/group_classes.hpp"

namespace koord::host {
namespace {

constexpr std::string_view kChain = "postrouting";
constexpr std::uint16_t kChange = NLM_F_REQUEST | NLM_F_ACK, kMake = kChange | NLM_F_CREATE;
constexpr std::uint32_t kAddressType4 = 7, kAddressType6 = 8,
                        kClassType = 0x1D;     // as the tool nft shows them
constexpr std::size_t kMarksPerMessage = 500;  // a nest holds 64 KiB
constexpr std::uint32_t kMarkSize = 4;

constexpr std::uint16_t nft(std::uint16_t type) { return NFNL_SUBSYS_NFTABLES << 8 | type; }

NetlinkMessage message_of(std::uint16_t type, std::uint16_t flags) {
  nfgenmsg head{};
  head.nfgen_family = NFPROTO_INET;
  head.version = NFNETLINK_V0;
  return std::move(NetlinkMessage(nft(type), flags).header(head));
}

std::uint32_t size_of(bool v6) { return v6 ? 16 : 4; }

std::span<const std::byte> bytes_of(const IpAddress& address) {
  return std::as_bytes(std::span(address.bytes)).first(size_of(address.v6));
}

/// Writes expressions of a rule, one after another.
class Rule {
 public:
  explicit Rule(NetlinkMessage& message) : message_(message), all_(message.open(NFTA_RULE_EXPRESSIONS)) {}
  template <class Fill>
  void add(std::string_view name, const Fill& fill) {
    const std::size_t one = message_.open(NFTA_LIST_ELEM);
    message_.put_text(NFTA_EXPR_NAME, name);
    const std::size_t data = message_.open(NFTA_EXPR_DATA);
    fill(message_);
    message_.close(data).close(one);
  }
  void end() { message_.close(all_); }

 private:
  NetlinkMessage& message_;
  std::size_t all_;
};

void put_value(NetlinkMessage& message, std::uint16_t type, std::span<const std::byte> value) {
  const std::size_t nest = message.open(type);
  message.put(NFTA_DATA_VALUE, value).close(nest);
}

void put_number(NetlinkMessage& message, std::uint16_t type, std::uint32_t value) {
  put_value(message, type, std::as_bytes(std::span(&value, 1)));
}

NetlinkMessage new_map(const std::string& table, bool v6) {
  NetlinkMessage message = message_of(NFT_MSG_NEWSET, kMake);
  message.put_text(NFTA_SET_TABLE, table).put_text(NFTA_SET_NAME, map_name(v6));
  message.put_big_endian(NFTA_SET_FLAGS, NFT_SET_MAP);
  message.put_big_endian(NFTA_SET_KEY_TYPE, v6 ? kAddressType6 : kAddressType4);
  message.put_big_endian(NFTA_SET_KEY_LEN, size_of(v6));
  message.put_big_endian(NFTA_SET_DATA_TYPE, kClassType).put_big_endian(NFTA_SET_DATA_LEN, kMarkSize);
  message.put_big_endian(NFTA_SET_ID, v6 ? 2 : 1);
  return message;
}

NetlinkMessage new_chain(const std::string& table) {
  NetlinkMessage message = message_of(NFT_MSG_NEWCHAIN, kMake);
  message.put_text(NFTA_CHAIN_TABLE, table).put_text(NFTA_CHAIN_NAME, kChain);
  message.put_text(NFTA_CHAIN_TYPE, "filter");
  const std::size_t hook = message.open(NFTA_CHAIN_HOOK);
  message.put_big_endian(NFTA_HOOK_HOOKNUM, NF_INET_POST_ROUTING);
  message.put_big_endian(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(NF_IP_PRI_MANGLE));
  return std::move(message.close(hook));
}

/// A program may say which class its packets are of (SO_PRIORITY): that is nobody's to say. Only those that
/// have their socket still: a tunnel's have none, and keep what was said of what is in them.
NetlinkMessage new_reset(const std::string& table) {
  NetlinkMessage message = message_of(NFT_MSG_NEWRULE, kMake | NLM_F_APPEND);
  message.put_text(NFTA_RULE_TABLE, table).put_text(NFTA_RULE_CHAIN, kChain);
  Rule rule(message);
  for (const std::uint32_t key : {std::uint32_t{NFT_META_SKUID}, std::uint32_t{NFT_META_PRIORITY}})
    rule.add("meta", [key](NetlinkMessage& to) {
      to.put_big_endian(NFTA_META_DREG, NFT_REG_1).put_big_endian(NFTA_META_KEY, key);
    });
  rule.add("bitwise", [](NetlinkMessage& to) {
    to.put_big_endian(NFTA_BITWISE_SREG, NFT_REG_1).put_big_endian(NFTA_BITWISE_DREG, NFT_REG_1);
    to.put_big_endian(NFTA_BITWISE_LEN, kMarkSize);
    put_number(to, NFTA_BITWISE_MASK, 0xFFFF0000);
    put_number(to, NFTA_BITWISE_XOR, 0);
  });
  rule.add("cmp", [](NetlinkMessage& to) {
    to.put_big_endian(NFTA_CMP_SREG, NFT_REG_1).put_big_endian(NFTA_CMP_OP, NFT_CMP_EQ);
    put_number(to, NFTA_CMP_DATA, std::uint32_t{kClassMajor} << 16);
  });
  rule.add("immediate", [](NetlinkMessage& to) {
    to.put_big_endian(NFTA_IMMEDIATE_DREG, NFT_REG_1);
    put_number(to, NFTA_IMMEDIATE_DATA, 0);
  });
  rule.add("meta", [](NetlinkMessage& to) {
    to.put_big_endian(NFTA_META_KEY, NFT_META_PRIORITY).put_big_endian(NFTA_META_SREG, NFT_REG_1);
  });
  rule.end();
  return message;
}

/// Packets of one family: the sender's address, looked up, is the priority. Who is not in the map keeps his.
NetlinkMessage new_rule(const std::string& table, bool v6) {
  NetlinkMessage message = message_of(NFT_MSG_NEWRULE, kMake | NLM_F_APPEND);
  message.put_text(NFTA_RULE_TABLE, table).put_text(NFTA_RULE_CHAIN, kChain);
  Rule rule(message);
  rule.add("meta", [](NetlinkMessage& to) {
    to.put_big_endian(NFTA_META_DREG, NFT_REG_1).put_big_endian(NFTA_META_KEY, NFT_META_NFPROTO);
  });
  rule.add("cmp", [v6](NetlinkMessage& to) {
    to.put_big_endian(NFTA_CMP_SREG, NFT_REG_1).put_big_endian(NFTA_CMP_OP, NFT_CMP_EQ);
    const std::size_t data = to.open(NFTA_CMP_DATA);
    const auto family = static_cast<std::uint8_t>(v6 ? NFPROTO_IPV6 : NFPROTO_IPV4);
    to.put_struct(NFTA_DATA_VALUE, family).close(data);
  });
  rule.add("payload", [v6](NetlinkMessage& to) {
    to.put_big_endian(NFTA_PAYLOAD_DREG, NFT_REG_1);
    to.put_big_endian(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
    to.put_big_endian(NFTA_PAYLOAD_OFFSET, v6 ? 8 : 12).put_big_endian(NFTA_PAYLOAD_LEN, size_of(v6));
  });
  rule.add("lookup", [v6](NetlinkMessage& to) {
    to.put_text(NFTA_LOOKUP_SET, map_name(v6)).put_big_endian(NFTA_LOOKUP_SET_ID, v6 ? 2 : 1);
    to.put_big_endian(NFTA_LOOKUP_SREG, NFT_REG_1).put_big_endian(NFTA_LOOKUP_DREG, NFT_REG_1);
  });
  rule.add("meta", [](NetlinkMessage& to) {
    to.put_big_endian(NFTA_META_KEY, NFT_META_PRIORITY).put_big_endian(NFTA_META_SREG, NFT_REG_1);
  });
  rule.end();
  return message;
}

void write_marks(std::uint16_t type, std::uint16_t flags, const std::string& table,
                 std::span<const Mark> marks, std::vector<NetlinkMessage>& to) {
  while (!marks.empty()) {
    const auto some = marks.first(std::min(marks.size(), kMarksPerMessage));
    marks = marks.subspan(some.size());
    NetlinkMessage message = message_of(type, flags);
    message.put_text(NFTA_SET_ELEM_LIST_TABLE, table);
    message.put_text(NFTA_SET_ELEM_LIST_SET, map_name(some.front().first.v6));
    const std::size_t all = message.open(NFTA_SET_ELEM_LIST_ELEMENTS);
    for (const auto& [address, mark] : some) {
      const std::size_t one = message.open(NFTA_LIST_ELEM);
      put_value(message, NFTA_SET_ELEM_KEY, bytes_of(address));
      put_value(message, NFTA_SET_ELEM_DATA, std::as_bytes(std::span(&mark, 1)));
      message.close(one);
    }
    to.push_back(std::move(message.close(all)));
  }
}

}  // namespace

std::string_view map_name(bool v6) { return v6 ? "classes6" : "classes4"; }

NetlinkMessage new_table(const std::string& table) {
  return std::move(message_of(NFT_MSG_NEWTABLE, kMake).put_text(NFTA_TABLE_NAME, table));
}

NetlinkMessage remove_table(const std::string& table) {
  return std::move(message_of(NFT_MSG_DELTABLE, kChange).put_text(NFTA_TABLE_NAME, table));
}

std::vector<NetlinkMessage> fill_table(const std::string& table) {
  std::vector<NetlinkMessage> all;
  for (const bool v6 : {false, true}) all.push_back(new_map(table, v6));
  all.push_back(new_chain(table));
  all.push_back(new_reset(table));
  for (const bool v6 : {false, true}) all.push_back(new_rule(table, v6));
  return all;
}

void add_marks(const std::string& table, std::span<const Mark> marks, std::vector<NetlinkMessage>& to) {
  write_marks(NFT_MSG_NEWSETELEM, kMake, table, marks, to);
}

void remove_marks(const std::string& table, std::span<const Mark> marks, std::vector<NetlinkMessage>& to) {
  write_marks(NFT_MSG_DELSETELEM, kChange, table, marks, to);
}

NetlinkMessage list_tables() { return message_of(NFT_MSG_GETTABLE, NLM_F_REQUEST | NLM_F_DUMP); }

NetlinkMessage list_rules(const std::string& table) {
  NetlinkMessage message = message_of(NFT_MSG_GETRULE, NLM_F_REQUEST | NLM_F_DUMP);
  return std::move(message.put_text(NFTA_RULE_TABLE, table));
}

NetlinkMessage list_marks(const std::string& table, bool v6) {
  NetlinkMessage message = message_of(NFT_MSG_GETSETELEM, NLM_F_REQUEST | NLM_F_DUMP);
  message.put_text(NFTA_SET_ELEM_LIST_TABLE, table);
  return std::move(message.put_text(NFTA_SET_ELEM_LIST_SET, map_name(v6)));
}

std::string read_table(std::span<const std::byte> payload) {
  const auto message = split<nfgenmsg>(payload);
  return message ? std::string(message->second.text(NFTA_TABLE_NAME)) : std::string();
}

bool read_rule(const std::string& table, std::span<const std::byte> payload) {
  const auto message = split<nfgenmsg>(payload);
  return message && message->second.text(NFTA_RULE_TABLE) == table &&
         message->second.text(NFTA_RULE_CHAIN) == kChain;
}

void read_marks(const std::string& table, bool v6, std::span<const std::byte> payload, AddressClasses& to) {
  const auto message = split<nfgenmsg>(payload);
  if (!message || message->second.text(NFTA_SET_ELEM_LIST_TABLE) != table) return;
  NetlinkAttributes elements = message->second.nest(NFTA_SET_ELEM_LIST_ELEMENTS);
  while (const auto element = elements.next()) {
    const NetlinkAttributes one(element->value);
    const auto key = one.nest(NFTA_SET_ELEM_KEY).find(NFTA_DATA_VALUE);
    const auto mark = one.nest(NFTA_SET_ELEM_DATA).number(NFTA_DATA_VALUE);
    if (key.size() != size_of(v6) || !mark) continue;
    IpAddress address{.v6 = v6};
    std::memcpy(address.bytes.data(), key.data(), key.size());
    to[address] = *mark;
  }
}

}  // namespace koord::host
