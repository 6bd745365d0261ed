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

std::map<int, std::unique_ptr<Connections::Connection>>::iterator Connections::dispensable() {
  auto found = all_.end();
  for (auto at = all_.begin(); at != all_.end(); ++at) {
    const Connection& one = *at->second;
    if (!one.idle()) continue;
    if (found == all_.end() ||
        std::pair(one.called, one.number) < std::pair(found->second->called, found->second->number))
      found = at;
  }
  return found;
}

bool Connections::admit(int socket) {
  const int copy = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return false;
  auto connection = std::make_unique<Connection>(executor_, copy);
  const std::lock_guard lock(mutex_);
  connection->number = ++numbers_;
  if (const auto old = all_.find(socket); old != all_.end()) all_.erase(old);  // the number is used again
  if (all_.size() >= most_) {
    const auto goes = dispensable();
    if (goes == all_.end()) return false;
    drop(goes);
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

std::shared_ptr<const void> Connections::called(const std::string& peer) {
  constexpr std::string_view kPrefix = "fd:";
  int socket = -1;
  if (!peer.starts_with(kPrefix)) return nullptr;
  std::from_chars(peer.data() + kPrefix.size(), peer.data() + peer.size(), socket);
  const std::lock_guard lock(mutex_);
  const auto at = all_.find(socket);
  if (at == all_.end()) return nullptr;
  at->second->called = ++numbers_;
  return at->second->calls;
}

std::size_t Connections::size() const {
  const std::lock_guard lock(mutex_);
  return all_.size();
}

}  // namespace koord::rpc
