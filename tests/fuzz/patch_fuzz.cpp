// Patches on raw documents. The input is a letter (m, j, s), a document, a line feed and a patch.
// A result is well-formed: it prints, parses to the same, and is reached by the diffs too. What a JSON
// patch makes is no larger than what went in and what it may copy.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "koord/api/kinds/patch.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/reader.hpp"
#include "koord/json/writer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace koord;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  if (text.empty() || end == std::string_view::npos) return 0;
  const api::PatchType type = text[0] == 'm'   ? api::PatchType::merge
                              : text[0] == 'j' ? api::PatchType::json
                                               : api::PatchType::strategic;
  const auto before = json::parse(text.substr(1, end - 1));
  const auto patch = json::parse(text.substr(end + 1));
  if (!before || !patch) return 0;
  json::Document after = json::clone(*before);
  if (!(after == *before)) std::abort();
  const bool done = api::apply_patch(after, type, *patch, "", "Pod", after.arena()).has_value();
  if (json::depth(after, json::kMaxDepth) > json::kMaxDepth) std::abort();
  const std::string printed = json::to_text(after);
  // An escape is six times its byte, an exponent takes up to 20 digits more.
  if (printed.size() > 25 * size + 6 * json::kMaxCopiedBytes) std::abort();
  if (!done) return 0;
  const auto operations = json::parse(json::json_diff(*before, after));
  json::Document reached = json::clone(*before);
  if (operations ? operations->size() <= json::kMaxPatchOperations &&
                       (!json::json_patch(reached, *operations, reached.arena()) || !(reached == after))
                 : !(*before == after))
    std::abort();
  const auto again = json::parse(printed);
  // By text: a whole double beyond 2^53 is printed in the fewest digits, as Go does, and read again as an
  // integer.
  if (!again || json::to_text(*again) != printed) std::abort();
  if (printed.find("null") != std::string::npos) return 0;  // a merge patch cannot set null
  json::Arena arena;
  const auto made = json::merge_diff(*before, after, arena);
  json::Document target = json::clone(*before);
  if (made) json::merge_patch(target, *made, target.arena());
  if (!(target == after)) std::abort();
  return 0;
}
