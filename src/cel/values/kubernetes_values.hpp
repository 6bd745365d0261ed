// Kubernetes' own values: URLs, versions, named formats.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "koord/cel/value.hpp"

namespace koord::cel {

/// As Go's net/url takes it apart; texts are unescaped where Go unescapes them.
struct Url {
  std::string_view text;  // put together again
  std::string_view scheme, host, path, query;
};

/// semver.org 2.0.0. What stands behind the numbers lies in `text`.
struct Semver {
  std::uint64_t major, minor, patch;
  std::string_view text, pre_release, build;
};

struct NamedFormat {
  std::string_view name;  // what it is asked for by
  std::uint32_t regex_size;
};

inline const Url& url_of(Value value) { return *static_cast<const Url*>(value.pointer()); }
inline const Semver& semver_of(Value value) { return *static_cast<const Semver*>(value.pointer()); }
inline const NamedFormat& format_of(Value value) { return *static_cast<const NamedFormat*>(value.pointer()); }

/// Of a version, without what was built: -1, 0, 1.
int compare_versions(const Semver& a, const Semver& b);
/// Two of one kind: URLs, versions or formats.
bool equal_kubernetes(Value a, Value b);
std::string kubernetes_text(Value value);
/// An address or a prefix as Go's net/netip prints it.
std::string address_text(std::span<const std::uint8_t> bytes);

}  // namespace koord::cel
