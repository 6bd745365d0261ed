// gRPC owns a connection; a copy of its descriptor says when it has gone, and can break it off.
#include "connections.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <charconv>
#include <string_view>
#include <utility>

namespace koord::rpc {

Connections::~Connections() {
  *self_ = nullptr;
  while (!all_.empty()) drop(all_.begin());
}

void Connections::drop(std::map<int, std::unique_ptr<Connection>>::iterator at) {
  ::shutdown(at->second->socket.native_handle(), SHUT_RDWR);
  all_.erase(at);
}

bool Connections::admit(int socket) {
  const int copy = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return false;
  auto connection = std::make_unique<Connection>(executor_, copy);
  const std::lock_guard lock(mutex_);
  connection->number = ++numbers_;
  if (const auto old = all_.find(socket); old != all_.end()) all_.erase(old);  // the number is used again
  if (all_.size() >= most_) {
    auto oldest = all_.end();
    for (auto at = all_.begin(); at != all_.end(); ++at)
      if (!at->second->known && (oldest == all_.end() || at->second->number < oldest->second->number))
        oldest = at;
    if (oldest == all_.end()) return false;
    drop(oldest);
  }
  const std::uint64_t number = connection->number;
  all_.emplace(socket, std::move(connection));
  watch(socket, number);
  return true;
}

void Connections::watch(int socket, std::uint64_t number) {
  // Both directions are closed: gRPC has done with it.
  auto& descriptor = all_.at(socket)->socket;
  descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_error,
                        [self = self_, socket, number](boost::system::error_code failed) {
                          if (failed || *self == nullptr) return;
                          const std::lock_guard lock((*self)->mutex_);
                          const auto at = (*self)->all_.find(socket);
                          if (at != (*self)->all_.end() && at->second->number == number)
                            (*self)->all_.erase(at);
                        });
}

void Connections::called(const std::string& peer) {
  constexpr std::string_view kPrefix = "fd:";
  int socket = -1;
  if (!peer.starts_with(kPrefix)) return;
  std::from_chars(peer.data() + kPrefix.size(), peer.data() + peer.size(), socket);
  const std::lock_guard lock(mutex_);
  if (const auto at = all_.find(socket); at != all_.end()) at->second->known = true;
}

std::size_t Connections::size() const {
  const std::lock_guard lock(mutex_);
  return all_.size();
}

}  // namespace koord::rpc
