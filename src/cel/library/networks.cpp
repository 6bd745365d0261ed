// ip(...) and cidr(...), read as Go's net/netip reads them.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "cel/library/tables.hpp"
#include "cel/values/kubernetes_values.hpp"
#include "cel/values/representation.hpp"
#include "koord/base/result.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;

Error invalid(std::string message) { return Error(koord::Code::invalid, std::move(message)); }

/// Four numbers between dots; the error is Go's.
std::string_view read_v4(std::string_view text, Network& network) {
  int value = 0, digits = 0, at = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      if (digits == 1 && value == 0) return "IPv4 field has octet with leading zero";
      value = value * 10 + (text[i] - '0');
      ++digits;
      if (value > 255) return "IPv4 field has value >255";
    } else if (text[i] == '.') {
      if (i == 0 || i + 1 == text.size() || text[i - 1] == '.')
        return "IPv4 field must have at least one digit";
      if (at == 3) return "IPv4 address too long";
      network.bytes[static_cast<std::size_t>(at++)] = static_cast<std::uint8_t>(value);
      value = digits = 0;
    } else {
      return "unexpected character";
    }
  }
  if (at < 3) return "IPv4 address too short";
  network.bytes[3] = static_cast<std::uint8_t>(value);
  network.length = 4;
  return {};
}

Result<Network> read_address(std::string_view text) {
  Network network{};
  const auto wrong = [&](std::string_view why) {
    return invalid(fmt::format("ParseAddr({}): {}", go_quoted(text), why));
  };
  const std::size_t mark = text.find_first_of(".:%");
  if (mark == std::string_view::npos) return wrong("unable to parse IP");
  if (text[mark] == '%') return wrong("missing IPv6 address");
  if (text[mark] == '.') {
    const std::string_view why = read_v4(text, network);
    if (!why.empty()) return wrong(why);
    return network;
  }
  const std::string plain(text.substr(0, text.find('%')));
  if (plain.size() + 1 == text.size()) return wrong("zone must be a non-empty string");
  if (inet_pton(AF_INET6, plain.c_str(), network.bytes.data()) != 1) return wrong("unable to parse IP");
  network.length = 16;
  return network;
}

bool is_mapped(const Network& network) {
  return network.length == 16 &&
         std::all_of(network.bytes.begin(), network.bytes.begin() + 10, [](auto b) { return b == 0; }) &&
         network.bytes[10] == 0xFF && network.bytes[11] == 0xFF;
}

Result<Network> parse_ip(std::string_view text) {
  const auto network = read_address(text);
  if (!network)
    return invalid(fmt::format("IP Address {} parse error during conversion from string: {}", go_quoted(text),
                               network.error().message()));
  if (text.find('%') != std::string_view::npos)
    return invalid(fmt::format("IP address {} with zone value is not allowed", go_quoted(text)));
  if (is_mapped(*network))
    return invalid(fmt::format("IPv4-mapped IPv6 address {} is not allowed", go_quoted(text)));
  return *network;
}

Result<Network> read_prefix(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return invalid(fmt::format("netip.ParsePrefix({}): {}", go_quoted(text), why));
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return wrong("no '/'");
  auto network = read_address(text.substr(0, slash));
  if (!network) return wrong(network.error().message());
  if (text.find('%') != std::string_view::npos) return wrong("IPv6 zones cannot be present in a prefix");
  const std::string_view digits = text.substr(slash + 1);
  int bits = -1;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (digits.empty() || digits[0] == '-' || (digits.size() > 1 && digits[0] == '0') ||
      end.ec != std::errc() || end.ptr != digits.data() + digits.size())
    return wrong(fmt::format("bad bits after slash: {}", go_quoted(digits)));
  if (bits > network->length * 8) return wrong("prefix length out of range");
  network->bits = static_cast<std::uint8_t>(bits);
  return network;
}

Result<Network> parse_cidr(std::string_view text) {
  const auto network = read_prefix(text);
  if (!network)
    return invalid(fmt::format("network address parse error during conversion from string: {}",
                               network.error().message()));
  if (is_mapped(*network))
    return invalid(fmt::format("IPv4-mapped IPv6 address {} is not allowed", go_quoted(text)));
  return *network;
}

Value made(Kind kind, const Network& network, Memory& memory) {
  auto* kept = memory.make<Network>();
  if (!kept) return out_of_memory();
  new (kept) Network(network);
  return Value::make(kind, Value::Form::owned, 0, kept);
}

Value make_ip(Args args, Memory& memory) {
  const auto network = parse_ip(args[0].text());
  return network ? made(Kind::ip, *network, memory) : fail(memory, network.error().message());
}
Value make_cidr(Args args, Memory& memory) {
  const auto network = parse_cidr(args[0].text());
  if (network) return made(Kind::cidr, *network, memory);
  return fail(memory,
              "network address parse error during conversion from string: " + network.error().message());
}
Value is_ip(Args args, Memory&) { return Value::boolean(parse_ip(args[0].text()).has_value()); }
Value is_cidr(Args args, Memory&) { return Value::boolean(parse_cidr(args[0].text()).has_value()); }

Value is_canonical(Args args, Memory& memory) {
  const auto network = parse_ip(args[0].text());
  if (!network) return fail(memory, network.error().message());
  return Value::boolean(address_text({network->bytes.data(), network->length}) == args[0].text());
}

