// Which PersistentVolumes the claims of the node's pods have.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

namespace koord::koordlet {

/// Namespaces and names.
using ClaimKeys = std::set<std::pair<std::string, std::string>>;

/// By namespace and name of the claim; an empty volume: it was asked for in vain.
struct ClaimVolumes {
  std::map<std::pair<std::string, std::string>, std::string> volumes;
  friend bool operator==(const ClaimVolumes&, const ClaimVolumes&) = default;
};

}  // namespace koord::koordlet
