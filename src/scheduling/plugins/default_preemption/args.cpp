// DefaultPreemptionArgs: see args.hpp.
#include "scheduling/plugins/default_preemption/args.hpp"

#include <fmt/format.h>

#include "koord/api/schema/table.hpp"

namespace koord::scheduling::default_preemption {

void DefaultPreemptionArgs::validate(const std::string& path, FieldErrors& errors) const {
  const std::string percentage = fmt::format("{}.minCandidateNodesPercentage", path),
                    absolute = fmt::format("{}.minCandidateNodesAbsolute", path);
  const auto invalid = [&](const std::string& at, std::int32_t value, const char* why) {
    errors.invalid(at, fmt::to_string(value), why);
  };
  if (min_candidate_nodes_percentage < 0 || min_candidate_nodes_percentage > 100)
    invalid(percentage, min_candidate_nodes_percentage, "not in valid range [0, 100]");
  if (min_candidate_nodes_absolute < 0)
    invalid(absolute, min_candidate_nodes_absolute, "not in valid range [0, inf)");
  if (min_candidate_nodes_percentage != 0 || min_candidate_nodes_absolute != 0) return;
  invalid(percentage, 0, "cannot be zero at the same time as minCandidateNodesAbsolute");
  invalid(absolute, 0, "cannot be zero at the same time as minCandidateNodesPercentage");
}

KOORD_OBJECT(DefaultPreemptionArgs, args_kind("DefaultPreemptionArgs"),
             ROW(min_candidate_nodes_percentage)
                 .default_json("10")
                 .doc("Candidates that are enough, in percent of the nodes on which preemption could help."),
             ROW(min_candidate_nodes_absolute)
                 .default_json("100")
                 .doc("Candidates that are enough, whatever the percentage gives."));

}  // namespace koord::scheduling::default_preemption
