// The HTTP/1.1 transport: a pool of kept-alive connections, most recently used first.
#include "koord/kube/transport.hpp"

#include <algorithm>
#include <charconv>
#include <list>

#include "connection.hpp"
#include "gzip.hpp"
#include "koord/async/resolve.hpp"
#include "koord/async/suspension.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/config.hpp"
#include "response_reader.hpp"
#include "token_source.hpp"

namespace koord::kube {

std::string_view to_string(Method method) {
  switch (method) {
    case Method::get: return "GET";
    case Method::post: return "POST";
    case Method::put: return "PUT";
    case Method::patch: return "PATCH";
    case Method::delete_: return "DELETE";
    case Method::head: return "HEAD";
  }
  return "GET";
}

namespace {

struct Target {
  bool tls = false;
  std::string host;       // without brackets
  std::string authority;  // for the Host field
  std::string prefix;     // before every path
  std::uint16_t port = 0;
};

Result<Target> parse_server(const std::string& server) {
  Target target;
  std::string_view rest = server;
  if (rest.starts_with("https://")) {
    target.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return Error(Code::invalid, "server: must start with https:// or http://, not \"" + server + "\"");
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  target.prefix = rest.substr(slash);
  while (target.prefix.ends_with('/')) target.prefix.pop_back();
  rest = rest.substr(0, slash);
  target.authority = rest;
  target.port = target.tls ? 443 : 80;
  std::size_t colon = rest.rfind(':');
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos)
      return Error(Code::invalid, "server: a bracket is open in \"" + server + "\"");
    target.host = rest.substr(1, close - 1);
    colon = close + 1 < rest.size() ? close + 1 : std::string_view::npos;
  } else {
    target.host = rest.substr(0, colon);
  }
  if (colon != std::string_view::npos) {
    const std::string_view port = rest.substr(colon + 1);
    const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), target.port);
    if (rest[colon] != ':' || failed != std::errc() || end != port.data() + port.size() || target.port == 0)
      return Error(Code::invalid, "server: the port is not a number in \"" + server + "\"");
  }
  if (target.host.empty() || rest.find_first_of("@ \r\n") != std::string_view::npos)
    return Error(Code::invalid, "server: no host name in \"" + server + "\"");
  return target;
}

constexpr unsigned kOpenAtOnce = 4;

class HttpTransport;

/// The right to use one of the pool's connections, and that connection; gives both back.
class Lease {
 public:
  explicit Lease(HttpTransport& pool) : pool_(pool) {}
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
  HttpTransport& pool_;
};

class HttpTransport final : public Transport {
 public:
  HttpTransport(asio::any_io_executor executor, Clock& clock, const ClientConfig& config, Target target,
                std::shared_ptr<const TlsContext> tls, TransportOptions options)
      : executor_(std::move(executor)),
        clock_(clock),
        target_(std::move(target)),
        tls_(std::move(tls)),
        options_(options),
        tokens_(config, clock),
        fixed_("Host: " + target_.authority + "\r\nUser-Agent: " + config.user_agent + "\r\n") {}

  Task<Result<HttpResponse>> send(const HttpRequest& request) override {
    bool refreshed = false;
    for (;;) {
      KOORD_CO_CHECK(tokens_.refresh());
      Result<HttpResponse> response = co_await send_once(request);
      if (!response || response->status != 401 || refreshed || !tokens_.reload()) co_return response;
      refreshed = true;
    }
  }

  Task<Result<std::unique_ptr<HttpStream>>> open_stream(HttpRequest request) override;

