// One c-ares channel per look-up: cancelling it is destroying the channel, and resolv.conf is always fresh.
#include "koord/async/resolve.hpp"

#include <fmt/format.h>

#include <ares.h>
#include <netinet/in.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <map>
#include <memory>
#include <utility>

#include "koord/async/suspension.hpp"

namespace koord {

namespace {

using Addresses = std::vector<asio::ip::address>;

Error describe(int status, const std::string& host) {
  const std::string message = fmt::format("resolving \"{}\": {}", host, ares_strerror(status));
  switch (status) {
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
    case ARES_ENONAME: return Error(Code::not_found, message);
    case ARES_ETIMEOUT: return Error(Code::timeout, message);
    case ARES_EBADNAME:
    case ARES_EBADSTR: return Error(Code::invalid, message);
    case ARES_ECANCELLED:
    case ARES_EDESTRUCTION: return Error(Code::cancelled, message);
    default: return Error(Code::unavailable, message);
  }
}

Addresses addresses_of(const ares_addrinfo* info) {
  Addresses out;
  for (const ares_addrinfo_node* node = info->nodes; node != nullptr; node = node->ai_next) {
    if (node->ai_family == AF_INET) {
      const auto* in = reinterpret_cast<const sockaddr_in*>(node->ai_addr);
      out.emplace_back(asio::ip::address_v4(ntohl(in->sin_addr.s_addr)));
    } else if (node->ai_family == AF_INET6) {
      const auto* in6 = reinterpret_cast<const sockaddr_in6*>(node->ai_addr);
      asio::ip::address_v6::bytes_type bytes;
      std::copy(std::begin(in6->sin6_addr.s6_addr), std::end(in6->sin6_addr.s6_addr), bytes.begin());
      out.emplace_back(asio::ip::address_v6(bytes, in6->sin6_scope_id));
    }
  }
  return out;
}

/// Lives until its last wait on a socket has ended, which may be after the look-up.
class Lookup : public std::enable_shared_from_this<Lookup> {
 public:
  Lookup(asio::any_io_executor executor, Clock& clock) : executor_(std::move(executor)), clock_(clock) {}
  ~Lookup() { close(); }

  Result<> open(const ResolveOptions& options) {
    static const int initialised = ares_library_init(ARES_LIB_INIT_ALL);
    if (initialised != ARES_SUCCESS) return Error(Code::internal, ares_strerror(initialised));
    ares_options init{};
    std::string resolv_conf = options.resolv_conf;
    int mask = ARES_OPT_SOCK_STATE_CB;
    init.sock_state_cb = [](void* self, ares_socket_t fd, int readable, int writable) {
      static_cast<Lookup*>(self)->watch(fd, readable != 0, writable != 0);
    };
    init.sock_state_cb_data = this;
    if (options.timeout.count() > 0) {
      init.timeout = static_cast<int>(options.timeout.count());
      mask |= ARES_OPT_TIMEOUTMS;
    }
    if (options.tries > 0) {
      init.tries = options.tries;
      mask |= ARES_OPT_TRIES;
    }
    if (!resolv_conf.empty()) {
      init.resolvconf_path = resolv_conf.data();
      mask |= ARES_OPT_RESOLVCONF;
    }
    if (const int status = ares_init_options(&channel_, &init, mask); status != ARES_SUCCESS) {
      channel_ = nullptr;
      return Error(Code::unavailable,
                   std::string("reading the resolver's configuration: ") + ares_strerror(status));
    }
    std::string servers;
    for (const std::string& server : options.servers) servers += (servers.empty() ? "" : ",") + server;
    if (!servers.empty()) {
      if (const int status = ares_set_servers_ports_csv(channel_, servers.c_str()); status != ARES_SUCCESS)
        return Error(Code::invalid, fmt::format("name servers \"{}\": {}", servers, ares_strerror(status)));
    }
    return {};
  }

  void start(const std::string& host) {
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    ares_getaddrinfo(channel_, host.c_str(), nullptr, &hints, &Lookup::answered, this);
    arm();
  }

  /// Ends what is under way; the answer's callback has then been called.
  void close() {
    // Not touched by the last owner's destructor: the clock may be gone by then.
    if (timer_ != 0) clock_.cancel(std::exchange(timer_, 0));
    if (channel_ != nullptr) ares_destroy(std::exchange(channel_, nullptr));
    sockets_.clear();
  }

  Suspension done;
  int status = ARES_ECANCELLED;
  Addresses addresses;

