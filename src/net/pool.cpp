// Who gets which connection, when one is opened, and one request's way over it.
#include "koord/net/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <list>

#include "codec/gzip.hpp"
#include "connection.hpp"
#include "koord/async/suspension.hpp"
#include "koord/async/timer.hpp"
#include "output.hpp"
#include "response_parser.hpp"

namespace koord::net {

Result<Url> parse_url(const std::string& text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return Error(Code::invalid, fmt::format("must start with https:// or http://, not \"{}\"", text));
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  url.prefix = rest.substr(slash);
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  rest = rest.substr(0, slash);
  url.authority = rest;
  url.port = url.tls ? 443 : 80;
  std::size_t colon = rest.rfind(':');
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos)
      return Error(Code::invalid, fmt::format("a bracket is open in \"{}\"", text));
    url.host = rest.substr(1, close - 1);
    colon = close + 1 < rest.size() ? close + 1 : std::string_view::npos;
  } else {
    url.host = rest.substr(0, colon);
  }
  if (colon != std::string_view::npos) {
    const std::string_view port = rest.substr(colon + 1);
    const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), url.port);
    if (rest[colon] != ':' || failed != std::errc() || end != port.data() + port.size() || url.port == 0)
      return Error(Code::invalid, fmt::format("the port is not a number in \"{}\"", text));
  }
  if (url.host.empty() || rest.find_first_of("@ \r\n") != std::string_view::npos)
    return Error(Code::invalid, fmt::format("no host name in \"{}\"", text));
  return url;
}

Result<Url> unix_url(std::string_view path, std::string host) {
  static constexpr std::size_t kLongest = 107;  // sun_path, less its NUL
  const std::string_view given = path;
  if (path.starts_with("unix://")) path.remove_prefix(7);
  if (!path.starts_with('/') || path.size() > kLongest || path.find('\0') != std::string_view::npos)
    return Error(Code::invalid,
                 fmt::format("not an absolute path of at most {} bytes: \"{}\"", kLongest, given));
  Url url;
  url.authority = host;
  url.host = std::move(host);
  url.unix_path = path;
  return url;
}

namespace {

/// A name that nobody knows is no way to the server. Code::not_found is an answer of the server's: the object
/// is not there, or the kind.
Error of_the_way(const Error& lookup) {
  const bool unknown = lookup.code() == Code::not_found || lookup.code() == Code::invalid;
  return unknown ? Error(Code::unavailable, lookup.message()) : lookup;
}

}  // namespace

/// The right to use one of the pool's connections, and that connection; gives both back.
class Lease {
 public:
  explicit Lease(Pool::Impl& pool) : pool_(pool) {}
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Suspension granted;  // while waiting
  bool held = false;
  bool opening = false;  // counted among those that connect
  bool reused = false;   // the connection has carried a request before
  bool reusable = false;
  std::unique_ptr<Connection> connection;  // null when granted: open one

 private:
  Pool::Impl& pool_;
};

class Pool::Impl {
 public:
  Impl(asio::any_io_executor executor, Clock& clock, Url url, std::shared_ptr<const TlsContext> tls,
       PoolOptions options)
      : executor_(std::move(executor)),
        clock_(clock),
        url_(std::move(url)),
        tls_(std::move(tls)),
        options_(std::move(options)) {
    write_field(fixed_, "Host", url_.authority);
    for (std::size_t i = 0; i < options_.headers.size(); ++i) {
      const auto [name, value] = options_.headers.at(i);
      write_field(fixed_, name, value);
    }
  }

  Task<Result<Response>> send(const Request& request, std::string authorization) {
    Lease lease(*this);
    KOORD_CO_CHECK(co_await acquire(lease));
    const bool repeatable = request.idempotent || request.method == "GET" || request.method == "HEAD";
    for (;;) {
      if (!lease.connection) {
        Result<std::unique_ptr<Connection>> fresh = co_await connect();
        opened(lease);
        unreachable_ = !fresh && fresh.error().code() != Code::cancelled;
        open_for_waiting();
        if (!fresh) co_return std::move(fresh).error();
        lease.connection = std::move(*fresh);
      }
      if (request.may_go && !request.may_go())
        co_return Error(Code::unavailable, "the request may not be sent any more");
      bool untouched = false;
      Result<Response> response = co_await exchange(lease, request, authorization, untouched);
      // The server may end an idle connection just when a request is on its way.
      const bool lost = !response && response.error().code() == Code::unavailable;
      if (!lost || !lease.reused || !untouched || !repeatable) co_return response;
      lease.connection = take_idle();
      lease.reused = lease.connection != nullptr;
    }
  }

  Task<Result<std::unique_ptr<Stream>>> open_stream(Request request, std::string authorization);

  void set_tls(std::shared_ptr<const TlsContext> tls) {
    tls_ = std::move(tls);
    idle_.clear();
  }

