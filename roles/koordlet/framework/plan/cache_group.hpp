// CacheGroup: pods that a strategy wants to share a part of the caches and of the memory's bandwidth.
#pragma once

#include <string>
#include <vector>

namespace koord::koordlet {

/// A group of resctrl and the pods whose tasks shall be in it, those too that they start later. It is made
/// where there is none, and goes when nobody wants it any more, if koord has made it. What it may use is set
/// by knobs (host::Knob::schemata).
struct CacheGroup {
  std::string group;              // "BE", "koordlet-UID"; "mon_groups/LS": they are only counted
  std::vector<std::string> pods;  // their cgroups; all below them counts
  std::string otherwise = {};     // the group that has them while this one cannot be made; empty: none

  friend bool operator==(const CacheGroup&, const CacheGroup&) = default;
};

}  // namespace koord::koordlet
