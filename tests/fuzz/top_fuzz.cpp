// `koord top`: whatever an agent answers, the table keeps to the terminal: no control characters of others,
// no line wider than it, no more lines than it has.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "koord/api/schema/codec.hpp"
#include "top/view.hpp"

using namespace koord;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto middle = text.find('\n');
  const auto node = api::decode<koordlet::NodeView>(text.substr(0, middle));
  const auto pods =
      api::decode<koordlet::PodListView>(middle == std::string_view::npos ? "{}" : text.substr(middle + 1));
  if (!node || !pods) return 0;
  std::string_view table;
  const std::string shown = koordlet::render_top(*node, *pods, {.width = 100});
  for (table = shown; !table.empty();) {
    const auto end = table.find('\n');
    check(end != std::string_view::npos);
    const std::string_view line = table.substr(0, end);
    const auto columns =
        std::count_if(line.begin(), line.end(), [](unsigned char c) { return (c & 0xc0) != 0x80; });
    check(columns <= 100);
    check(std::none_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }));
    table.remove_prefix(end + 1);
  }
  return 0;
}
