// A pod's scheduling hint: what a controller that has decided already writes into its annotations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "koord/api/schema/schema.hpp"
#include "koord/api/values/raw_json.hpp"
#include "koord/base/result.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

struct PodHint {
  std::vector<std::string> node_names;            // required: no other node will do
  std::vector<std::string> preferred_node_names;  // to be tried first, in this order
  api::RawJson extensions;                        // of other plugins, by their names
  KOORD_STRUCT(PodHint);
};

/// Absent where the pod has none, or an empty one. Anybody may write one: it is bounded.
Result<std::optional<PodHint>> hint_of(const api::Pod& pod);
/// Whether it has one, which costs next to nothing.
bool has_hint(const api::Pod& pod);

}  // namespace koord::scheduling
