// The layers of a key: see layered.hpp.
#include "framework/config/layered.hpp"

#include <fmt/format.h>

#include "framework/config/go_json.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

using json::Value;

class LayerReader {
 public:
  LayerReader(const KeyLayout& layout, const api::Schema& schema) : layout_(layout), schema_(schema) {}

  Result<LayeredText> read(std::string_view text) {
    KOORD_CHECK(in_.read(text));
    if (in_.is_null()) in_.set_object();  // Go: nothing is set
    LayeredText layers;
    KOORD_CHECK(base_.read(layout_.defaults));
    const Value* const given = layout_.inlined ? &in_ : find_like_go(in_, "clusterStrategy");
    if (!in_.is_object()) return Error(Code::parse, ".: an object is expected");
    if (given != nullptr && !given->is_null()) {
      KOORD_TRY(said, strategy(*given, layout_.inlined ? "" : ".clusterStrategy"));
      if (said) merge_like_go(base_, *said, schema_, base_.arena());
    }
    layers.cluster = json::to_text(base_);
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
    auto canonical = read_like_go(in, schema_, scratch_.arena());
    if (!canonical) return Error(Code::parse, fmt::format("{}{}", path, canonical.error().message()));
    if (canonical->empty()) return std::optional<Value>();
    void* const typed = schema_.self().create();
    Result<> decoded = api::decode(json::to_text(*canonical), schema_, typed);
    const std::string encoded = decoded ? api::encode(typed, schema_) : std::string();
    schema_.self().destroy(typed);
    if (!decoded) return Error(Code::parse, fmt::format("{}{}", path, decoded.error().message()));
    KOORD_TRY(said, json::parse(encoded));
    return std::optional<Value>(json::clone(said, scratch_.arena()));
  }

  Result<> group(const Value& in, const std::string& path, LayeredText& layers) {
    if (in.is_null()) return {};
    auto profile_text = read_like_go(in, api::schema<GroupProfile>(), scratch_.arena());
    if (!profile_text) return Error(Code::parse, fmt::format("{}{}", path, profile_text.error().message()));
    KOORD_TRY(profile, api::decode<GroupProfile>(json::to_text(*profile_text)));
    KOORD_TRY(said, strategy(in, path));
    auto nodes = api::Selector::from(profile.node_selector.get());
    if (!nodes) {
      layers.left.push_back(
          fmt::format("{}: {}", profile.name.empty() ? path : profile.name, nodes.error().message()));
      return {};
    }
    json::Document merged;
    KOORD_CHECK(merged.read(layout_.replaced ? layout_.defaults : std::string_view(layers.cluster)));
    if (said) merge_like_go(merged, *said, schema_, merged.arena());
    layers.groups.push_back({std::move(profile.name), std::move(*nodes), json::to_text(merged)});
    return {};
  }

  const KeyLayout& layout_;
  const api::Schema& schema_;
  json::Document in_, base_, scratch_;
};

}  // namespace

KOORD_SCHEMA(GroupProfile, ROW(name), ROW(node_selector));

Result<LayeredText> read_layers(std::string_view text, const KeyLayout& layout, const api::Schema& schema) {
  return LayerReader(layout, schema).read(text);
}

}  // namespace koord::manager