  void release(Lease& lease) {
    --in_use_;
    opened(lease);
    if (lease.connection && lease.reusable && lease.connection->context() == tls_.get()) {
      if (Lease* next = next_waiting()) {
        next->connection = std::move(lease.connection);
        next->reused = true;
        return grant(*next);
      }
      lease.connection->set_deadline(options_.idle_timeout);
      idle_.push_back(std::move(lease.connection));
    }
    open_for_waiting();
  }
  void forget(Lease& lease) { waiting_.remove(&lease); }

 private:
  /// What an answer under way takes, counted among all.
  class AnswerBytes {
   public:
    explicit AnswerBytes(Impl& pool) : pool_(pool) {}
    ~AnswerBytes() { pool_.answer_bytes_ -= bytes_; }
    AnswerBytes(const AnswerBytes&) = delete;
    AnswerBytes& operator=(const AnswerBytes&) = delete;
    /// Beyond the budget of all an answer fails that takes more than a sixteenth of it.
    Result<> hold(std::size_t bytes) {
      pool_.answer_bytes_ += bytes - std::exchange(bytes_, bytes);
      const std::size_t budget = pool_.options_.answer_budget;
      if (pool_.answer_bytes_ <= budget || bytes <= budget / 16) return {};
      return Error(Code::too_large, fmt::format("the responses under way are larger than {} bytes", budget));
    }

   private:
    Impl& pool_;
    std::size_t bytes_ = 0;
  };

  void write(std::string& out, const Request& request, std::string_view authorization, bool stream) const {
    out.clear();
    write_request(out, request,
                  {.prefix = url_.prefix,
                   .fixed = fixed_,
                   .authorization = authorization,
                   .gzip = options_.gzip && !stream && request.method == "GET"});
  }

  void set_deadline(Connection& connection, const Request& request) const {
    connection.set_deadline(request.timeout.count() > 0 ? request.timeout : options_.request_timeout);
  }

  Task<Result<std::unique_ptr<Connection>>> connect() {
    if (!url_.unix_path.empty()) {
      auto connection = std::make_unique<Connection>(executor_, clock_, room_);
      connection->set_deadline(options_.connect_timeout);
      KOORD_CO_CHECK(co_await connection->connect_unix(url_.unix_path));
      co_return std::move(connection);
    }
    auto lookup = resolve(clock_, url_.host, options_.resolve);
    const auto addresses = co_await with_timeout(clock_, options_.connect_timeout, std::move(lookup));
    if (!addresses) co_return of_the_way(addresses.error());
    auto connection = std::make_unique<Connection>(executor_, clock_, room_);
    connection->set_deadline(options_.connect_timeout);
    KOORD_CO_CHECK(co_await connection->connect(*addresses, url_.port, tls_));
    co_return std::move(connection);
  }

  /// How many connections may be opened at a time. The first handshake is the expensive one, the others
  /// resume its session; and a connection in use is often free again before a new one is made. When the
  /// server cannot be reached, nobody waits for somebody else to find that out.
  unsigned opening_limit() const {
    static constexpr unsigned kOpenAtOnce = 4;
    if (unreachable_) return options_.max_connections;
    return tls_ && !tls_->resumable() ? 1 : kOpenAtOnce;
  }

  void grant(Lease& lease) {
    ++in_use_;
    lease.held = true;
    lease.granted.resume();
  }
  Lease* next_waiting() {
    if (waiting_.empty()) return nullptr;
    Lease* next = waiting_.front();
    waiting_.pop_front();
    return next;
  }
  bool may_open() const { return in_use_ < options_.max_connections && opening_ < opening_limit(); }
  void open_for_waiting() {
    while (!waiting_.empty() && may_open()) {
      Lease* next = next_waiting();
      next->opening = true;
      ++opening_;
      grant(*next);
    }
  }
  void opened(Lease& lease) {
    if (std::exchange(lease.opening, false)) --opening_;
  }

  Task<Result<>> acquire(Lease& lease) {
    if (waiting_.empty() && in_use_ < options_.max_connections) {
      lease.connection = take_idle();
      lease.reused = lease.connection != nullptr;
      if (lease.reused || may_open()) {
        lease.opening = !lease.reused;
        opening_ += lease.opening;
        ++in_use_;
        lease.held = true;
        co_return Result<>();
      }
    }
    waiting_.push_back(&lease);
    co_return co_await lease.granted.wait();
  }

  std::unique_ptr<Connection> take_idle() {
    while (!idle_.empty()) {
      std::unique_ptr<Connection> idle = std::move(idle_.back());
      idle_.pop_back();
      if (!idle->dead()) return idle;
    }
    return nullptr;
  }

