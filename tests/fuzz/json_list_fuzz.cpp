// The list decoder: a list that it takes is JSON, and each item that it began it ended.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "is_json.hpp"
#include "koord/api/lists/list_decoder.hpp"
#include "koord/api/types/core_v1/namespace.hpp"

namespace {

struct Sink final : koord::api::ItemSink {
  void* begin_item() override {
    if (open) std::abort();
    open = true;
    item = {};
    return &item;
  }
  void end_item(const koord::Error* error) override {
    if (!open || (error && error->message().empty())) std::abort();
    open = false;
  }
  koord::api::Namespace item;
  bool open = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Sink sink;
  const auto meta = koord::api::decode_list(text, koord::api::schema<koord::api::Namespace>(), sink);
  if (!meta) return 0;
  if (sink.open || !koord::is_json(text)) std::abort();
  return 0;
}
