// ttrpc: containerd's small RPC, over NRI's multiplexer, as classes without a socket, and a driver that puts
// one unix socket under them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/rpc/call.hpp"

namespace koord::rpc::ttrpc {

inline constexpr std::size_t kMaxMessage = std::size_t{4} << 20;  // ttrpc's own limit
inline constexpr std::size_t kHeader = 10, kMuxHeader = 8;
/// The first frame of the multiplexer that begins a message is no longer than Go's buffer for it, or Go
/// fails.
inline constexpr std::size_t kFirstFrame = 4096;

enum class MessageType : std::uint8_t { request = 1, response = 2, data = 3 };

struct Message {
  std::uint32_t stream = 0;
  std::uint8_t type = 0, flags = 0;  // a MessageType, or one that does not exist yet
  std::string payload;
  /// What it would have been: its bytes were more than kMaxMessage, and were dropped. 0: it is whole.
  std::uint32_t too_long = 0;
};
/// Appends a message with its header. A payload has at most kMaxMessage bytes.
void append_message(std::string& to, std::uint32_t stream, MessageType type, std::string_view payload);

/// Cuts a stream of bytes into messages. Holds one message at most.
class MessageReader {
 public:
  /// Takes bytes from the front of `bytes`, to the end of the first message at most; that message, if it is
  /// whole.
  std::optional<Message> take(std::string_view& bytes);
  /// Bytes of a message that is not whole yet.
  std::size_t held() const { return head_.size() + message_.payload.size(); }

 private:
  std::string head_;
  Message message_;
  std::size_t left_ = 0;  // of the payload
};

/// Cuts the multiplexer's stream into those of its connections.
class MuxReader {
 public:
  struct Piece {
    std::uint32_t connection = 0;
    std::string_view bytes;  // of what take() was given; empty: nothing is left
  };
  /// The next piece of a frame, as far as it is there; frames may come in any number of pieces. Code::parse:
  /// a frame is longer than any message, after which there is nothing to go on with.
  Result<Piece> take(std::string_view& bytes);

 private:
  std::string head_;
  std::uint32_t connection_ = 0;
  std::size_t left_ = 0;  // of the frame's payload
};
/// Appends whole messages as frames that Go's ttrpc can read: one, or two where it is longer than
/// kFirstFrame.
void append_frames(std::string& to, std::uint32_t connection, std::string_view message);

struct Request {
  std::string service, method, payload;
  std::optional<nanoseconds> time_left = {};
};
struct Response {
  Status status;
  std::string payload;
};
std::string encode(const Request& request);
std::string encode(const Response& response);
Result<Request> decode_request(std::string_view bytes);
Result<Response> decode_response(std::string_view bytes);

/// Both ends of two connections in one multiplexer: on one the peer calls us, on the other we call it.
/// Without a socket: bytes in, events and bytes out.
class Session {
 public:
  struct Options {
    std::uint32_t serves_on = 1, calls_on = 2;  // connections of the multiplexer
    /// Calls of the peer that are not answered yet: more are refused (resource_exhausted).
    std::size_t most_calls = 64;
  };
  struct Called {
    std::uint32_t stream = 0;
    Request request;
  };
  struct Answered {
    std::uint32_t stream = 0;
    Response response;
  };
  using Event = std::variant<Called, Answered>;

  explicit Session(Options options) : options_(options) {}

  /// What arrived, in its order. What is wrong with one message is answered to its sender, as ttrpc does.
  /// Code::parse: the bytes make no sense any more, and the connection has to be closed.
  Result<std::vector<Event>> receive(std::string_view bytes);
  /// The stream by which the answer is known. Code::too_large: more than kMaxMessage.
  Result<std::uint32_t> call(const Request& request);
  /// Once for each call. An answer that is too long is answered as resource_exhausted instead.
  void answer(std::uint32_t stream, const Response& response);
  /// What is to be sent now.
  std::string take_output();
  std::size_t output() const { return output_.size(); }

 private:
  void take_call(Message message, std::vector<Event>& events);
  void take_answer(Message message, std::vector<Event>& events);
  void refuse(std::uint32_t stream, StatusCode code, std::string text);
  void send(std::uint32_t connection, std::uint32_t stream, MessageType type, std::string_view payload);

  Options options_;
  MuxReader mux_;
  MessageReader calls_, answers_;
  std::uint32_t next_stream_ = 1, last_call_ = 0;
  std::vector<std::uint32_t> waiting_;  // of answers
  std::size_t open_calls_ = 0;
  std::string output_;
};

struct ConnectionOptions {
  Session::Options session = {};
  /// What the peer has not read: more, and the connection is given up.
  std::size_t most_output = std::size_t{16} << 20;
};

/// One unix socket with a session on it. One thread: the executor's.
class Connection {
 public:
  /// Answers a call of the peer. Calls are answered in their order, one after the other.
  using Handler = std::function<Response(const Request&)>;

  /// Code::not_found: there is no such socket; Code::unavailable: nobody listens there.
  static Task<Result<std::unique_ptr<Connection>>> connect(std::string path, ConnectionOptions options = {});
  /// Takes a connected socket, which is closed with it.
  static Result<std::unique_ptr<Connection>> adopt(asio::any_io_executor executor, int socket,
                                                   ConnectionOptions options = {});
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Reads, has calls answered and hands on answers until the connection ends: always an error.
  /// Code::unavailable: the peer has closed it.
  virtual Task<Result<>> serve(Handler handler) = 0;
  /// While serve() runs elsewhere. The peer's status, or why there is none (unavailable: the connection has
  /// ended). Cancelled with its coroutine; the answer is dropped then.
  virtual Task<Response> call(Request request) = 0;
  /// Ends serve() and all calls.
  virtual void close() = 0;

 protected:
  Connection() = default;
};

}  // namespace koord::rpc::ttrpc
