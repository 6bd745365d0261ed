// Patches on raw documents. The input is a letter (m, j, s), a document, a line feed and a patch.
// A patch that fails changes nothing; a result prints, parses and is reached by the merge diff too.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "koord/api/schema/document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace koord::api;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  if (text.empty() || end == std::string_view::npos) return 0;
  const PatchType type = text[0] == 'm'   ? PatchType::merge
                         : text[0] == 'j' ? PatchType::json
                                          : PatchType::strategic;
  const auto before = Document::parse(text.substr(1, end - 1));
  if (!before) return 0;
  Document after = before->clone();
  if (!apply_patch(after, type, text.substr(end + 1), "", "Pod")) {
    if (!(after == *before)) std::abort();
    return 0;
  }
  const std::string printed = after.to_json();
  const auto again = Document::parse(printed);
  if (!again || !(*again == after)) std::abort();
  if (printed.find("null") != std::string::npos) return 0;  // a merge patch cannot set null
  const auto patch = merge_diff(*before, after);
  Document target = before->clone();
  if (patch && !apply_merge_patch(target, *patch)) std::abort();
  if (!(target == after)) std::abort();
  return 0;
}
