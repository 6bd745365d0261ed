// NRI: what a container runtime sends. A stream of frames cut anywhere gives the same calls and the same
// refusals; what is read of a message is written and read again as the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "koord/rpc/nri.hpp"
#include "koord/rpc/ttrpc.hpp"

using namespace koord::rpc;

namespace {

/// Calls and answers in their order, and what is sent back; "broken" alone where the bytes make no sense.
std::string taken(std::string_view bytes, std::size_t piece) {
  ttrpc::Session session(
      {.serves_on = nri::kPluginConnection, .calls_on = nri::kRuntimeConnection, .most_calls = 4});
  for (int i = 0; i < 2; ++i) (void)session.call({"s", "m", "", {}});
  std::string all;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    const auto events = session.receive(bytes.substr(0, piece));
    if (!events) return "broken";
    for (const auto& event : *events) {
      if (const auto* called = std::get_if<ttrpc::Session::Called>(&event))
        all += std::to_string(called->stream) + called->request.service + called->request.method +
               called->request.payload;
      else
        all += std::get<ttrpc::Session::Answered>(event).response.payload;
    }
  }
  return all + session.take_output();
}

template <class Message>
void must_be(const koord::Result<Message>& again, const Message& message) {
  if (!again || !(*again == message)) std::abort();
}

void read_message(nri::Event event, std::string_view bytes) {
  if (const auto read = nri::decode_happened(event, bytes)) {
    const bool as_state_change = event == nri::Event::unknown;
    must_be(nri::decode_happened(event, nri::encode(*read, as_state_change)), *read);
  }
  if (const auto read = nri::decode_synchronize(bytes))
    must_be(nri::decode_synchronize(nri::encode(*read)), *read);
  if (const auto read = nri::decode_configure(bytes)) {
    must_be(nri::decode_configure(nri::encode(*read)), *read);
    (void)nri::version_of(read->nri_version, read->runtime_name, read->runtime_version);
  }
  if (const auto read = nri::decode_failed(bytes))
    must_be(nri::decode_failed(nri::encode_failed(*read)), *read);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = taken(bytes, bytes.size() + 1);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, std::size_t{64}})
    if (taken(bytes, piece) != whole) std::abort();
  if (bytes.empty()) return 0;
  read_message(static_cast<nri::Event>(bytes[0] & 0x0F), bytes.substr(1));
  return 0;
}
