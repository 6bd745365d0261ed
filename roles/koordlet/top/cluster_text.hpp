// A cluster's figures as text: what `koord top --cluster`, nodes, lent, quota, gangs and reservations print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/figures/cluster_view.hpp"
#include "top/cells.hpp"

namespace koord::koordlet {

enum class ClusterOrder : std::uint8_t { cpu, batch, asked, name };
/// Leaves the node of that name, and as sums its own; who waits waits for any node. The names that there
/// were.
std::vector<std::string> leave_node(figures::ClusterView& view, std::string_view name);

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
/// `totals`: what all nodes come to stands before them.
std::string nodes_text(const figures::ClusterView& view, const NodePage& nodes, const Page& page,
                       bool totals = true);
/// The nodes that lend or are asked for something; without `totals` all of them.
std::string lent_text(const figures::ClusterView& view, const Page& page, bool totals = true);
std::string quotas_text(const figures::ClusterView& view, const Page& page);
std::string gangs_text(const figures::ClusterView& view, const Page& page);
std::string reservations_text(const figures::ClusterView& view, const Page& page);

}  // namespace koord::koordlet
