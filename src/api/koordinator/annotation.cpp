// Reading annotations: see annotation.hpp.
#include "koord/api/koordinator/annotation.hpp"

#include <fmt/format.h>

#include "rooted.hpp"

namespace koord::api {

Result<std::optional<std::string_view>> annotation_text(const SymbolMap& annotations, std::string_view name) {
  const Symbol* const text = annotations.find(name);
  if (text == nullptr || text->empty()) return std::optional<std::string_view>();
  if (text->size() > kMaxAnnotation)
    return Error(Code::too_large, fmt::format("{}: longer than {} KiB", name, kMaxAnnotation >> 10));
  return std::optional(text->view());
}

Result<> decode_annotation(std::string_view text, AnnotatedResources& to) {
  return decode_rooted(text, to.resources);
}
std::string encode_annotation(const AnnotatedResources& value) { return encode_rooted(value.resources); }

Result<> decode_annotation(std::string_view text, AnnotatedNames& to) {
  return decode_rooted(text, to.names);
}
std::string encode_annotation(const AnnotatedNames& value) { return encode_rooted(value.names); }

}  // namespace koord::api
