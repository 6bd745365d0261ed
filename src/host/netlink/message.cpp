// Netlink messages: see message.hpp.
#include "message.hpp"

#include <arpa/inet.h>
#include <linux/netlink.h>

namespace koord::host {
namespace {

constexpr std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

}  // namespace

NetlinkMessage::NetlinkMessage(std::uint16_t type, std::uint16_t flags) {
  nlmsghdr head{};
  head.nlmsg_type = type;
  head.nlmsg_flags = flags;
  append(&head, sizeof head);
}

void NetlinkMessage::append(const void* data, std::size_t size) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + aligned(size));
  if (size > 0) std::memcpy(bytes_.data() + at, data, size);
}

NetlinkMessage& NetlinkMessage::put(std::uint16_t type, std::span<const std::byte> value) {
  nlattr head{};
  head.nla_len = static_cast<std::uint16_t>(sizeof head + value.size());
  head.nla_type = type;
  append(&head, sizeof head);
  append(value.data(), value.size());
  return *this;
}

NetlinkMessage& NetlinkMessage::put_number(std::uint16_t type, std::uint32_t value) {
  return put_struct(type, value);
}

NetlinkMessage& NetlinkMessage::put_big_endian(std::uint16_t type, std::uint32_t value) {
  return put_struct(type, htonl(value));
}

NetlinkMessage& NetlinkMessage::put_text(std::uint16_t type, std::string_view value) {
  std::vector<std::byte> text(value.size() + 1);
  std::memcpy(text.data(), value.data(), value.size());
  return put(type, text);
}

std::size_t NetlinkMessage::open(std::uint16_t type) {
  const std::size_t nest = bytes_.size();
  put(type | NLA_F_NESTED, {});
  return nest;
}

NetlinkMessage& NetlinkMessage::close(std::size_t nest) {
  const auto size = static_cast<std::uint16_t>(bytes_.size() - nest);
  std::memcpy(bytes_.data() + nest + offsetof(nlattr, nla_len), &size, sizeof size);
  return *this;
}

std::uint16_t NetlinkMessage::flags() const {
  nlmsghdr head;
  std::memcpy(&head, bytes_.data(), sizeof head);
  return head.nlmsg_flags;
}

std::span<const std::byte> NetlinkMessage::finish(std::uint32_t sequence) {
  nlmsghdr head;
  std::memcpy(&head, bytes_.data(), sizeof head);
  head.nlmsg_len = static_cast<std::uint32_t>(bytes_.size());
  head.nlmsg_seq = sequence;
  std::memcpy(bytes_.data(), &head, sizeof head);
  return bytes_;
}

std::optional<NetlinkAttributes::Attribute> NetlinkAttributes::next() {
  nlattr head;
  if (bytes_.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes_.data(), sizeof head);
  if (head.nla_len < sizeof head || head.nla_len > bytes_.size()) return std::nullopt;
  const Attribute attribute{static_cast<std::uint16_t>(head.nla_type & NLA_TYPE_MASK),
                            bytes_.subspan(sizeof head, head.nla_len - sizeof head)};
  bytes_ = bytes_.subspan(std::min(aligned(head.nla_len), bytes_.size()));
  return attribute;
}

std::span<const std::byte> NetlinkAttributes::find(std::uint16_t type) const {
  NetlinkAttributes rest = *this;
  while (const auto attribute = rest.next())
    if (attribute->type == type) return attribute->value;
  return {};
}

std::optional<std::uint32_t> NetlinkAttributes::number(std::uint16_t type) const {
  return structure<std::uint32_t>(type);
}

std::optional<std::uint32_t> NetlinkAttributes::big_endian(std::uint16_t type) const {
  const auto value = number(type);
  return value ? std::optional(ntohl(*value)) : std::nullopt;
}

std::string_view NetlinkAttributes::text(std::uint16_t type) const {
  const auto value = find(type);
  const std::string_view whole(reinterpret_cast<const char*>(value.data()), value.size());
  return whole.substr(0, whole.find('\0'));
}

}  // namespace koord::host
