// ttrpc's messages and the multiplexer's frames, whole and cut anywhere.
#include <catch2/catch.hpp>

#include "bytes.hpp"
#include "koord/rpc/ttrpc.hpp"

namespace koord::rpc::ttrpc {
namespace {

using koord::testing::from_hex;
using koord::testing::to_hex;

std::vector<Message> read_all(std::string_view bytes, std::size_t piece) {
  MessageReader reader;
  std::vector<Message> messages;
  while (!bytes.empty()) {
    std::string_view some = bytes.substr(0, piece);
    bytes.remove_prefix(some.size());
    while (!some.empty())
      if (auto message = reader.take(some)) messages.push_back(std::move(*message));
  }
  return messages;
}

/// (connection, bytes) of each frame, its pieces put together.
Result<std::vector<std::pair<std::uint32_t, std::string>>> demultiplex(std::string_view bytes,
                                                                       std::size_t piece) {
  MuxReader reader;
  std::vector<std::pair<std::uint32_t, std::string>> streams;
  while (!bytes.empty()) {
    std::string_view some = bytes.substr(0, piece);
    bytes.remove_prefix(some.size());
    for (;;) {
      KOORD_TRY(found, reader.take(some));
      if (found.bytes.empty()) break;
      if (streams.empty() || streams.back().first != found.connection)
        streams.emplace_back(found.connection, "");
      streams.back().second += found.bytes;
    }
  }
  return streams;
}

TEST_CASE("A message is ten bytes of header and its payload, big endian") {
  std::string bytes;
  append_message(bytes, 0x01020304, MessageType::response, "ab");
  CHECK(to_hex(bytes) ==
        "00000002010203040200"
        "6162");
}

TEST_CASE("Messages are read however they are cut") {
  std::string bytes;
  append_message(bytes, 1, MessageType::request, "first");
  append_message(bytes, 3, MessageType::request, "");
  append_message(bytes, 5, MessageType::data, std::string(300, 'x'));
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const auto messages = read_all(bytes, piece);
    REQUIRE(messages.size() == 3);
    CHECK((messages[0].stream == 1 && messages[0].payload == "first" && messages[0].type == 1));
    CHECK((messages[1].stream == 3 && messages[1].payload.empty()));
    CHECK((messages[2].stream == 5 && messages[2].payload.size() == 300 && messages[2].type == 3));
  }
}

TEST_CASE("A message that is too long is dropped, and what follows it is read") {
  const std::uint32_t size = kMaxMessage + 1;
  std::string bytes = from_hex("00400001000000070100");
  bytes.append(size, 'x');
  append_message(bytes, 9, MessageType::request, "next");
  const auto messages = read_all(bytes, 65'536);
  REQUIRE(messages.size() == 2);
  CHECK((messages[0].too_long == size && messages[0].payload.empty() && messages[0].stream == 7));
  CHECK((messages[1].stream == 9 && messages[1].payload == "next" && messages[1].too_long == 0));
}

TEST_CASE("What a header promises takes no memory before it comes") {
  MessageReader reader;
  const std::string header = from_hex("00400000000000010100");
  std::string_view bytes = header;
  CHECK_FALSE(reader.take(bytes));
  CHECK(reader.held() == kHeader);
}

TEST_CASE("Frames say the connection and their length; Go reads the first of a message into 4096 bytes") {
  std::string bytes;
  append_frames(bytes, 2, "abc");
  CHECK(to_hex(bytes) ==
        "0000000200000003"
        "616263");
  struct Row {
    std::size_t size;
    std::vector<std::size_t> frames;
  };
  for (const Row& row : std::vector<Row>{{1, {1}},
                                         {4096, {4096}},
                                         {4097, {4096, 1}},
                                         {kHeader + kMaxMessage, {4096, kHeader + kMaxMessage - 4096}}}) {
    bytes.clear();
    append_frames(bytes, 1, std::string(row.size, 'x'));
    std::size_t at = 0;
    for (const std::size_t frame : row.frames) {
      REQUIRE(bytes.size() >= at + kMuxHeader + frame);
      CHECK(to_hex(bytes.substr(at, kMuxHeader)) == fmt::format("00000001{:08x}", frame));
      at += kMuxHeader + frame;
    }
    CHECK(at == bytes.size());
  }
}

TEST_CASE("Frames of several connections are taken apart however they are cut") {
  std::string bytes;
  append_frames(bytes, 1, "one");
  append_frames(bytes, 2, "two");
  bytes += from_hex("0000000100000000");  // an empty one
  append_frames(bytes, 77, std::string(5000, 'y'));
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{4099}, bytes.size()}) {
    const auto streams = demultiplex(bytes, piece);
    REQUIRE(streams.has_value());
    REQUIRE(streams->size() == 3);
    CHECK((*streams)[0] == std::pair<std::uint32_t, std::string>{1, "one"});
    CHECK((*streams)[1] == std::pair<std::uint32_t, std::string>{2, "two"});
    CHECK((*streams)[2] == std::pair<std::uint32_t, std::string>{77, std::string(5000, 'y')});
  }
}

TEST_CASE("A frame longer than any message ends the connection") {
  const auto longest = demultiplex(from_hex("000000010040000a"), 8);
  CHECK(longest.has_value());
  const auto too_long = demultiplex(from_hex("000000010040000b"), 8);
  REQUIRE(too_long.has_error());
  CHECK(too_long.error().code() == Code::parse);
  CHECK(too_long.error().message() ==
        "a frame of 4194315 bytes for connection 1: at most 4194314 are a message");
}

}  // namespace
}  // namespace koord::rpc::ttrpc
