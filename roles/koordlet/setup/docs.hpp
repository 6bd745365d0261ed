// The agent's part of `koord docs`.
#pragma once

#include <string>

namespace koord::koordlet {

/// The standalone configuration and what is served, as markdown, from the tables in the code.
std::string docs();

}  // namespace koord::koordlet
