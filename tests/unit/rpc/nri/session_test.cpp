// Sessions of ttrpc: calls and answers both ways, and what is wrong on the wire.
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "koord/rpc/ttrpc.hpp"

namespace koord::rpc::ttrpc {
namespace {

using koord::testing::from_hex;
using koord::testing::to_hex;

const Session::Options kPlugin{.serves_on = 1, .calls_on = 2};
const Session::Options kRuntime{.serves_on = 2, .calls_on = 1};

std::string framed(std::uint32_t connection, std::uint32_t stream, MessageType type, std::string_view payload,
                   std::uint8_t flags = 0) {
  std::string message, bytes;
  append_message(message, stream, type, payload);
  message[9] = static_cast<char>(flags);
  append_frames(bytes, connection, message);
  return bytes;
}

/// What a session answers to bytes of its peer: the response and its stream.
std::pair<std::uint32_t, Response> refusal(Session& session, const std::string& bytes) {
  const auto events = session.receive(bytes);
  REQUIRE(events.has_value());
  CHECK(events->empty());
  Session peer(kRuntime);
  MuxReader mux;
  MessageReader reader;
  const std::string output = session.take_output();
  std::string_view rest = output;
  const auto piece = mux.take(rest);
  REQUIRE(piece.has_value());
  CHECK(piece->connection == 1);
  std::string_view payload = piece->bytes;
  const auto message = reader.take(payload);
  REQUIRE(message);
  CHECK(message->type == 2);
  const auto response = decode_response(message->payload);
  REQUIRE(response.has_value());
  return {message->stream, *response};
}

TEST_CASE("Requests and responses have Go's bytes") {
  const Request request{"nri.pkg.api.v1alpha1.Plugin", "Shutdown", "xy", std::chrono::seconds(2)};
  CHECK(to_hex(encode(request)) ==
        "0a1b6e72692e706b672e6170692e7631616c706861312e506c7567696e120853687574646f776e1a0278792080a8d6b907");
  const auto read =
      decode_request(from_hex("0a1b6e72692e706b672e6170692e7631616c706861312e506c7567696e120853687574646f776e"
                              "1a0278792080a8d6b9072a060a"
                              "016b120176"));
  REQUIRE(read.has_value());
  CHECK((read->service == request.service && read->method == "Shutdown" && read->payload == "xy"));
  CHECK(read->time_left == std::chrono::seconds(2));
  const Response response{{StatusCode::unimplemented, "no", {}}, "xy"};
  CHECK(to_hex(encode(response)) == "0a06080c12026e6f12027879");
  const auto answered = decode_response(from_hex("0a06080c12026e6f12027879"));
  REQUIRE(answered.has_value());
  CHECK((answered->status.code == StatusCode::unimplemented && answered->status.message == "no"));
  CHECK(decode_request("\xff").error().code() == Code::parse);
  CHECK(decode_response("\xff").error().code() == Code::parse);
}

TEST_CASE("Both sides call and answer over one stream of bytes") {
  Session plugin(kPlugin), runtime(kRuntime);
  const auto registers = plugin.call({"Runtime", "RegisterPlugin", "r", {}});
  const auto configures = runtime.call({"Plugin", "Configure", "c", {}});
  const auto more = runtime.call({"Plugin", "Synchronize", std::string(10'000, 's'), {}});
  REQUIRE((registers && configures && more));
  CHECK((*registers == 1 && *configures == 1 && *more == 3));

  auto at_runtime = runtime.receive(plugin.take_output());
  REQUIRE((at_runtime && at_runtime->size() == 1));
  CHECK(std::get<Session::Called>((*at_runtime)[0]).request.method == "RegisterPlugin");
  runtime.answer(1, {{}, "ok"});

  auto at_plugin = plugin.receive(runtime.take_output());
  REQUIRE((at_plugin && at_plugin->size() == 3));
  CHECK(std::get<Session::Called>((*at_plugin)[0]).request.payload == "c");
  CHECK(std::get<Session::Called>((*at_plugin)[1]).request.payload.size() == 10'000);
  CHECK(std::get<Session::Answered>((*at_plugin)[2]).response.payload == "ok");
  plugin.answer(3, {{StatusCode::not_found, "gone", {}}, {}});
  plugin.answer(1, {{}, "configured"});

  at_runtime = runtime.receive(plugin.take_output());
  REQUIRE((at_runtime && at_runtime->size() == 2));
  const auto& first = std::get<Session::Answered>((*at_runtime)[0]);
  CHECK((first.stream == 3 && first.response.status.code == StatusCode::not_found));
  CHECK(std::get<Session::Answered>((*at_runtime)[1]).response.payload == "configured");
}

TEST_CASE("What is wrong with a call is answered on its stream, as Go does") {
  struct Row {
    std::uint32_t stream;
    MessageType type;
    std::string payload;
    StatusCode code;
    std::string_view message;
  };
  for (const Row& row : std::vector<Row>{
           {2, MessageType::request, "", StatusCode::invalid_argument,
            "StreamID must be odd for client initiated streams"},
           {5, MessageType::data, "", StatusCode::invalid_argument, "StreamID is no longer active"},
           {5, MessageType::request, "\xff", StatusCode::invalid_argument,
            "unmarshal request error: 1 bytes are no ttrpc request"},
           {3, MessageType::request, "", StatusCode::invalid_argument,
            "StreamID cannot be re-used and must increment"},
       }) {
    INFO(row.message);
    Session session(kPlugin);
    const auto before =
        session.receive(framed(1, 3, MessageType::request, encode(Request{"s", "m", "", {}})));
    REQUIRE((before && before->size() == 1));
    const auto [stream, response] = refusal(session, framed(1, row.stream, row.type, row.payload));
    CHECK(stream == row.stream);
    CHECK(response.status.code == row.code);
    CHECK(response.status.message == row.message);
  }
}

TEST_CASE("A call that is too long is refused, and the next one answered") {
  Session session(kPlugin);
  std::string message, bytes;
  append_message(message, 1, MessageType::request, std::string(kMaxMessage + 1, 'x'));
  // A frame holds no more than a message: this one comes in two.
  append_frames(bytes, 1, message);
  const auto [stream, response] = refusal(session, bytes);
  CHECK(stream == 1);
  CHECK(response.status.code == StatusCode::resource_exhausted);
  CHECK(response.status.message == "message length 4194305 exceed maximum message size of 4194304");
  const auto events = session.receive(framed(1, 3, MessageType::request, encode(Request{"s", "m", "", {}})));
  REQUIRE((events && events->size() == 1));
}

TEST_CASE("Calls without end are refused, once as many wait as may") {
  Session session({.serves_on = 1, .calls_on = 2, .most_calls = 2});
  const auto call = [&](std::uint32_t stream) {
    return framed(1, stream, MessageType::request, encode(Request{"s", "m", "", {}}));
  };
  REQUIRE(session.receive(call(1) + call(3))->size() == 2);
  const auto [stream, response] = refusal(session, call(5));
  CHECK((stream == 5 && response.status.code == StatusCode::resource_exhausted));
  session.answer(1, {});
  (void)session.take_output();
  CHECK(session.receive(call(7))->size() == 1);
}

TEST_CASE("What is for others, of another kind or answers nobody is passed over") {
  Session session(kPlugin);
  REQUIRE(session.call({"s", "m", "", {}}).has_value());
  (void)session.take_output();
  for (const std::string& bytes :
       {framed(3, 1, MessageType::request, "for another connection"), framed(0, 1, MessageType::request, ""),
        framed(1, 1, static_cast<MessageType>(9), "a later kind"), framed(2, 99, MessageType::response, ""),
        framed(2, 1, static_cast<MessageType>(9), "")}) {
    const auto events = session.receive(bytes);
    REQUIRE(events.has_value());
    CHECK(events->empty());
    CHECK(session.output() == 0);
  }
  const auto answered = session.receive(framed(2, 1, MessageType::response, encode(Response{{}, "yes"})));
  REQUIRE((answered && answered->size() == 1));
  CHECK(std::get<Session::Answered>((*answered)[0]).response.payload == "yes");
}

TEST_CASE("An answer that cannot be read is its caller's error alone") {
  Session session(kPlugin);
  for (int i = 0; i < 3; ++i) REQUIRE(session.call({"s", "m", "", {}}).has_value());
  const auto events =
      session.receive(framed(2, 1, MessageType::response, "\xff") +
                      framed(2, 3, MessageType::data, "a stream") + framed(2, 5, MessageType::response, ""));
  REQUIRE((events && events->size() == 3));
  const auto code = [&](std::size_t at) {
    return std::get<Session::Answered>((*events)[at]).response.status.code;
  };
  CHECK(
      (code(0) == StatusCode::internal && code(1) == StatusCode::unimplemented && code(2) == StatusCode::ok));
}

TEST_CASE("Nothing longer than ttrpc's limit is sent") {
  Session session(kPlugin);
  const auto called = session.call({"s", "m", std::string(kMaxMessage, 'x'), {}});
  REQUIRE(called.has_error());
  CHECK(called.error().code() == Code::too_large);
  CHECK(session.output() == 0);
  REQUIRE(session.receive(framed(1, 1, MessageType::request, encode(Request{"s", "m", "", {}}))).has_value());
  session.answer(1, {{}, std::string(kMaxMessage, 'x')});
  CHECK(session.output() < 200);  // it says so instead
}

TEST_CASE("Garbage ends the session") {
  Session session(kPlugin);
  const auto events = session.receive("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  REQUIRE(events.has_error());
  CHECK(events.error().code() == Code::parse);
}

}  // namespace
}  // namespace koord::rpc::ttrpc
