// The agent's part of `koord docs`.
#pragma once

#include <string>

namespace koord::metrics {
class Registry;
}

namespace koord::koordlet {

/// The standalone configuration and what is served, as markdown, from the tables in the code.
std::string docs();

/// Registers every metric that the agent has, internal and external ones.
void register_metrics(metrics::Registry& registry);

}  // namespace koord::koordlet
