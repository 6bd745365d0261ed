// The rows of claims, volumes and what belongs to them.
#pragma once

#include <string>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/json/value.hpp"

namespace koord::sandbox {

void volume_cells(const json::Value& object, WallTime now, std::vector<std::string>& cells);
void claim_cells(const json::Value& object, WallTime now, std::vector<std::string>& cells);
void storage_class_cells(const json::Value& object, WallTime now, std::vector<std::string>& cells);
void csi_node_cells(const json::Value& object, WallTime now, std::vector<std::string>& cells);
void csi_driver_cells(const json::Value& object, WallTime now, std::vector<std::string>& cells);
void csi_capacity_cells(const json::Value& object, WallTime now, std::vector<std::string>& cells);
void attachment_cells(const json::Value& object, WallTime now, std::vector<std::string>& cells);

}  // namespace koord::sandbox
