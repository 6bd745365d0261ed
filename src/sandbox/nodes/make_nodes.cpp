// Making nodes from a capacity or from templates.
#include "sandbox/nodes/make_nodes.hpp"

#include <fmt/format.h>

#include "koord/api/values/quantity.hpp"
#include "koord/json/writer.hpp"

namespace koord::sandbox {

Result<> make_nodes(Verbs& verbs, int count, std::string_view capacity,
                    const std::vector<std::string>& templates) {
  if (count < 0) return Error(Code::invalid, "--nodes: must not be negative");
  std::vector<std::pair<std::string, std::string>> amounts = {
      {"cpu", "32"}, {"memory", "128Gi"}, {"ephemeral-storage", "200Gi"}, {"pods", "110"}};
  for (std::string_view rest = capacity; !rest.empty();) {
    std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      return Error(Code::invalid, fmt::format("--node-capacity: \"{}\": want RESOURCE=AMOUNT", item));
    std::string name(item.substr(0, equals)), amount(item.substr(equals + 1));
    auto parsed = api::Quantity::parse(amount);
    if (!parsed)
      return Error(Code::invalid, fmt::format("--node-capacity: {}: {}", name, parsed.error().message()));
    auto it =
        std::find_if(amounts.begin(), amounts.end(), [&](const auto& entry) { return entry.first == name; });
    if (it != amounts.end())
      it->second = amount;
    else
      amounts.emplace_back(name, amount);
  }
  std::string list;
  for (const auto& [name, amount] : amounts)
    list += fmt::format("{}{}:{}", list.empty() ? "" : ",", json::quote(name), json::quote(amount));
  const Kind& nodes = verbs.registry().get("", "nodes");
  for (int i = 0; i < count; ++i) {
    std::string name = fmt::format("node-{:04}", i);
    std::string text =
        templates.empty()
            ? fmt::format(
                  R"({{"metadata":{{}},"spec":{{}},"status":{{"capacity":{{{0}}},"allocatable":{{{0}}}}}}})",
                  list)
            : templates[static_cast<std::size_t>(i) % templates.size()];
    json::Document doc;
    if (auto read = doc.read(text); !read) return std::move(read).error().context("node template");
    json::Arena& arena = doc.arena();
    json::Value& meta = object_at(doc, "metadata", arena);
    set_text(meta, "name", name, arena);
    for (const char* field : {"uid", "resourceVersion", "creationTimestamp"}) json::remove(meta, field);
    json::Value& labels = object_at(meta, "labels", arena);
    set_text(labels, "kubernetes.io/hostname", name, arena);
    default_text(labels, "kubernetes.io/os", "linux", arena);
    default_text(labels, "kubernetes.io/arch", "amd64", arena);
    static constexpr const char* kZones[] = {"zone-a", "zone-b", "zone-c"};
    default_text(labels, "topology.kubernetes.io/region", "sandbox", arena);
    default_text(labels, "topology.kubernetes.io/zone", kZones[i % 3], arena);
    auto made = verbs.create(nodes, "", doc);
    if (!made) return Error(Code::invalid, made.error().message);
  }
  return {};
}

}  // namespace koord::sandbox
