// The controller of DynamicResources: takes pods out of claims' status, and devices.
#pragma once

#include <memory>

#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "scheduling/plugins/dynamic_resources/write/claim_board.hpp"

namespace koord::scheduling::dynamic_resources {

/// Writes what is put on the board, each once, tried again a few times where the outcome is not known. Of
/// what fails the log tells, and nothing more: the next attempt of the pod finds the claim as it is.
std::unique_ptr<PluginController> make_claim_writer(std::shared_ptr<ClaimBoard> board);

/// The strategic merge patch of status that takes the pod out of reservedFor.
std::string release_patch(const api::ResourceClaim& claim, std::string_view pod_uid);
/// The claim without devices, and kept for nobody.
api::ResourceClaim deallocated(const api::ResourceClaim& claim);

}  // namespace koord::scheduling::dynamic_resources
