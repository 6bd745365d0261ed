// What a claim's status says of the devices that were found.
#pragma once

#include <vector>

#include "scheduling/plugins/dynamic_resources/allocate/search.hpp"

namespace koord::scheduling::dynamic_resources {

/// As kube-scheduler writes it, but for allocationTimestamp. The error (Code::invalid): a slice's node
/// selector has several terms.
Result<std::vector<api::AllocationResult>> allocation_results(const Question& question, const Asks& asks,
                                                              const Search& search);

}  // namespace koord::scheduling::dynamic_resources
