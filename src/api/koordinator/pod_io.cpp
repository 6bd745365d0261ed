// Disks and networks of pods: see pod_io.hpp.
#include "koord/api/koordinator/pod_io.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fold_names.hpp"
#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_letters(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

template <class T>
Result<> decode_folded(std::string_view text, T& to) {
  json::Document document;
  KOORD_CHECK(document.read(text));
  fold_names(document, type_of<T>, document.arena());
  return decode(document, schema<T>(), &to);
}

Result<> check_limit(const std::optional<Quantity>& limit, std::string_view path) {
  if (!limit || limit->sign() >= 0) return {};
  return Error(Code::parse, fmt::format("{}: {} is below zero", path, limit->to_string()));
}

}  // namespace

KOORD_SCHEMA(PodBlkioQos, ROW(blocks));
KOORD_SCHEMA(PodNetworkQos, ROW(ingress_limit), ROW(egress_limit));

void fold_names(json::Value& value, const Type& type, json::Arena& arena) {
  if (type.kind == TypeKind::optional) return fold_names(value, *type.element, arena);
  if (type.kind == TypeKind::list) {
    for (json::Value& element : value.elements()) fold_names(element, *type.element, arena);
    return;
  }
  if (type.kind != TypeKind::structure) return;
  const Schema& schema = type.schema();
  for (json::Member& member : value.members()) {
    const Field* field = schema.find(member.key());
    if (field == nullptr) {
      const auto fields = schema.fields();
      const auto it = std::find_if(fields.begin(), fields.end(),
                                   [&](const Field& f) { return same_letters(f.name, member.key()); });
      if (it == fields.end()) continue;
      field = &*it;
      member.name = json::make_text(field->name, arena);
    }
    fold_names(member.value, *field->type, arena);
  }
}

Result<> decode_annotation(std::string_view text, PodBlkioQos& to) {
  KOORD_CHECK(decode_folded(text, to));
  if (to.blocks.size() <= PodBlkioQos::kMostBlocks) return {};
  return Error(Code::too_large, fmt::format("more than {} blocks", PodBlkioQos::kMostBlocks));
}

Result<> decode_annotation(std::string_view text, PodNetworkQos& to) {
  KOORD_CHECK(decode_folded(text, to));
  KOORD_CHECK(check_limit(to.ingress_limit, ".ingressLimit"));
  return check_limit(to.egress_limit, ".egressLimit");
}

}  // namespace koord::api
