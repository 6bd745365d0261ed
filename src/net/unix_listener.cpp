// A unix socket from an empty folder to a peer of whom it is known who it is.
#include "koord/net/unix_listener.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "koord/async/timer.hpp"
#include "koord/base/ownership.hpp"

namespace koord::net {
namespace {

constexpr nanoseconds kNoDescriptors = std::chrono::milliseconds(200);

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  if (path.empty() || path.front() != '/')
    return Error(Code::invalid, fmt::format("\"{}\" is no absolute path of a socket", path));
  if (path.size() >= sizeof address.sun_path) {
    return Error(Code::invalid, fmt::format("{}: a socket's path has at most {} bytes, this one {}", path,
                                            sizeof address.sun_path - 1, path.size()));
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

/// Makes what is missing of the folder, parents first.
Result<> make_folder(const std::filesystem::path& folder, mode_t mode) {
  if (::access(folder.c_str(), F_OK) == 0) return {};
  if (folder.has_parent_path() && folder != folder.parent_path())
    KOORD_CHECK(make_folder(folder.parent_path(), mode));
  if (::mkdir(folder.c_str(), mode) != 0) {
    if (errno == EEXIST) return {};
    return errno_error(errno, folder.native());
  }
  ::chmod(folder.c_str(), mode);  // whatever the umask
  return {};
}

/// Whoever may put another file in the socket's place would be who the peers talk to.
Result<> check_folder(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return errno_error(errno, folder);
  if (!S_ISDIR(status.st_mode)) return Error(Code::invalid, fmt::format("{} is no folder", folder));
  return check_ownership(status, folder, Guard::replace);
}

/// What lies at the path makes room if it is a socket that nobody listens on.
Result<> make_room(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return errno_error(errno, path);
  }
  if (!S_ISSOCK(status.st_mode))
    return Error(Code::invalid, fmt::format("{} is no socket: it is left alone; move it away", path));
  if (answers(path))
    return Error(Code::already_exists, fmt::format("{}: another process serves this socket", path));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_error(errno, path);
  return {};
}

class Listener final : public UnixListener {
 public:
  Listener(const boost::asio::any_io_executor& executor, Clock& clock, UnixListenerOptions options,
           int socket, const struct stat& file)
      : clock_(clock),
        options_(std::move(options)),
        device_(file.st_dev),
        inode_(file.st_ino),
        socket_(executor, socket) {}
  ~Listener() override {
    struct stat status {};
    if (::lstat(options_.path.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_)
      ::unlink(options_.path.c_str());
  }

  Task<Result<Fd>> accept() override {
    for (;;) {
      Fd peer(::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (peer) {
        if (may(peer.get())) co_return std::move(peer);
        ++refused_;
        peer.reset();
        // So that any number of them does not keep everybody else from the thread.
        co_await boost::asio::post(socket_.get_executor(), boost::asio::use_awaitable);
        continue;
      }
      if (errno == EAGAIN) {
        const auto token = boost::asio::as_tuple(boost::asio::use_awaitable);
        const auto [failed] =
            co_await socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read, token);
        if (failed == boost::asio::error::operation_aborted)
          co_return Error(Code::cancelled, "asked to stop");
        if (failed) co_return Error(Code::io, fmt::format("{}: {}", options_.path, failed.message()));
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        KOORD_CO_CHECK(co_await sleep(clock_, kNoDescriptors));
      } else if (errno != EINTR && errno != ECONNABORTED) {
        co_return errno_error(errno, options_.path);
      }
    }
  }
  std::uint64_t refused() const override { return refused_; }

 private:
  bool may(int peer) const {
    if (options_.users.empty()) return true;
    ucred who{};
    socklen_t size = sizeof who;
    return ::getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           std::find(options_.users.begin(), options_.users.end(), who.uid) != options_.users.end();
  }

  Clock& clock_;
  UnixListenerOptions options_;
  dev_t device_;
  ino_t inode_;
  boost::asio::posix::stream_descriptor socket_;
  std::uint64_t refused_ = 0;
};

}  // namespace

bool answers(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return false;
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // EAGAIN, among others: somebody listens and has a full queue.
  return !probe ||
         ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0 ||
         (errno != ECONNREFUSED && errno != ENOENT);
}

Result<std::unique_ptr<UnixListener>> UnixListener::open(boost::asio::any_io_executor executor, Clock& clock,
                                                         UnixListenerOptions options) {
  KOORD_TRY(address, address_of(options.path));
  const std::filesystem::path folder = std::filesystem::path(options.path).parent_path();
  KOORD_CHECK(make_folder(folder, options.folder_mode));
  KOORD_CHECK(check_folder(folder));
  KOORD_CHECK(make_room(options.path));
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The mode before bind(): there is no moment at which the file has a wider one.
  if (!socket || ::fchmod(socket.get(), options.mode) != 0) return errno_error(errno, options.path);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EADDRINUSE)
      return Error(Code::already_exists, fmt::format("{}: another process serves this socket", options.path));
    return errno_error(errno, options.path);
  }
  struct stat file {};
  if (::chmod(options.path.c_str(), options.mode) != 0 || ::lstat(options.path.c_str(), &file) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    return errno_error(errno, options.path);
  return std::make_unique<Listener>(executor, clock, std::move(options), socket.release(), file);
}

}  // namespace koord::net
