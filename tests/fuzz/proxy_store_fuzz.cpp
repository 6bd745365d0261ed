// The proxy's own files: a store's text that is read prints and reads as the same; a hook server's file that
// is read has what is asked of one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "hooks/hook_file.hpp"
#include "store/store_text.hpp"

using namespace koord;
using namespace koord::proxy;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Store store;
  if (read_store(text, store)) {
    const std::string printed = store_text(store.all());
    Store again;
    check(read_store(printed, again).has_value());
    check(store_text(again.all()) == printed);
  } else {
    check(store.pods() + store.containers() == 0 && store.bytes() == 0);
  }
  std::vector<std::string> notes;
  if (const auto server = parse_hook_file("fuzz.json", text, notes)) {
    check(server->endpoint.starts_with('/') && server->endpoint.size() <= 107);
    check(server->endpoint.find(char{}) == std::string::npos);
  }
  return 0;
}
