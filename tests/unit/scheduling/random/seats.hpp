// Two plugins, SeatA and SeatB, that refuse pods, fail or let them wait in Reserve and Permit, by a rule
// which pods carry as an annotation; and what is to be expected of them, for those who compare.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/plugin/plugin.hpp"

namespace koord::scheduling::test {

/// "WHAT PLUGINS SECONDS", of a pod.
struct SeatRule {
  enum class What : std::uint8_t {
    nothing,
    refuse,  // in Reserve, on nodes of an even number
    fail,    // there, with an error
    deny,    // in Permit
    wait,    // there, for so many seconds
    open,    // whoever waits on the node waits for the plugin no longer
    close,   // whoever waits on the node is rejected
  };
  What what = What::nothing;
  std::string plugins;  // "A", "B" or "AB"
  std::chrono::seconds time{0};

  static SeatRule of(const api::Pod& pod);
  bool has(char plugin) const { return plugins.find(plugin) != std::string::npos; }
  bool in_reserve(std::string_view node) const {
    return what == What::fail || (what == What::refuse && (node.back() - '0') % 2 == 0);
  }
  /// B lets wait a little longer than A.
  std::chrono::seconds timeout(char plugin) const { return time + std::chrono::seconds(plugin - 'A'); }
};

/// What the plugins note; of the engine that is made while it lives. The world's own belong to one thread.
struct SeatBook {
  SeatBook() { current() = this; }
  static SeatBook*& current();

  std::array<std::map<std::string, std::string>, 2> reserved;  // node by uid; of A, of B
  std::array<std::size_t, 2> bound{};                          // ends that PostBind told of
};

/// The table with the two plugins.
std::vector<const PluginEntry*> with_seats(PluginTable table);
/// Often nothing.
void take_seat(std::mt19937& random, api::Pod& pod);

}  // namespace koord::scheduling::test
