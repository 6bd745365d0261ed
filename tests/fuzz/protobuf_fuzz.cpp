// Kubernetes' protobuf bodies: what is read becomes a document that can be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "koord/json/writer.hpp"
#include "sandbox/protobuf/decode.hpp"

using namespace koord;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  json::Document doc;
  if (!sandbox::decode_protobuf({reinterpret_cast<const char*>(data), size}, doc)) return 0;
  const std::string text = json::to_text(doc);
  json::Document again;
  if (!again.read(text) || json::to_text(again) != text) std::abort();
  return 0;
}
