// Connection: one unix socket under a session; see koord/rpc/ttrpc.hpp.
#include <fmt/format.h>
#include <sys/un.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "koord/async/event.hpp"
#include "koord/rpc/ttrpc.hpp"

namespace koord::rpc::ttrpc {

namespace {

using Socket = asio::local::stream_protocol::socket;
constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadRoom = std::size_t{64} << 10;

/// What a write in flight still needs when the connection has gone.
struct State : std::enable_shared_from_this<State> {
  /// A call that waits, for as long as its coroutine lives.
  struct Waiting {
    Waiting(State& all, std::uint32_t number) : state(all), stream(number) {
      state.waiting.emplace(stream, this);
    }
    ~Waiting() { state.waiting.erase(stream); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    State& state;
    std::uint32_t stream;
    Event done;
    Response response;
  };

  State(Socket connected, const ConnectionOptions& options)
      : socket(std::move(connected)), session(options.session), most_output(options.most_output) {}

  void flush() {
    if (writing || ended || session.output() == 0) return;
    sending = session.take_output();
    sent = 0;
    write_on();
  }

  std::size_t unsent() const { return session.output() + (writing ? sending.size() - sent : 0); }

  /// Directly while the socket takes it: the common case costs one system call.
  void write_on() {
    boost::system::error_code failed;
    while (sent < sending.size() && !failed)
      sent += socket.write_some(asio::buffer(sending.data() + sent, sending.size() - sent), failed);
    if (sent == sending.size()) return;
    if (failed != asio::error::would_block && failed != asio::error::try_again)
      return end(Error(Code::unavailable, fmt::format("writing: {}", failed.message())));
    writing = true;
    socket.async_wait(Socket::wait_write, [self = shared_from_this()](boost::system::error_code error) {
      self->writing = false;
      if (error || self->ended) return;
      self->write_on();
      if (!self->writing) self->flush();
    });
  }

  /// The first reason counts.
  void end(Error why) {
    if (ended) return;
    ended = std::move(why);
    boost::system::error_code ignored;
    socket.close(ignored);
    for (const auto& [stream, one] : waiting) {
      one->response.status = Status::of(*ended);
      one->done.set();
    }
  }

  void take(Session::Event& event, const Connection::Handler& handler) {
    if (auto* called = std::get_if<Session::Called>(&event))
      return session.answer(called->stream, handler(called->request));
    auto& answered = std::get<Session::Answered>(event);
    const auto found = waiting.find(answered.stream);
    if (found == waiting.end()) return;
    found->second->response = std::move(answered.response);
    found->second->done.set();
  }

  Socket socket;
  Session session;
  std::size_t most_output;
  std::map<std::uint32_t, Waiting*> waiting;
  std::optional<Error> ended;
  std::string sending;
  std::size_t sent = 0;
  bool writing = false;
};

class SocketConnection final : public Connection {
 public:
  SocketConnection(Socket socket, const ConnectionOptions& options)
      : state_(std::make_shared<State>(std::move(socket), options)) {}
  ~SocketConnection() override { close(); }

  Task<Result<>> serve(Handler handler) override {
    const std::shared_ptr<State> state = state_;
    std::string room(kReadRoom, '\0');
    while (!state->ended) {
      const auto [failed, size] = co_await state->socket.async_read_some(asio::buffer(room), kToken);
      if (state->ended) break;
      if (failed == asio::error::operation_aborted) {
        state->end(Error(Code::cancelled, "asked to stop"));
      } else if (failed) {
        state->end(failed == asio::error::eof
                       ? Error(Code::unavailable, "the peer has closed the connection")
                       : Error(Code::unavailable, fmt::format("reading: {}", failed.message())));
      } else {
        take(*state, std::string_view(room).substr(0, size), handler);
      }
    }
    co_return *state->ended;
  }

  Task<Response> call(Request request) override {
    const std::shared_ptr<State> state = state_;
    if (state->ended) co_return Response{Status::of(*state->ended), {}};
    const auto stream = state->session.call(request);
    if (!stream) co_return Response{Status::of(stream.error()), {}};
    State::Waiting waiting(*state, *stream);
    state->flush();
    const Result<> waited = co_await waiting.done.wait();
    if (!waited) co_return Response{Status::of(waited.error()), {}};
    co_return std::move(waiting.response);
  }

  void close() override { state_->end(Error(Code::cancelled, "the connection was closed")); }

 private:
  static void take(State& state, std::string_view bytes, const Handler& handler) {
    auto events = state.session.receive(bytes);
    if (!events) return state.end(std::move(events).error());
    for (Session::Event& event : *events) {
      state.take(event, handler);
      state.flush();
      if (state.unsent() <= state.most_output) continue;
      return state.end(Error(Code::unavailable,
                             fmt::format("the peer leaves {} bytes of answers unread", state.unsent())));
    }
    state.flush();
  }

  std::shared_ptr<State> state_;
};

}  // namespace

Task<Result<std::unique_ptr<Connection>>> Connection::connect(std::string path, ConnectionOptions options) {
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    co_return Error(Code::invalid, fmt::format("{}: a socket's path has at most {} bytes, this one {}", path,
                                               sizeof(sockaddr_un::sun_path) - 1, path.size()));
  Socket socket(co_await asio::this_coro::executor);
  const auto [failed] = co_await socket.async_connect(asio::local::stream_protocol::endpoint(path), kToken);
  if (failed == asio::error::operation_aborted) co_return Error(Code::cancelled, "asked to stop");
  if (failed == boost::system::errc::no_such_file_or_directory)
    co_return Error(Code::not_found, fmt::format("{}: there is no such socket", path));
  if (failed) co_return Error(Code::unavailable, fmt::format("{}: {}", path, failed.message()));
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  co_return std::unique_ptr<Connection>(std::make_unique<SocketConnection>(std::move(socket), options));
}

Result<std::unique_ptr<Connection>> Connection::adopt(asio::any_io_executor executor, int socket,
                                                      ConnectionOptions options) {
  Socket adopted(executor);
  boost::system::error_code failed;
  adopted.assign(asio::local::stream_protocol(), socket, failed);
  if (!failed) adopted.non_blocking(true, failed);
  if (failed) return Error(Code::io, fmt::format("descriptor {}: {}", socket, failed.message()));
  return std::unique_ptr<Connection>(std::make_unique<SocketConnection>(std::move(adopted), options));
}

}  // namespace koord::rpc::ttrpc
