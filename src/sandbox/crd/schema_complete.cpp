// Pruning and defaults.
#include <algorithm>

#include "koord/json/index.hpp"
#include "sandbox/crd/schema.hpp"

namespace koord::sandbox {
namespace {

bool of_every_object(std::string_view name) {
  return name == "apiVersion" || name == "kind" || name == "metadata";
}

void prune(const SchemaNode& schema, json::Value& value, bool embedded) {
  if (schema.items)
    for (json::Value& item : value.elements()) prune(*schema.items, item, schema.items->embedded);
  if (!value.is_object()) return;
  if (!schema.keeps_unknown && !schema.additional)
    value.erase_if([&](const json::Member& member) {
      return !(embedded && of_every_object(member.key())) && !schema.property(member.key());
    });
  for (json::Member& member : value.members()) {
    if (embedded && of_every_object(member.key())) continue;
    if (const SchemaNode* inner = schema.member(member.key())) prune(*inner, member.value, inner->embedded);
  }
}

class Filler {
 public:
  explicit Filler(json::Arena& arena) : arena_(arena) {}

  /// False if there is too much.
  bool fill(const SchemaNode& schema, json::Value& value) {
    if (!schema.fills) return true;
    if (schema.items)
      for (json::Value& item : value.elements())
        if (!fill(*schema.items, item)) return false;
    if (!value.is_object()) return true;
    std::vector<const SchemaNode::Property*> missing;
    const json::Members present(value);
    for (const SchemaNode::Property& property : schema.properties) {
      if (!property.schema->fills) continue;
      json::Value* member = present.find(property.name);
      const bool absent =
          !member || (member->is_null() && property.schema->preset && !property.schema->nullable);
      if (!member && property.schema->preset)
        missing.push_back(&property);
      else if (member && ((absent && !put(*property.schema, *member)) || !fill(*property.schema, *member)))
        return false;
    }
    if (schema.additional && schema.additional->fills)
      for (json::Member& member : value.members())
        if (!schema.property(member.key()) && !fill(*schema.additional, member.value)) return false;
    for (const SchemaNode::Property* property : missing) {
      json::Value& member = value.append(property->name, json::Value(), arena_);
      if (!put(*property->schema, member) || !fill(*property->schema, member)) return false;
    }
    return true;
  }

 private:
  bool put(const SchemaNode& schema, json::Value& member) {
    const std::size_t before = arena_.used();
    member = json::clone(*schema.preset, arena_);
    added_ += sizeof(json::Member) + arena_.used() - before;
    return added_ <= CrdSchema::kMaxDefaultBytes;
  }

  json::Arena& arena_;
  std::size_t added_ = 0;
};

}  // namespace

Outcome<void> CrdSchema::complete(json::Value& object, json::Arena& arena) const {
  prune(root_, object, true);
  if (!Filler(arena).fill(root_, object)) return too_large("etcdserver: request is too large");
  return {};
}

}  // namespace koord::sandbox
