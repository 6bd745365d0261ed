// A cluster's figures as text: what `koord top --cluster`, nodes, lent, quota, gangs and reservations print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "koord/api/figures/cluster_view.hpp"
#include "top/cells.hpp"

namespace koord::koordlet {

enum class ClusterOrder : std::uint8_t { cpu, batch, asked, name };
/// By "cpu" (the busiest first), "batch" (who lends most first), "asked" (of whom most is asked for what it
/// lends) or "name".
std::optional<ClusterOrder> parse_cluster_order(std::string_view text);

struct NodePage {
  ClusterOrder order = ClusterOrder::cpu;
  std::size_t number = 1;  // from 1
  std::size_t rows = 0;    // nodes a page; 0: as many as fit, all where nothing bounds them
};

// Lines, each ended. Texts of objects are anybody's: they are cleaned.

std::string cluster_text(const figures::ClusterView& view, const NodePage& nodes, const Page& page);
std::string nodes_text(const figures::ClusterView& view, const NodePage& nodes, const Page& page);
std::string lent_text(const figures::ClusterView& view, const Page& page);
std::string quotas_text(const figures::ClusterView& view, const Page& page);
std::string gangs_text(const figures::ClusterView& view, const Page& page);
std::string reservations_text(const figures::ClusterView& view, const Page& page);

}  // namespace koord::koordlet
