// The layers of a key: see layered.hpp.
#include "framework/config/layered.hpp"

#include <fmt/format.h>

#include "framework/config/go_json.hpp"
#include "koord/api/schema/table.hpp"

namespace koord::manager {
namespace {

using json::Value;

class LayerReader {
 public:
  LayerReader(const KeyLayout& layout, const api::Schema& schema) : layout_(layout), schema_(schema) {}

  Result<LayerDocuments> read(std::string_view text) {
    KOORD_CHECK(in_.read(text));
    if (in_.is_null()) in_.set_object();  // Go: nothing is set
    LayerDocuments layers;
    KOORD_CHECK(layers.cluster.read(layout_.defaults));
    const Value* const given = layout_.inlined ? &in_ : find_like_go(in_, "clusterStrategy");
    if (!in_.is_object()) return Error(Code::parse, ".: an object is expected");
    if (given != nullptr && !given->is_null()) {
      KOORD_TRY(said, strategy(*given, layout_.inlined ? "" : ".clusterStrategy"));
      if (said) merge_like_go(layers.cluster, *said, schema_, layers.cluster.arena());
    }
    const Value* const groups = find_like_go(in_, layout_.groups);
    if (groups == nullptr || groups->is_null()) return layers;
    if (!groups->is_array())
      return Error(Code::parse, fmt::format(".{}: an array is expected", layout_.groups));
    for (std::size_t i = 0; i < groups->size(); ++i)
      KOORD_CHECK(group((*groups)[i], fmt::format(".{}[{}]", layout_.groups, i), layers));
    return layers;
  }

 private:
  /// What a strategy says, without what Go leaves out as empty; nothing if it says nothing at all. That is
  /// not the same: of a strategy that says something the fields that are always written are there (a quantity
  /// of 0).
  Result<std::optional<Value>> strategy(const Value& in, std::string_view path) {
    auto canonical = read_like_go(in, schema_, scratch_);
    if (!canonical) return Error(Code::parse, fmt::format("{}{}", path, canonical.error().message()));
    if (canonical->empty()) return std::optional<Value>();
    void* const typed = schema_.self().create();
    Result<> decoded = api::decode(*canonical, schema_, typed);
    std::optional<Value> said;
    if (decoded) said = api::encode(typed, schema_, scratch_);
    schema_.self().destroy(typed);
    if (!decoded) return Error(Code::parse, fmt::format("{}{}", path, decoded.error().message()));
    return said;
  }

  Result<> group(const Value& in, const std::string& path, LayerDocuments& layers) {
    if (in.is_null()) return {};
    auto profile_text = read_like_go(in, api::schema<GroupProfile>(), scratch_);
    if (!profile_text) return Error(Code::parse, fmt::format("{}{}", path, profile_text.error().message()));
    KOORD_TRY(profile, api::decode<GroupProfile>(*profile_text));
    KOORD_TRY(said, strategy(in, path));
    auto nodes = api::Selector::from(profile.node_selector.get());
    if (!nodes) {
      layers.left.push_back(
          fmt::format("{}: {}", profile.name.empty() ? path : profile.name, nodes.error().message()));
      return {};
    }
    json::Document merged;
    if (layout_.replaced) {
      KOORD_CHECK(merged.read(layout_.defaults));
    } else {
      merged = json::clone(layers.cluster);
    }
    if (said) merge_like_go(merged, *said, schema_, merged.arena());
    layers.groups.push_back({std::move(profile.name), std::move(*nodes), std::move(merged)});
    return {};
  }

  const KeyLayout& layout_;
  const api::Schema& schema_;
  json::Document in_;
  json::Arena scratch_;
};

}  // namespace

KOORD_SCHEMA(GroupProfile, ROW(name), ROW(node_selector));

Result<LayerDocuments> read_layers(std::string_view text, const KeyLayout& layout,
                                   const api::Schema& schema) {
  return LayerReader(layout, schema).read(text);
}

}  // namespace koord::manager
