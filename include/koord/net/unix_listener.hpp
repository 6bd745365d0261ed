// UnixListener: a unix socket that koord serves: its folder, its mode, a stale file and who may connect are
// settled here, for every protocol.
#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/file.hpp"

namespace koord::net {

struct UnixListenerOptions {
  std::string path;  // absolute, at most 107 bytes, as the kernel has it
  /// Of the folder, where there is none yet; its parents get the same.
  mode_t folder_mode = 0755;
  mode_t mode = 0600;
  /// Who may connect, by the user at the other end (SO_PEERCRED); empty: whom the mode lets in.
  std::vector<uid_t> users = {0};
};

/// Whether somebody listens on a unix socket; also where that cannot be found out, but for a path that is
/// none.
bool answers(const std::string& path);

/// One thread: the executor's. The socket's file goes with the listener, if it is still its own.
class UnixListener {
 public:
  /// A socket file that nobody listens on is replaced. Code::already_exists: somebody answers there;
  /// Code::invalid: the path is too long, or something else than a socket lies there, which is left alone;
  /// Code::forbidden: others than root and this process's user may replace what lies in the folder. The clock
  /// outlives the listener.
  static Result<std::unique_ptr<UnixListener>> open(boost::asio::any_io_executor executor, Clock& clock,
                                                    UnixListenerOptions options);
  virtual ~UnixListener() = default;

  /// The next connection of somebody who may: a non-blocking descriptor. Others are closed at once and
  /// counted. Waits while the process has no descriptors left. Code::cancelled: asked to stop.
  virtual Task<Result<Fd>> accept() = 0;
  virtual std::uint64_t refused() const = 0;  // peers that were closed because of who they are
};

}  // namespace koord::net