  Task<Result<Response>> exchange(Lease& lease, const Request& request, std::string_view authorization,
                                  bool& untouched) {
    Connection& connection = *lease.connection;
    set_deadline(connection, request);
    untouched = true;
    std::string out = std::move(spare_);
    write(out, request, authorization, false);
    const Result<> written = co_await connection.write(out);
    spare_ = std::move(out);
    // A server that refuses a body early answers and closes: the answer is worth reading.
    if (!written && written.error().code() != Code::unavailable) co_return written.error();

    const std::size_t limit =
        request.max_answer == 0 ? options_.max_body : std::min(request.max_answer, options_.max_body);
    ResponseParser parser(request.method);
    std::string body;
    AnswerBytes kept(*this);
    while (!parser.done()) {
      Result<std::string_view> received = co_await connection.read();
      if (!received) co_return written ? std::move(received).error() : written.error();
      if (received->empty()) {
        KOORD_CO_CHECK(parser.finish());
        break;
      }
      untouched = false;
      const bool headless = !parser.head_done();
      KOORD_CO_TRY(used, parser.feed(*received, body));
      if (body.size() > limit || parser.remaining() > limit - body.size())
        co_return Error(Code::too_large, fmt::format("the response to {} {} is larger than {} bytes",
                                                     request.method, request.target, limit));
      KOORD_CO_CHECK(
          kept.hold(std::min(body.capacity(), 2 * body.size())));  // what a promise reserved is not there
      if (headless && parser.remaining() > 0)
        body.reserve(body.size() + static_cast<std::size_t>(parser.remaining()));
      if (parser.done() && used != received->size())
        co_return Error(Code::parse, "HTTP response: bytes after its end");
    }
    lease.reusable = parser.keep_alive();
    Response response = std::move(parser.head());
    if (parser.gzip() && !body.empty()) {
      Gunzip unpacking(body, limit);
      for (bool whole = false; !whole;) {
        KOORD_CO_TRY(last, unpacking.step());
        whole = last;
        KOORD_CO_CHECK(kept.hold(body.size() + unpacking.text().capacity()));
        if (!whole) co_await asio::post(executor_, asio::use_awaitable);
      }
      body = std::move(unpacking.text());
    }
    response.body = std::move(body);
    co_return std::move(response);
  }

  asio::any_io_executor executor_;
  Clock& clock_;
  const Url url_;
  std::shared_ptr<const TlsContext> tls_;
  const PoolOptions options_;
  std::string fixed_;  // header fields of every request
  ReadRoom room_;      // before the connections that use it
  std::vector<std::unique_ptr<Connection>> idle_;
  std::list<Lease*> waiting_;
  unsigned in_use_ = 0;   // leases held, with a connection or about to have one
  unsigned opening_ = 0;  // of them, those that connect
  bool unreachable_ = false;
  std::size_t answer_bytes_ = 0;
  std::string spare_;  // a request's buffer, used again
};

Lease::~Lease() {
  if (held)
    pool_.release(*this);
  else
    pool_.forget(*this);
}

namespace {

class ConnectionStream final : public Stream {
 public:
  ConnectionStream(std::unique_ptr<Connection> connection, std::string_view method)
      : connection_(std::move(connection)), parser_(method) {}

  Task<Result<>> start(std::string bytes) {
    KOORD_CO_CHECK(co_await connection_->write(bytes));
    while (!parser_.head_done()) KOORD_CO_CHECK(co_await more());
    connection_->set_deadline(nanoseconds{0});
    if (parser_.gzip()) co_return Error(Code::parse, "HTTP response: a packed stream was not asked for");
    head_ = std::move(parser_.head());
    co_return Result<>();
  }
  const Response& head() const override { return head_; }
  Task<Result<std::string_view>> read(nanoseconds idle) override {
    connection_->set_deadline(idle);
    if (given_) body_.clear();
    given_ = true;
    while (body_.empty() && !parser_.done()) KOORD_CO_CHECK(co_await more());
    co_return std::string_view(body_);
  }

 private:
  Task<Result<>> more() {
    KOORD_CO_TRY(received, co_await connection_->read());
    if (received.empty()) co_return parser_.finish();
    KOORD_CO_CHECK(parser_.feed(received, body_));
    co_return Result<>();
  }

  std::unique_ptr<Connection> connection_;
  ResponseParser parser_;
  Response head_;
  std::string body_;
  bool given_ = false;
};

}  // namespace

Task<Result<std::unique_ptr<Stream>>> Pool::Impl::open_stream(Request request, std::string authorization) {
  KOORD_CO_TRY(connection, co_await connect());
  set_deadline(*connection, request);
  auto stream = std::make_unique<ConnectionStream>(std::move(connection), request.method);
  std::string bytes;
  write(bytes, request, authorization, true);
  KOORD_CO_CHECK(co_await stream->start(std::move(bytes)));
  co_return std::unique_ptr<Stream>(std::move(stream));
}

Pool::Pool(asio::any_io_executor executor, Clock& clock, Url url, std::shared_ptr<const TlsContext> tls,
           PoolOptions options)
    : impl_(std::make_unique<Impl>(std::move(executor), clock, std::move(url), std::move(tls),
                                   std::move(options))) {}
Pool::~Pool() = default;

Task<Result<Response>> Pool::send(const Request& request, std::string authorization) {
  return impl_->send(request, std::move(authorization));
}
Task<Result<std::unique_ptr<Stream>>> Pool::open_stream(Request request, std::string authorization) {
  return impl_->open_stream(std::move(request), std::move(authorization));
}
void Pool::set_tls(std::shared_ptr<const TlsContext> tls) { impl_->set_tls(std::move(tls)); }

}  // namespace koord::net
