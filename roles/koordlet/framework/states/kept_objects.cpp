// KeptObjects: see kept_objects.hpp.
#include "framework/states/kept_objects.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/base/file.hpp"

namespace koord::koordlet {

KOORD_SCHEMA(KeptObjects, ROW(node), ROW(node_slo).wire("nodeSLO"));

namespace {
/// etcd takes no larger object.
constexpr std::size_t kMaxFile = std::size_t{2} << 20;
}  // namespace

KeptObjects kept_objects(const api::Node& node, const api::NodeSlo* slo) {
  KeptObjects kept;
  api::Node& some = kept.node.emplace();
  some.metadata.name = node.metadata.name;
  some.metadata.annotations = node.metadata.annotations;
  some.status.capacity = node.status.capacity;
  some.status.allocatable = node.status.allocatable;
  some.status.addresses = node.status.addresses;
  some.status.daemon_endpoints = node.status.daemon_endpoints;
  if (slo == nullptr) return kept;
  api::NodeSlo& same = kept.node_slo.emplace();
  same.metadata.name = slo->metadata.name;
  same.metadata.generation = slo->metadata.generation;
  same.spec = slo->spec;
  return kept;
}

Result<KeptObjects> read_kept(const std::string& path, std::string_view node) {
  KOORD_TRY(text, read_file(path, kMaxFile, Source::own));
  auto kept = api::decode<KeptObjects>(text);
  if (!kept) return std::move(kept).error().context(path);
  if (!kept->node) return Error(Code::parse, fmt::format("{}: no node in it", path));
  if (const std::string_view name = kept->node->metadata.name; name != node)
    return Error(Code::invalid, fmt::format("{}: of another node, \"{}\"", path, name.substr(0, 253)));
  return kept;
}

Result<> write_kept(const std::string& path, const std::string& text) {
  if (text.size() > kMaxFile) {
    (void)::unlink(path.c_str());  // better none than one that is not true any more
    return Error(Code::too_large, fmt::format("{}: longer than {} bytes", path, kMaxFile));
  }
  return replace_file(path, text);
}

}  // namespace koord::koordlet