  void release(Lease& lease) {
    --in_use_;
    opened(lease);
    if (lease.connection && lease.reusable) {
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

  /// The request's bytes up to the body.
  void write_head(std::string& out, const HttpRequest& request, bool stream) const {
    out.clear();
    out.append(to_string(request.method)).append(" ").append(target_.prefix).append(request.target);
    out.append(" HTTP/1.1\r\n").append(fixed_);
    if (!tokens_.header().empty()) out.append("Authorization: ").append(tokens_.header()).append("\r\n");
    out.append("Accept: ").append(request.accept).append("\r\n");
    if (options_.gzip && !stream && request.method == Method::get) out.append("Accept-Encoding: gzip\r\n");
    for (const auto& [name, value] : request.headers)
      out.append(name).append(": ").append(value).append("\r\n");
    if (!request.content_type.empty())
      out.append("Content-Type: ").append(request.content_type).append("\r\n");
    const bool has_body = request.method == Method::post || request.method == Method::put ||
                          request.method == Method::patch || !request.body.empty();
    if (has_body) out.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
    out.append("\r\n");
    out.append(request.body);
  }

  Task<Result<std::unique_ptr<Connection>>> connect() {
    auto lookup = resolve(clock_, target_.host, options_.resolve);
    KOORD_CO_TRY(addresses, co_await with_timeout(clock_, options_.connect_timeout, std::move(lookup)));
    auto connection = std::make_unique<Connection>(executor_, clock_);
    connection->set_deadline(options_.connect_timeout);
    KOORD_CO_CHECK(co_await connection->connect(addresses, target_.port, tls_));
    co_return std::move(connection);
  }

 private:
  /// How many connections may be opened at a time. The first handshake is the expensive one, the others
  /// resume its session; and a connection in use is often free again before a new one is made. When the
  /// server cannot be reached, nobody waits for somebody else to find that out.
  unsigned opening_limit() const {
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

  Task<Result<HttpResponse>> send_once(const HttpRequest& request) {
    Lease lease(*this);
    KOORD_CO_CHECK(co_await acquire(lease));
    const bool repeatable =
        request.idempotent || request.method == Method::get || request.method == Method::head;
    for (;;) {
      if (!lease.connection) {
        Result<std::unique_ptr<Connection>> fresh = co_await connect();
        opened(lease);
        unreachable_ = !fresh && fresh.error().code() != Code::cancelled;
        open_for_waiting();
        if (!fresh) co_return std::move(fresh).error();
        lease.connection = std::move(*fresh);
      }
      bool untouched = false;
      Result<HttpResponse> response = co_await exchange(lease, request, untouched);
      // The server may end an idle connection just when a request is on its way.
      const bool lost = !response && response.error().code() == Code::unavailable;
      if (!lost || !lease.reused || !untouched || !repeatable) co_return response;
      lease.connection = take_idle();
      lease.reused = lease.connection != nullptr;
    }
  }

  Task<Result<HttpResponse>> exchange(Lease& lease, const HttpRequest& request, bool& untouched) {
    Connection& connection = *lease.connection;
    connection.set_deadline(request.timeout.count() > 0 ? request.timeout : options_.request_timeout);
    untouched = true;
    std::string out = std::move(spare_);
    write_head(out, request, false);
    const Result<> written = co_await connection.write(out);
    spare_ = std::move(out);
    // A server that refuses a body early answers and closes: the answer is worth reading.
    if (!written && written.error().code() != Code::unavailable) co_return written.error();

    ResponseReader reader;
    reader.reset(request.method);
    std::string body;
    while (!reader.done()) {
      Result<std::string_view> came = co_await connection.read();
      if (!came) co_return written ? std::move(came).error() : written.error();
      if (came->empty()) {
        KOORD_CO_CHECK(reader.finish());
        break;
      }
      untouched = false;
      const bool headless = !reader.head_done();
      KOORD_CO_TRY(used, reader.feed(*came, body));
      if (body.size() > options_.max_body || reader.remaining() > options_.max_body - body.size())
        co_return Error(Code::too_large, "the response to " + std::string(to_string(request.method)) + " " +
                                             request.target + " is larger than " +
                                             std::to_string(options_.max_body) + " bytes");
      if (headless && reader.remaining() > 0)
        body.reserve(body.size() + static_cast<std::size_t>(reader.remaining()));
      if (reader.done() && used != came->size())
        co_return Error(Code::parse, "HTTP response: bytes after its end");
    }
    lease.reusable = reader.keep_alive();
    HttpResponse response = std::move(reader.head());
    if (reader.gzip() && !body.empty()) {
      KOORD_CO_TRY(unpacked, gunzip(body, options_.max_body));
      body = std::move(unpacked);
    }
    response.body = std::move(body);
    co_return std::move(response);
  }

  asio::any_io_executor executor_;
  Clock& clock_;
  const Target target_;
  const std::shared_ptr<const TlsContext> tls_;
  const TransportOptions options_;
  TokenSource tokens_;
  const std::string fixed_;  // header fields of every request
  std::vector<std::unique_ptr<Connection>> idle_;
  std::list<Lease*> waiting_;
  unsigned in_use_ = 0;   // leases held, with a connection or about to have one
  unsigned opening_ = 0;  // of them, those that connect
  bool unreachable_ = false;
  std::string spare_;  // a request's buffer, used again
};

Lease::~Lease() {
  if (held)
    pool_.release(*this);
  else
    pool_.forget(*this);
}

class Stream final : public HttpStream {
 public:
  Stream(std::unique_ptr<Connection> connection, Method method) : connection_(std::move(connection)) {
    reader_.reset(method);
  }

  Task<Result<>> start(std::string bytes) {
    KOORD_CO_CHECK(co_await connection_->write(bytes));
    while (!reader_.head_done()) KOORD_CO_CHECK(co_await more());
    connection_->set_deadline(nanoseconds{0});
    if (reader_.gzip()) co_return Error(Code::parse, "HTTP response: a packed stream was not asked for");
    co_return Result<>();
  }
  const HttpResponse& head() const override { return reader_.head(); }
  Task<Result<std::string_view>> read(nanoseconds idle) override {
    connection_->set_deadline(idle);
    if (given_) body_.clear();
    given_ = true;
    while (body_.empty() && !reader_.done()) KOORD_CO_CHECK(co_await more());
    co_return std::string_view(body_);
  }

 private:
  Task<Result<>> more() {
    KOORD_CO_TRY(came, co_await connection_->read());
    if (came.empty()) co_return reader_.finish();
    KOORD_CO_CHECK(reader_.feed(came, body_));
    co_return Result<>();
  }

  std::unique_ptr<Connection> connection_;
  ResponseReader reader_;
  std::string body_;
  bool given_ = false;
};

Task<Result<std::unique_ptr<HttpStream>>> HttpTransport::open_stream(HttpRequest request) {
  bool refreshed = false;
  for (;;) {
    KOORD_CO_CHECK(tokens_.refresh());
    KOORD_CO_TRY(connection, co_await connect());
    connection->set_deadline(request.timeout.count() > 0 ? request.timeout : options_.request_timeout);
    auto stream = std::make_unique<Stream>(std::move(connection), request.method);
    std::string bytes;
    write_head(bytes, request, true);
    KOORD_CO_CHECK(co_await stream->start(std::move(bytes)));
    if (stream->head().status == 401 && !refreshed && tokens_.reload()) {
      refreshed = true;
      continue;
    }
    co_return std::unique_ptr<HttpStream>(std::move(stream));
  }
}

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(asio::any_io_executor executor, Clock& clock,
                                                  const ClientConfig& config, TransportOptions options) {
  KOORD_TRY(target, parse_server(config.server));
  if (config.user_agent.find_first_of("\r\n") != std::string::npos)
    return Error(Code::invalid, "the user agent must be one line");
  std::shared_ptr<const TlsContext> tls;
  if (target.tls) {
    KOORD_TRY(context, TlsContext::make(config, target.host));
    tls = std::move(context);
  }
  if (options.max_connections == 0) options.max_connections = 1;
  return std::unique_ptr<Transport>(std::make_unique<HttpTransport>(
      std::move(executor), clock, config, std::move(target), std::move(tls), options));
}

}  // namespace koord::kube
