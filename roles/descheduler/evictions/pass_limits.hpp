// PassLimits: how many pods one pass of the descheduler may evict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace koord::descheduler {

/// Of a node, of a namespace, in all; absent: as many as plugins want. Counts what was asked for, not what
/// has come of it. One pass; one thread.
class PassLimits {
 public:
  struct Limits {
    std::optional<std::uint64_t> per_node, per_namespace, total;
  };
  explicit PassLimits(Limits limits) : limits_(limits) {}

  /// Which limit would be exceeded by one more, in koord-descheduler's words; empty: none. A pod that is on
  /// no node (an empty name) counts against no node.
  std::string_view exceeded(std::string_view node, std::string_view ns) const;
  /// One more has been asked to go.
  void count(std::string_view node, std::string_view ns);

  bool node_exhausted(std::string_view node) const;
  bool namespace_exhausted(std::string_view ns) const;
  bool exhausted() const { return limits_.total && total_ >= *limits_.total; }
  std::uint64_t of_node(std::string_view node) const { return of(nodes_, node); }
  std::uint64_t of_namespace(std::string_view ns) const { return of(namespaces_, ns); }
  std::uint64_t total() const { return total_; }

 private:
  using Counts = std::unordered_map<std::string, std::uint64_t>;
  static std::uint64_t of(const Counts& counts, std::string_view name) {
    const auto it = counts.find(std::string(name));
    return it != counts.end() ? it->second : 0;
  }

  Limits limits_;
  Counts nodes_, namespaces_;
  std::uint64_t total_ = 0;
};

}  // namespace koord::descheduler
