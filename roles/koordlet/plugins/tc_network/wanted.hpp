// What the node's network shall be like: classes with their rates, and who is in which, as the NodeSLO and
// pods say.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/base/result.hpp"
#include "koord/host/address_marks.hpp"
#include "koord/host/group_classes.hpp"
#include "koord/host/traffic_control.hpp"

namespace koord::koordlet {
struct Inventory;
}

namespace koord::koordlet::tc_network {

// Minors of classes below koord's qdisc. A class of pods holds leaves: one for those without a limit of their
// own, and one for each other pod.
inline constexpr std::uint16_t kWholeMinor = 1, kSystemMinor = 2, kLsMinor = 3, kBeMinor = 4, kLeaf = 0x10,
                               kFirstPodMinor = 0x100, kLastPodMinor = 0xFFFE;
inline constexpr host::TcHandle kQdisc = host::tc_handle(host::kClassMajor, 0);
constexpr host::TcHandle class_of(std::uint16_t minor) { return kQdisc | minor; }
/// Where all goes that nobody has put elsewhere.
inline constexpr std::uint16_t kDefaultMinor = kSystemMinor | kLeaf;

/// What is sent, in bytes a second.
struct EgressRates {
  struct Class {
    bool on = false;
    std::uint64_t least = 0, most = 0;
    friend bool operator==(const Class&, const Class&) = default;
  };
  std::uint64_t total = 0;
  Class ls, be;
  friend bool operator==(const EgressRates&, const EgressRates&) = default;
};

/// A part of the node's bandwidth, both in bits a second: a text is bits a second, a number percent of
/// `total`. Code::invalid: no part of it.
Result<std::uint64_t> bits_of(const api::IntOrString& part, std::uint64_t total);
/// Total 0: the NodeSLO names none. Code::invalid: what it says makes no sense, with the field.
Result<EgressRates> egress_rates(const api::NodeSloSpec& slo);

struct Wanted {
  bool wanted = false;                           // if not, nothing of ours shall be there
  std::vector<host::HtbClass> classes;           // ascending by handle: a parent before what is in it
  host::AddressClasses addresses;                // of pods with a network of their own
  std::map<std::string, host::TcHandle> groups;  // of pods, relative to the hierarchy's root
  std::vector<std::string> warnings;             // pods of which something cannot be had
};
/// Nothing: nobody has said yet, or what the NodeSLO says makes no sense (then `error` says why): what is
/// there stays.
std::optional<Wanted> wanted_of(const Inventory& inventory, std::string& error);

}  // namespace koord::koordlet::tc_network
