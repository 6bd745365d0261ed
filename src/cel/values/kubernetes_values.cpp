#include "cel/values/kubernetes_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

bool numeric(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int sign(int value) { return value < 0 ? -1 : value > 0 ? 1 : 0; }

/// Identifiers between dots: numbers by size and before words.
int compare_identifiers(std::string_view a, std::string_view b) {
  while (true) {
    if (a.empty() || b.empty()) return a.empty() ? (b.empty() ? 0 : -1) : 1;
    const std::string_view x = a.substr(0, a.find('.')), y = b.substr(0, b.find('.'));
    int order = 0;
    if (numeric(x) && numeric(y))
      order = x.size() != y.size() ? (x.size() < y.size() ? -1 : 1) : sign(x.compare(y));
    else
      order = numeric(x) != numeric(y) ? (numeric(x) ? -1 : 1) : sign(x.compare(y));
    if (order != 0) return order;
    a.remove_prefix(std::min(a.size(), x.size() + 1));
    b.remove_prefix(std::min(b.size(), y.size() + 1));
  }
}

}  // namespace

int compare_versions(const Semver& a, const Semver& b) {
  if (a.major != b.major) return a.major < b.major ? -1 : 1;
  if (a.minor != b.minor) return a.minor < b.minor ? -1 : 1;
  if (a.patch != b.patch) return a.patch < b.patch ? -1 : 1;
  if (a.pre_release.empty() || b.pre_release.empty())
    return a.pre_release.empty() ? (b.pre_release.empty() ? 0 : 1) : -1;
  return compare_identifiers(a.pre_release, b.pre_release);
}

bool equal_kubernetes(Value a, Value b) {
  switch (a.kind()) {
    case Kind::url: return url_of(a).text == url_of(b).text;
    case Kind::semver: return compare_versions(semver_of(a), semver_of(b)) == 0;
    default: return format_of(a).name == format_of(b).name;
  }
}

std::string address_text(std::span<const std::uint8_t> bytes) {
  if (bytes.size() == 4) return fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
  std::uint16_t groups[8];
  for (std::size_t i = 0; i < 8; ++i)
    groups[i] = static_cast<std::uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  std::size_t best = 8, best_length = 1;  // the longest run of zeros, of two at least
  for (std::size_t i = 0; i < 8;) {
    std::size_t end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i > best_length) {
      best = i;
      best_length = end - i;
    }
    i = std::max(end, i + 1);
  }
  std::string text;
  for (std::size_t i = 0; i < 8;) {
    if (i == best) {
      text += "::";
      i += best_length;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    text += fmt::format("{:x}", groups[i++]);
  }
  return text;
}

std::string kubernetes_text(Value value) {
  switch (value.kind()) {
    case Kind::quantity: return quantity_of(value).to_string();
    case Kind::url: return std::string(url_of(value).text);
    case Kind::semver: return std::string(semver_of(value).text);
    case Kind::format: return std::string(format_of(value).name);
    case Kind::ip: {
      const Network& network = network_of(value);
      return address_text({network.bytes.data(), network.length});
    }
    case Kind::cidr: {
      const Network& network = network_of(value);
      return fmt::format("{}/{}", address_text({network.bytes.data(), network.length}), network.bits);
    }
    default: return {};
  }
}

}  // namespace koord::cel