Value family(Args args, Memory&) { return Value::integer(network_of(args[0]).length == 4 ? 4 : 6); }

bool unspecified(const Network& ip) {
  return std::all_of(ip.bytes.begin(), ip.bytes.begin() + ip.length, [](auto b) { return b == 0; });
}
bool loopback(const Network& ip) {
  if (ip.length == 4) return ip.bytes[0] == 127;
  return ip.bytes[15] == 1 &&
         std::all_of(ip.bytes.begin(), ip.bytes.begin() + 15, [](auto b) { return b == 0; });
}
bool local_unicast(const Network& ip) {
  return ip.length == 4 ? ip.bytes[0] == 169 && ip.bytes[1] == 254
                        : ip.bytes[0] == 0xFE && (ip.bytes[1] & 0xC0) == 0x80;
}
bool multicast(const Network& ip) {
  return ip.length == 4 ? (ip.bytes[0] & 0xF0) == 0xE0 : ip.bytes[0] == 0xFF;
}
bool local_multicast(const Network& ip) {
  return ip.length == 4 ? ip.bytes[0] == 224 && ip.bytes[1] == 0 && ip.bytes[2] == 0
                        : ip.bytes[0] == 0xFF && (ip.bytes[1] & 0x0F) == 2;
}
bool global_unicast(const Network& ip) {
  const bool broadcast =
      ip.length == 4 && std::all_of(ip.bytes.begin(), ip.bytes.begin() + 4, [](auto b) { return b == 255; });
  return !unspecified(ip) && !loopback(ip) && !multicast(ip) && !local_unicast(ip) && !broadcast;
}
template <bool (*kTest)(const Network&)>
Value test(Args args, Memory&) {
  return Value::boolean(kTest(network_of(args[0])));
}

Network masked_network(Network network) {
  for (std::size_t i = 0; i < network.length; ++i) {
    const int kept = std::clamp(network.bits - static_cast<int>(i) * 8, 0, 8);
    network.bytes[i] &= static_cast<std::uint8_t>(0xFF00 >> kept);
  }
  return network;
}

bool within(const Network& cidr, const Network& ip) {
  if (cidr.length != ip.length) return false;
  Network other = ip;
  other.bits = cidr.bits;
  return masked_network(cidr).bytes == masked_network(other).bytes;
}

Value contains_ip(Args args, Memory& memory) {
  if (args[1].kind() == Kind::ip) return Value::boolean(within(network_of(args[0]), network_of(args[1])));
  const auto ip = parse_ip(args[1].text());
  // Upstream asks its error for an address and says so: no such overload.
  if (!ip) return no_such_overload();
  (void)memory;
  return Value::boolean(within(network_of(args[0]), *ip));
}
bool covers(const Network& a, const Network& b) { return a.bits <= b.bits && within(a, b); }
Value contains_cidr(Args args, Memory& memory) {
  if (args[1].kind() == Kind::cidr) return Value::boolean(covers(network_of(args[0]), network_of(args[1])));
  const Value other = make_cidr(args.subspan(1), memory);
  return other.is_error() ? other : Value::boolean(covers(network_of(args[0]), network_of(other)));
}

Value ip_of(Args args, Memory& memory) {
  Network network = network_of(args[0]);
  network.bits = 0;
  return made(Kind::ip, network, memory);
}
Value masked(Args args, Memory& memory) {
  return made(Kind::cidr, masked_network(network_of(args[0])), memory);
}
Value prefix_length(Args args, Memory&) { return Value::integer(network_of(args[0]).bits); }

}  // namespace

std::span<const Declaration> network_table() {
  static constexpr Declaration kRows[] = {
      {"ip", "string_to_ip", "(string) -> ip", make_ip},
      {"ip", "cidr_ip", "cidr.() -> ip", ip_of},
      {"ip.isCanonical", "ip_is_canonical", "(string) -> bool", is_canonical},
      {"isIP", "is_ip", "(string) -> bool", is_ip},
      {"family", "ip_family", "ip.() -> int", family},
      {"isUnspecified", "ip_is_unspecified", "ip.() -> bool", test<unspecified>},
      {"isLoopback", "ip_is_loopback", "ip.() -> bool", test<loopback>},
      {"isLinkLocalMulticast", "ip_is_link_local_multicast", "ip.() -> bool", test<local_multicast>},
      {"isLinkLocalUnicast", "ip_is_link_local_unicast", "ip.() -> bool", test<local_unicast>},
      {"isGlobalUnicast", "ip_is_global_unicast", "ip.() -> bool", test<global_unicast>},
      {"cidr", "string_to_cidr", "(string) -> cidr", make_cidr},
      {"isCIDR", "is_cidr", "(string) -> bool", is_cidr},
      {"containsIP", "cidr_contains_ip_string", "cidr.(string) -> bool", contains_ip},
      {"containsIP", "cidr_contains_ip_ip", "cidr.(ip) -> bool", contains_ip},
      {"containsCIDR", "cidr_contains_cidr_string", "cidr.(string) -> bool", contains_cidr},
      {"containsCIDR", "cidr_contains_cidr", "cidr.(cidr) -> bool", contains_cidr},
      {"prefixLength", "cidr_prefix_length", "cidr.() -> int", prefix_length},
      {"masked", "cidr_masked", "cidr.() -> cidr", masked},
  };
  return kRows;
}

}  // namespace koord::cel