 private:
  struct Socket {
    explicit Socket(const asio::any_io_executor& executor) : descriptor(executor) {}
    ~Socket() {
      if (descriptor.is_open()) descriptor.release();  // c-ares closes it
    }
    asio::posix::stream_descriptor descriptor;
    bool want_read = false, want_write = false;
    bool reading = false, writing = false;
  };

  static void answered(void* self, int status, int, ares_addrinfo* info) {
    auto* lookup = static_cast<Lookup*>(self);
    lookup->status = status;
    if (info != nullptr) {
      lookup->addresses = addresses_of(info);
      ares_freeaddrinfo(info);
    }
    lookup->done.resume();
  }

  void watch(ares_socket_t fd, bool readable, bool writable) {
    if (!readable && !writable) {
      sockets_.erase(fd);
      return;
    }
    std::shared_ptr<Socket>& socket = sockets_[fd];
    if (!socket) {
      socket = std::make_shared<Socket>(executor_);
      boost::system::error_code failed;
      socket->descriptor.assign(fd, failed);
      if (failed) {  // epoll refused it: the query's own timeout ends the look-up
        sockets_.erase(fd);
        return;
      }
    }
    socket->want_read = readable;
    socket->want_write = writable;
    wait(fd, socket);
  }

  void wait(ares_socket_t fd, const std::shared_ptr<Socket>& socket) {
    using Wait = asio::posix::stream_descriptor;
    if (socket->want_read && !std::exchange(socket->reading, true)) {
      socket->descriptor.async_wait(Wait::wait_read, [self = shared_from_this(), fd, socket](auto failed) {
        socket->reading = false;
        self->ready(fd, socket, !failed, true);
      });
    }
    if (socket->want_write && !std::exchange(socket->writing, true)) {
      socket->descriptor.async_wait(Wait::wait_write, [self = shared_from_this(), fd, socket](auto failed) {
        socket->writing = false;
        self->ready(fd, socket, !failed, false);
      });
    }
  }

  void ready(ares_socket_t fd, const std::shared_ptr<Socket>& socket, bool ok, bool read) {
    // The number may belong to another socket by now.
    const auto current = [&] {
      const auto it = sockets_.find(fd);
      return channel_ != nullptr && it != sockets_.end() && it->second == socket;
    };
    if (!ok || !current()) return;
    ares_process_fd(channel_, read ? fd : ARES_SOCKET_BAD, read ? ARES_SOCKET_BAD : fd);
    if (current()) wait(fd, socket);
    arm();
  }

  /// c-ares keeps time itself and says when it wants to look at it again.
  void arm() {
    clock_.cancel(std::exchange(timer_, 0));
    if (channel_ == nullptr) return;
    timeval left{};
    if (ares_timeout(channel_, nullptr, &left) == nullptr) return;
    const nanoseconds wait =
        std::chrono::seconds{left.tv_sec} + std::chrono::microseconds{left.tv_usec + 1000};
    timer_ = clock_.call_at(clock_.mono() + wait, [this] {
      timer_ = 0;
      ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      arm();
    });
  }

  asio::any_io_executor executor_;
  Clock& clock_;
  ares_channel channel_ = nullptr;
  std::map<ares_socket_t, std::shared_ptr<Socket>> sockets_;
  TimerId timer_ = 0;
};

/// Ends the look-up however the coroutine is left.
struct Closer {
  Lookup& lookup;
  ~Closer() { lookup.close(); }
};

}  // namespace

Task<Result<Addresses>> resolve(Clock& clock, std::string host, ResolveOptions options) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  boost::system::error_code not_numeric;
  if (const auto address = asio::ip::make_address(host, not_numeric); !not_numeric)
    co_return Addresses{address};
  if (host == "localhost" || host == "localhost.")
    co_return Addresses{asio::ip::address_v4::loopback(), asio::ip::address_v6::loopback()};
  if (host.empty()) co_return Error(Code::invalid, "resolving \"\": the name is empty");

  const auto lookup = std::make_shared<Lookup>(co_await asio::this_coro::executor, clock);
  const Closer closer{*lookup};
  KOORD_CO_CHECK(lookup->open(options));
  lookup->start(host);
  KOORD_CO_CHECK(co_await lookup->done.wait());
  if (lookup->status != ARES_SUCCESS) co_return describe(lookup->status, host);
  if (lookup->addresses.empty()) co_return describe(ARES_ENODATA, host);
  co_return std::move(lookup->addresses);
}

}  // namespace koord
