// Watch lines: what is taken is JSON with a known type, and gives the same object as decoding it alone.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "is_json.hpp"
#include "koord/api/lists/list_decoder.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/json/value.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace koord::api;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto event = decode_watch_line<Pod>(text);
  if (!event) return 0;
  if (!koord::is_json(text)) std::abort();
  const auto document = koord::json::parse(text);
  if (!document) return 0;  // a number beyond a double in what the decoder skips
  const auto* type = koord::json::find(*document, "type");
  if (!type || !type->is_string() || !koord::json::find(*document, "object")) std::abort();
  if (event->type == WatchType::error && event->error.message().empty()) std::abort();
  return 0;
}
