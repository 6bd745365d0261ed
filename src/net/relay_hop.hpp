// RelayHop: one client's connection to the server that its requests are relayed to. RelayFront is what it
// sees of the client.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "connection.hpp"
#include "koord/async/event.hpp"
#include "koord/net/relay.hpp"
#include "response_parser.hpp"

namespace koord::net {

/// What the hops of one relay share.
class Relay::Impl {
 public:
  Impl(asio::any_io_executor executor, Clock& time, RelayOptions relay_options)
      : options(std::move(relay_options)), executor_(std::move(executor)), clock_(time) {}

  Task<Result<std::unique_ptr<Connection>>> connect();

  const RelayOptions options;
  RelayCounts counts;

 private:
  asio::any_io_executor executor_;
  Clock& clock_;
  ReadRoom room_;
};

/// The client's side of one request. One task that reads, and one that writes.
class RelayFront {
 public:
  virtual ~RelayFront() = default;
  virtual const Request& request() = 0;
  virtual bool chunked_body() const = 0;  // the request's
  virtual bool body_done() const = 0;
  virtual const Headers& trailers() const = 0;  // when body_done()
  /// Its next bytes, without the chunks' frames, valid until the next call; empty: it has ended.
  virtual Task<Result<std::string_view>> read_body() = 0;
  /// Whatever the client sends behind the request; empty: it has ended its half.
  virtual Task<Result<std::string_view>> read_raw() = 0;
  /// Returns when the client has gone; what it sends before is kept. One that has only ended its half of a
  /// unix socket is still there.
  virtual Task<Result<>> wait_end() = 0;
  /// Whoever reads gets Code::cancelled, now or as soon as it asks; not any more after interrupt(false).
  virtual void interrupt(bool now) = 0;
  virtual Task<Result<>> write(std::string_view bytes) = 0;
  virtual void shut_down_write() = 0;
  /// After its end was read: it takes nothing, either.
  virtual bool hung_up() const = 0;
  /// The answer's status is about to be written.
  virtual void answered(unsigned status) = 0;
  /// Of HTTP/1.0, which has no chunks.
  virtual bool http_1_0() const = 0;
  virtual bool keep_alive() const = 0;
  /// Runs beside the hop's own task, and no longer than the client's connection.
  virtual void spawn(Task<> task) = 0;
};

struct RelayEnd {
  std::optional<Error> failed;  // nothing was written to the client
  bool whole = false;           // the answer is all there
  bool keep = false;            // and the client's connection may carry another request
};

class RelayHop {
 public:
  explicit RelayHop(Relay::Impl& relay);
  ~RelayHop();
  RelayHop(const RelayHop&) = delete;
  RelayHop& operator=(const RelayHop&) = delete;

  const Relay::Impl& relay() const { return relay_; }
  /// One request. The front keeps the hop.
  Task<RelayEnd> run(std::shared_ptr<RelayFront> front);
  /// What the client is told of a failure.
  Response answer_to(const Error& error) const;

 private:
  Task<Result<>> exchange(const std::shared_ptr<RelayFront>& front, RelayEnd& end, bool& untouched);
  Task<Result<>> pass_answer(RelayFront& front, ResponseParser& parser, RelayEnd& end);
  Task<Result<>> take_over(const std::shared_ptr<RelayFront>& front, std::string_view first, RelayEnd& end);
  Task<Result<>> more(ResponseParser& parser);
  Task<> pass_body(std::shared_ptr<RelayFront> front);
  Task<> pass_raw(std::shared_ptr<RelayFront> front);
  Task<> end_reading(RelayFront& front);
  void add_body(std::string_view bytes, bool chunked);

  Relay::Impl& relay_;
  std::unique_ptr<Connection> back_;
  std::string body_;   // of the answer, decoded
  std::string extra_;  // behind the answer's head, where the protocol has changed
  std::string out_;    // to the client
  Event body_sent_, reading_ended_;
  bool body_failed_ = false;
};

}  // namespace koord::net
