// The argument structs that plugins about resources share (kubescheduler.config.k8s.io/v1).
#pragma once

#include <string>
#include <vector>

#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/scoring/resource_score.hpp"

namespace koord::scheduling {

struct ResourceSpec {
  std::string name;
  std::int64_t weight = 0;
  KOORD_STRUCT(ResourceSpec);
};

/// What counts where no resource is named.
inline constexpr std::string_view kDefaultResources =
    R"([{"name":"cpu","weight":1},{"name":"memory","weight":1}])";

/// How Koordinator's plugins score nodes; each says itself which types it has.
struct KoordinatorScoring {
  struct Resource {
    std::string name;
    std::int64_t weight = 0;  // must be written
    KOORD_STRUCT(Resource);
  };
  std::string type;
  std::vector<Resource> resources;

  /// `what` names it in front of a type that is neither LeastAllocated nor MostAllocated.
  void validate(std::string_view what, FieldErrors& errors) const;
  KOORD_STRUCT(KoordinatorScoring);
};

/// Less what no node's fullness follows from: `pods`, and names that the scheduler does not count.
std::vector<ResourceScorer::Resource> scored_resources(const std::vector<ResourceSpec>& specs,
                                                       NodeTable& nodes);

}  // namespace koord::scheduling
