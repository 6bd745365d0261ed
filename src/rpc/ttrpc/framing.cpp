// ttrpc's messages and the multiplexer's frames: see koord/rpc/ttrpc.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/rpc/ttrpc.hpp"

namespace koord::rpc::ttrpc {

namespace {

void append_number(std::string& to, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<char>((number >> shift) & 0xFF));
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = (number << 8) | static_cast<std::uint8_t>(bytes[at + i]);
  return number;
}

/// Moves what `to` lacks of `size` bytes; whether it has them all.
bool fill(std::string& to, std::size_t size, std::string_view& bytes) {
  const std::size_t some = std::min(size - to.size(), bytes.size());
  to.append(bytes.substr(0, some));
  bytes.remove_prefix(some);
  return to.size() == size;
}

}  // namespace

void append_message(std::string& to, std::uint32_t stream, MessageType type, std::string_view payload) {
  append_number(to, static_cast<std::uint32_t>(payload.size()));
  append_number(to, stream);
  to.push_back(static_cast<char>(type));
  to.push_back(0);
  to.append(payload);
}

std::optional<Message> MessageReader::take(std::string_view& bytes) {
  if (head_.size() < kHeader) {
    if (!fill(head_, kHeader, bytes)) return std::nullopt;
    const std::uint32_t length = number_at(head_, 0);
    message_ = {.stream = number_at(head_, 4),
                .type = static_cast<std::uint8_t>(head_[8]),
                .flags = static_cast<std::uint8_t>(head_[9]),
                .payload = {},
                .too_long = length > kMaxMessage ? length : 0};
    left_ = length;
  }
  const std::size_t some = std::min(left_, bytes.size());
  // Grown with what arrives, never by what a header promises.
  if (message_.too_long == 0) message_.payload.append(bytes.substr(0, some));
  bytes.remove_prefix(some);
  left_ -= some;
  if (left_ > 0) return std::nullopt;
  head_.clear();
  return std::exchange(message_, {});
}

Result<MuxReader::Piece> MuxReader::take(std::string_view& bytes) {
  while (left_ == 0) {
    if (!fill(head_, kMuxHeader, bytes)) return Piece{};
    connection_ = number_at(head_, 0);
    left_ = number_at(head_, 4);
    head_.clear();
    if (left_ > kHeader + kMaxMessage)
      return Error(Code::parse, fmt::format("a frame of {} bytes for connection {}: at most {} are a message",
                                            left_, connection_, kHeader + kMaxMessage));
  }
  const Piece piece{connection_, bytes.substr(0, left_)};
  bytes.remove_prefix(piece.bytes.size());
  left_ -= piece.bytes.size();
  return piece;
}

void append_frames(std::string& to, std::uint32_t connection, std::string_view message) {
  // As Go's ttrpc writes, and as it reads: the first frame into its buffer, the second into the room for what
  // is left of the payload. Others it refuses.
  for (const std::string_view frame :
       {message.substr(0, kFirstFrame), message.substr(std::min(message.size(), kFirstFrame))}) {
    if (frame.empty()) continue;
    append_number(to, connection);
    append_number(to, static_cast<std::uint32_t>(frame.size()));
    to.append(frame);
  }
}

}  // namespace koord::rpc::ttrpc
