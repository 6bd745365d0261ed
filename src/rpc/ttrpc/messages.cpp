// ttrpc's requests and responses as protobuf: see koord/rpc/ttrpc.hpp.
#include <fmt/format.h>

#include <utility>

#include "koord/rpc/ttrpc.hpp"
#include "ttrpc.pb.h"

namespace koord::rpc::ttrpc {

namespace wire = koord::proto::ttrpc;

namespace {

/// Fails where protobuf does, which knows no reasons.
template <class Message>
Result<Message> parse(std::string_view bytes, std::string_view what) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Error(Code::parse, fmt::format("{} bytes are no {}", bytes.size(), what));
  return message;
}

}  // namespace

std::string encode(const Request& request) {
  wire::Request message;
  message.set_service(request.service);
  message.set_method(request.method);
  message.set_payload(request.payload);
  if (request.time_left) message.set_timeout_nano(request.time_left->count());
  return message.SerializeAsString();
}

std::string encode(const Response& response) {
  wire::Response message;
  if (!response.status.ok()) {
    message.mutable_status()->set_code(static_cast<int>(response.status.code));
    message.mutable_status()->set_message(response.status.message);
  }
  message.set_payload(response.payload);
  return message.SerializeAsString();
}

Result<Request> decode_request(std::string_view bytes) {
  KOORD_TRY(message, parse<wire::Request>(bytes, "ttrpc request"));
  Request request{std::move(*message.mutable_service()),
                  std::move(*message.mutable_method()),
                  std::move(*message.mutable_payload()),
                  {}};
  if (message.timeout_nano() > 0) request.time_left = nanoseconds(message.timeout_nano());
  return request;
}

Result<Response> decode_response(std::string_view bytes) {
  KOORD_TRY(message, parse<wire::Response>(bytes, "ttrpc response"));
  Response response;
  response.status.code = static_cast<StatusCode>(message.status().code());
  response.status.message = std::move(*message.mutable_status()->mutable_message());
  response.payload = std::move(*message.mutable_payload());
  return response;
}

}  // namespace koord::rpc::ttrpc
