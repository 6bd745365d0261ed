// Session: see koord/rpc/ttrpc.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/rpc/ttrpc.hpp"

namespace koord::rpc::ttrpc {

Result<std::vector<Session::Event>> Session::receive(std::string_view bytes) {
  std::vector<Event> events;
  for (;;) {
    KOORD_TRY(piece, mux_.take(bytes));
    if (piece.bytes.empty()) return events;
    const bool called = piece.connection == options_.serves_on;
    if (!called && piece.connection != options_.calls_on) continue;  // as containerd does with others
    MessageReader& reader = called ? calls_ : answers_;
    while (!piece.bytes.empty())
      if (auto message = reader.take(piece.bytes))
        called ? take_call(std::move(*message), events) : take_answer(std::move(*message), events);
  }
}

void Session::take_call(Message message, std::vector<Event>& events) {
  const std::uint32_t stream = message.stream;
  if (message.too_long > 0)
    return refuse(
        stream, StatusCode::resource_exhausted,
        fmt::format("message length {} exceed maximum message size of {}", message.too_long, kMaxMessage));
  if (stream % 2 != 1)
    return refuse(stream, StatusCode::invalid_argument, "StreamID must be odd for client initiated streams");
  if (message.type == static_cast<std::uint8_t>(MessageType::data))
    return refuse(stream, StatusCode::invalid_argument, "StreamID is no longer active");
  if (message.type != static_cast<std::uint8_t>(MessageType::request)) return;  // of a later ttrpc
  if (stream <= last_call_)
    return refuse(stream, StatusCode::invalid_argument, "StreamID cannot be re-used and must increment");
  last_call_ = stream;
  auto request = decode_request(message.payload);
  if (!request)
    return refuse(stream, StatusCode::invalid_argument,
                  fmt::format("unmarshal request error: {}", request.error().message()));
  if (open_calls_ >= options_.most_calls)
    return refuse(stream, StatusCode::resource_exhausted,
                  fmt::format("{} calls wait for their answers", open_calls_));
  ++open_calls_;
  events.push_back(Called{stream, std::move(*request)});
}

void Session::take_answer(Message message, std::vector<Event>& events) {
  const auto waits = std::find(waiting_.begin(), waiting_.end(), message.stream);
  if (waits == waiting_.end()) return;  // nobody asked, or does not wait any more
  const bool known = message.type == static_cast<std::uint8_t>(MessageType::response) ||
                     message.type == static_cast<std::uint8_t>(MessageType::data);
  if (!known) return;
  waiting_.erase(waits);
  Response response;
  if (message.too_long > 0) {
    response.status = {StatusCode::resource_exhausted,
                       fmt::format("the answer has {} bytes, more than {}", message.too_long, kMaxMessage),
                       {}};
  } else if (message.type == static_cast<std::uint8_t>(MessageType::data)) {
    response.status = {StatusCode::unimplemented, "the answer is a stream", {}};
  } else if (auto decoded = decode_response(message.payload)) {
    response = std::move(*decoded);
  } else {
    response.status = {StatusCode::internal, decoded.error().message(), {}};
  }
  events.push_back(Answered{message.stream, std::move(response)});
}

Result<std::uint32_t> Session::call(const Request& request) {
  const std::string payload = encode(request);
  if (payload.size() > kMaxMessage)
    return Error(Code::too_large, fmt::format("{}: {} bytes are more than ttrpc's limit of {}",
                                              request.method, payload.size(), kMaxMessage));
  const std::uint32_t stream = next_stream_;
  next_stream_ += 2;
  waiting_.push_back(stream);
  send(options_.calls_on, stream, MessageType::request, payload);
  return stream;
}

void Session::answer(std::uint32_t stream, const Response& response) {
  if (open_calls_ > 0) --open_calls_;
  const std::string payload = encode(response);
  if (payload.size() > kMaxMessage)
    return refuse(
        stream, StatusCode::resource_exhausted,
        fmt::format("the answer has {} bytes, more than ttrpc's limit of {}", payload.size(), kMaxMessage));
  send(options_.serves_on, stream, MessageType::response, payload);
}

std::string Session::take_output() { return std::exchange(output_, {}); }

void Session::refuse(std::uint32_t stream, StatusCode code, std::string text) {
  const Response response{{code, std::move(text), {}}, {}};
  send(options_.serves_on, stream, MessageType::response, encode(response));
}

void Session::send(std::uint32_t connection, std::uint32_t stream, MessageType type,
                   std::string_view payload) {
  std::string message;
  message.reserve(kHeader + payload.size());
  append_message(message, stream, type, payload);
  append_frames(output_, connection, message);
}

}  // namespace koord::rpc::ttrpc
