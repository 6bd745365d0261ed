// Address marks: see koord/host/address_marks.hpp.
#include "koord/host/address_marks.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/netlink.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "mark_messages.hpp"
#include "socket.hpp"

namespace koord::host {
namespace {

constexpr std::size_t kLongestAddress = 45, kRules = 3;
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

/// IPv4 first.
std::pair<std::vector<Mark>, std::vector<Mark>> by_family(const std::vector<Mark>& marks) {
  std::pair<std::vector<Mark>, std::vector<Mark>> both;
  for (const Mark& mark : marks) (mark.first.v6 ? both.second : both.first).push_back(mark);
  return both;
}

}  // namespace

std::optional<IpAddress> parse_address(std::string_view text) {
  if (text.empty() || text.size() > kLongestAddress) return std::nullopt;
  const std::string copy(text);
  IpAddress address;
  if (inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) return address;
  if (inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) != 1) return std::nullopt;
  address.v6 = true;
  if (!std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin())) return address;
  IpAddress plain;
  std::copy_n(address.bytes.begin() + kMapped.size(), 4, plain.bytes.begin());
  return plain;
}

std::string to_string(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(address.v6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  return text;
}

bool is_routable(const IpAddress& address) {
  const auto& bytes = address.bytes;
  if (!address.v6)
    return bytes[0] != 0 && bytes[0] != 127 && bytes[0] < 224 && !(bytes[0] == 169 && bytes[1] == 254);
  const bool high_zero =
      std::all_of(bytes.begin(), bytes.begin() + 15, [](std::uint8_t b) { return b == 0; });
  return !(high_zero && bytes[15] <= 1) && bytes[0] != 0xFF &&
         !(bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80);
}

class AddressMarks::Impl {
 public:
  Impl(Netlink netlink, std::string name) : netlink_(std::move(netlink)), name_(std::move(name)) {}

  Result<State> read() {
    State state;
    const auto tables = list(
        list_tables(), [&] { state.exists = false; },
        [&](std::span<const std::byte> payload) {
          state.exists = state.exists || read_table(payload) == name_;
        });
    // So it answers for a part of netfilter that it does not have.
    if (!tables && tables.error().code() == Code::invalid)
      return Error(Code::unsupported, "the kernel has no nf_tables");
    KOORD_CHECK(tables);
    if (!state.exists) return state;
    std::size_t rules = 0;
    KOORD_CHECK(list(
        list_rules(name_), [&] { rules = 0; },
        [&](std::span<const std::byte> payload) {
          if (read_rule(name_, payload)) ++rules;
        }));
    if (rules != kRules) return state;
    for (const bool v6 : {false, true}) {
      AddressClasses classes;
      const auto listed = list(
          list_marks(name_, v6), [&] { classes.clear(); },
          [&](std::span<const std::byte> payload) { read_marks(name_, v6, payload, classes); });
      if (!listed && listed.error().code() == Code::not_found) return state;
      KOORD_CHECK(listed);
      state.classes.merge(classes);
    }
    state.whole = true;
    return state;
  }

  Result<> make(const AddressClasses& classes) {
    // To remove what may not be there it is made first.
    std::vector<NetlinkMessage> messages = {new_table(name_), remove_table(name_), new_table(name_)};
    std::ranges::move(fill_table(name_), std::back_inserter(messages));
    put({classes.begin(), classes.end()}, &add_marks, messages);
    return netlink_.ask_together(messages, what("making"));
  }

  Result<> change(const AddressClasses& from, const AddressClasses& to) {
    std::vector<Mark> gone, come;
    for (const auto& mark : from)
      if (const auto it = to.find(mark.first); it == to.end() || it->second != mark.second)
        gone.emplace_back(mark);
    for (const auto& mark : to)
      if (const auto it = from.find(mark.first); it == from.end() || it->second != mark.second)
        come.emplace_back(mark);
    std::vector<NetlinkMessage> messages;
    put(gone, &remove_marks, messages);
    put(come, &add_marks, messages);
    if (messages.empty()) return {};
    return netlink_.ask_together(messages, what("changing"));
  }

  Result<bool> remove() {
    std::vector<NetlinkMessage> messages;
    messages.push_back(remove_table(name_));
    const auto removed = netlink_.ask_together(messages, what("removing"));
    if (!removed && removed.error().code() == Code::not_found) return false;
    KOORD_CHECK(removed);
    return true;
  }

 private:
  std::string what(std::string_view doing) const {
    return fmt::format("{} the table inet {} of nf_tables", doing, name_);
  }
  template <class Begin, class Take>
  Result<> list(NetlinkMessage message, const Begin& begin, const Take& take) {
    return netlink_.list(message, what("reading"), begin,
                         [&take](std::uint16_t, std::span<const std::byte> payload) { take(payload); });
  }
  template <class Write>
  void put(const std::vector<Mark>& marks, const Write& write, std::vector<NetlinkMessage>& to) const {
    const auto [four, six] = by_family(marks);
    write(name_, four, to);
    write(name_, six, to);
  }

  Netlink netlink_;
  std::string name_;
};

AddressMarks::AddressMarks(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AddressMarks::AddressMarks(AddressMarks&&) noexcept = default;
AddressMarks& AddressMarks::operator=(AddressMarks&&) noexcept = default;
AddressMarks::~AddressMarks() = default;

Result<AddressMarks> AddressMarks::open(std::string name) {
  KOORD_TRY(netlink, Netlink::open(NETLINK_NETFILTER));
  return AddressMarks(std::make_unique<Impl>(std::move(netlink), std::move(name)));
}
Result<AddressMarks::State> AddressMarks::read() { return impl_->read(); }
Result<> AddressMarks::make(const AddressClasses& classes) { return impl_->make(classes); }
Result<> AddressMarks::change(const AddressClasses& from, const AddressClasses& to) {
  return impl_->change(from, to);
}
Result<bool> AddressMarks::remove() { return impl_->remove(); }

}  // namespace koord::host
