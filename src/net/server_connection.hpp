// ServerConnection: one accepted socket, from its handshake to its end.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <memory>
#include <optional>

#include "koord/async/event.hpp"
#include "output.hpp"
#include "relay_hop.hpp"
#include "request_parser.hpp"
#include "server_state.hpp"
#include "tls_engine.hpp"

namespace koord::net {

class ServerConnection : public std::enable_shared_from_this<ServerConnection>, private RelayFront {
 public:
  ServerConnection(ServerState& server, asio::generic::stream_protocol::socket socket,
                   const std::shared_ptr<const TlsContext>& tls);
  ~ServerConnection() override;

  static Task<> serve(std::shared_ptr<ServerConnection> self) { co_await self->run(); }
  /// The server stops: ends at once if idle, else after the request that runs; a stream is cancelled.
  void finish();
  void break_off();

  const std::string& address() const { return peer_->address; }
  /// Who has to go when the server is full: never by address, which API servers may share with anybody.
  struct DropRank {
    enum Kind : std::uint8_t {
      served,    // on time: stays
      newcomer,  // came a moment ago
      idle,      // between two requests: a peer that asks again connects again
      stalled,   // no request's header yet, a body below the minimum rate, an answer that it does not read
    };
    Kind kind = served;  // the highest goes first
    nanoseconds age{};   // for how long: the oldest goes first
    auto operator<=>(const DropRank&) const = default;
  };
  DropRank drop_rank() const;
  /// A request of it was answered without an error: it keeps its place from those who have only come.
  bool proven() const { return peer_->known; }

  /// What its unfinished body costs others: bytes times seconds; 0 if it has none.
  double body_cost() const;
  /// Gives its body's memory back at once, and goes.
  void drop_body();

 private:
  // What process() found to do next.
  enum class Step { read, admit, call, relay, write };

  Task<> run();
  Task<> linger();
  Step process();
  Task<Admission> ask();
  void admitted(Admission admission);
  void keep(std::size_t bytes);
  void respond(Response response);
  void add_chunk(const std::vector<Bytes>& buffers);
  void fail(unsigned status, const std::string& message);
  bool take(std::size_t received);
  bool write_now();
  bool write_encrypted();
  bool write_plain();
  bool write_failed(const boost::system::error_code& ec);
  void watch_peer();
  void peer_readable();
  void stop_stream();

  // The request that is relayed (server_relay.cpp).
  Task<> relay();
  Task<Result<bool>> pull();
  const Request& request() override { return parser_.request(); }
  bool chunked_body() const override { return parser_.chunked(); }
  bool body_done() const override { return parser_.done(); }
  const Headers& trailers() const override { return parser_.trailers(); }
  Task<Result<std::string_view>> read_body() override;
  Task<Result<std::string_view>> read_raw() override;
  Task<Result<>> wait_end() override;
  void interrupt(bool now) override;
  Task<Result<>> write(std::string_view bytes) override;
  void shut_down_write() override;
  bool hung_up() const override;
  void answered(unsigned status) override;
  bool http_1_0() const override { return request_1_0_; }
  bool keep_alive() const override { return keep_alive_; }
  void spawn(Task<> task) override;

  void deadline(nanoseconds after);
  void no_deadline() { deadline_ = MonoTime::max(); }
  void arm_timer();

  ServerState& server_;
  asio::generic::stream_protocol::socket socket_;
  std::optional<TlsEngine> tls_;
  std::shared_ptr<Peer> peer_;
  RequestParser parser_;
  Output output_;
  std::string scratch_;  // heads, before they join the output
  std::string net_;      // what the socket gave
  std::string in_;       // decrypted and not yet parsed, from in_used_ on
  std::size_t in_used_ = 0;
  std::size_t encrypted_used_ = 0;  // of the engine's output, already written

  Request request_;  // for Step::call
  std::shared_ptr<BodySource> stream_;
  bool stream_cancelled_ = false;
  bool raw_stream_ = false;  // HTTP/1.0: no chunk framing
  bool head_only_ = false, request_1_0_ = false, keep_alive_ = true;

  Relay* relay_ = nullptr;         // who answers the request
  std::unique_ptr<RelayHop> hop_;  // of the last such
  std::string piece_;              // of its body, for the hop
  Event input_;                    // the socket may have something to read
  bool interrupted_ = false;
  bool unix_ = false;
  MonoTime owes_ = MonoTime::max();  // since when the peer owes more of its body

  bool known_ = false;                     // the first request's header has come
  bool admitted_ = false;                  // the request whose header has come
  bool serving_ = false;                   // from then until its answer is written
  std::size_t kept_ = 0;                   // bytes of a body
  MonoTime came_, since_;                  // of the connection; of its being idle
  MonoTime body_began_ = MonoTime::max();  // while one is still to come, admitted
  MonoTime stalled_ = MonoTime::max();     // since when the peer takes nothing of what is written
  asio::cancellation_signal asking_;       // ends ask()

  bool closing_ = false;  // after what is in output_
  bool broken_ = false;   // the socket is useless
  bool linger_ = false;   // the peer may still be sending what we refuse to read
  bool continued_ = false;
  bool close_sent_ = false;
  bool in_request_ = false;  // bytes of an unfinished request were seen
  bool idle_ = true;
  bool watching_ = false;  // an async_wait of watch_peer() is under way

  MonoTime deadline_ = MonoTime::max();
  TimerId timer_ = 0;
  MonoTime timer_at_{};
};

}  // namespace koord::net
