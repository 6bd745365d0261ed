// What pods ask of plugins that their profile does not have: who waits for it, and what is told.
#pragma once

#include <string>

#include "koord/scheduling/config/profile.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

/// What the pod asks for and nobody in the profile serves, as sentences of an event or of `koord explain`;
/// empty: nothing. Any thread; the profile's missing plugins and the names of the others are read alone.
std::string unserved(const Profile& profile, const api::Pod& pod);

/// Pods that ask for what a plugin serves that the profile names and koord does not have are refused by name
/// and wait, but for those that are told and bound (LSE and LSR). After the profile was built, before it is
/// used.
void refuse_unserved(Profile& profile);

}  // namespace koord::scheduling
