// Keys of slo-controller-config as somebody wrote them: what the webhook says is well-formed and the same
// twice, and what it lets through is read by the controllers. The input is the key's first letters, a line
// feed and its text; whether groups need names is in the input's length, since each check takes long.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "admission/configmap/config_check.hpp"
#include "framework/config/slo_config.hpp"

using namespace koord;
using namespace koord::manager;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return 0;
  api::ConfigMap map;
  for (const KeyLayout& layout : config_keys())
    if (layout.key.starts_with(text.substr(0, end))) map.data[layout.key] = text.substr(end + 1);
  api::Node node;
  node.metadata.name = "n";
  node.metadata.labels = {{"a", "b"}, {"c", "d"}};
  const VisitNodes nodes = [&](const std::function<bool(const api::Node&)>& visit) { visit(node); };
  const bool names = size % 2 == 0;
  const std::string wrong = check_config(map, nullptr, names, nodes);
  check(check_config(map, nullptr, names, nodes) == wrong);
  check(check_config(map, &map, names, nodes).empty());
  if (wrong.starts_with("___")) {
    check(wrong.ends_with("___"));
    check(json::parse(std::string_view(wrong).substr(3, wrong.size() - 6)).has_value());
  }
  SloConfig config;
  const SloConfig::Update update = config.set(map);
  if (wrong.empty() && !api::value_or(map.data, "colocation-config").empty())
    check(update.problems.empty() || !config.colocation_in_error());
  colocation_of(config.colocation(), node);
  return 0;
}
