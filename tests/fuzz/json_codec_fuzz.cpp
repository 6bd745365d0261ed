// The JSON codec: what decodes is written, decodes again to the same, and has no diff to itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "is_json.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace {

using namespace koord::api;

template <class T>
void check(std::string_view text) {
  const auto object = decode<T>(text);
  if (!object) return;
  if (!koord::is_json(text)) std::abort();
  const std::string written = encode(*object);
  if (!koord::is_json(written)) std::abort();
  const auto again = decode<T>(written);
  if (!again || *again != *object || diff(*object, *again)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check<Pod>(text);
  check<NodeMetric>(text);
  check<NodeSlo>(text);
  const auto strict = decode_strict<NodeSlo>(text);
  if (strict && !decode<NodeSlo>(text)) std::abort();
  return 0;
}
