// Making nodes from a capacity or from templates.
#include "sandbox/nodes/make_nodes.hpp"

#include <fmt/format.h>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"

namespace koord::sandbox {

Result<> make_nodes(Verbs& verbs, int count, std::string_view capacity,
                    const std::vector<std::string>& templates) {
  if (count < 0) return Error(Code::invalid, "--nodes: must not be negative");
  static const api::ResourceList kUsual = {{"cpu", *api::Quantity::parse("32")},
                                           {"memory", *api::Quantity::parse("128Gi")},
                                           {"ephemeral-storage", *api::Quantity::parse("200Gi")},
                                           {"pods", *api::Quantity::parse("110")}};
  api::Node made;
  made.status.capacity = kUsual;
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
    made.status.capacity[name] = *parsed;
  }
  made.status.allocatable = made.status.capacity;
  const std::string usual = api::encode(made);
  const Kind& nodes = verbs.registry().get("", "nodes");
  for (int i = 0; i < count; ++i) {
    std::string name = fmt::format("node-{:04}", i);
    const std::string& text =
        templates.empty() ? usual : templates[static_cast<std::size_t>(i) % templates.size()];
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
    if (auto created = verbs.create(nodes, "", doc); !created)
      return Error(Code::invalid, created.error().message);
  }
  return {};
}

}  // namespace koord::sandbox
