// A patch's preconditions: they stand in its metadata, before what it changes.
#include <stdexcept>

#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::api {

Patch make_patch(PatchType type, const json::Value& body, const Precondition& wanted) {
  const bool has_metadata = type == PatchType::strategic || type == PatchType::merge;
  if (!has_metadata || !body.is_object()) throw std::invalid_argument("a patch that has no metadata");
  Patch patch{type, {}};
  json::Writer json(patch.body);
  json.begin_object();
  const json::Value* const metadata = json::find(body, "metadata");
  if (metadata != nullptr || !wanted.uid.empty() || !wanted.resource_version.empty()) {
    json.key("metadata").begin_object();
    json.member_if("uid", wanted.uid).member_if("resourceVersion", wanted.resource_version);
    if (metadata != nullptr)
      for (const json::Member& member : metadata->members())
        if ((wanted.uid.empty() || member.key() != "uid") &&
            (wanted.resource_version.empty() || member.key() != "resourceVersion"))
          json.key(member.key()).value(member.value);
    json.end_object();
  }
  for (const json::Member& member : body.members())
    if (member.key() != "metadata") json.key(member.key()).value(member.value);
  json.end_object();
  return patch;
}

Patch Patch::with_precondition(const Precondition& wanted) && {
  const auto document = json::parse(body);
  if (!document) throw std::invalid_argument("a patch that is no JSON");
  return make_patch(type, *document, wanted);
}

}  // namespace koord::api
