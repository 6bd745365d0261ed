// A node's load as JSON: see describe.hpp.
#include "scheduling/plugins/load_aware_scheduling/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/values/time.hpp"
#include "koord/json/writer.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling::load_aware {

std::string describe(const NodeLoads& loads, std::string_view node) {
  using Part = NodeLoads::Part;
  std::string text;
  json::Writer json(text);
  json.begin_object();
  if (const std::optional<Row> row = loads.find(node)) {
    std::vector<const NodeLoads::Pod*> pods;
    for (const NodeLoads::Pod& pod : loads.pods(*row)) pods.push_back(&pod);
    std::ranges::stable_sort(pods, {}, [](const NodeLoads::Pod* pod) { return pod->since; });
    if (!pods.empty()) {
      json.key("pods");
      json.begin_array();
      for (const NodeLoads::Pod* pod : pods) {
        json.begin_object();
        json.member("timestamp", api::MicroTime(pod->since).to_string());
        json.key("pod");
        json.raw(api::encode(*pod->info->pod));
        json.end_object();
      }
      json.end_array();
    }
    const auto sum = [&](std::string_view key, Part part) {
      if (!loads.reported(*row)) return;
      json.key(key);
      json.begin_object();
      for (std::size_t i = 0; i < loads.resources().size(); ++i)
        json.member(loads.resources().name(i),
                    loads.resources().quantity(i, loads.sum(*row, part)[i]).to_string());
      json.end_object();
    };
    const auto names = [&](std::string_view key, Part part) {
      std::vector<std::string> of;
      for (const NodeLoads::Pod* pod : pods)
        if (loads.adds(*row, *pod, part)) of.push_back(pod_key(*pod->info->pod));
      if (of.empty() || !loads.reported(*row)) return;
      std::ranges::sort(of);
      json.key(key);
      json.begin_array();
      for (const std::string& name : of) json.value(name);
      json.end_array();
    };
    sum("prodUsage", Part::prod_usage);
    sum("nodeDelta", Part::delta);
    sum("prodDelta", Part::prod_delta);
    sum("nodeEstimated", Part::estimated);
    names("nodeDeltaPods", Part::delta);
    names("prodDeltaPods", Part::prod_delta);
    names("nodeEstimatedPods", Part::estimated);
  }
  json.end_object();
  return text;
}

}  // namespace koord::scheduling::load_aware
