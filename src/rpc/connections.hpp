// Connections: who is connected to a server, and who goes for a newcomer when all places are taken.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "koord/base/file.hpp"

namespace koord::rpc {

class Connections {
 public:
  Connections(boost::asio::any_io_executor executor, std::size_t most)
      : executor_(std::move(executor)), most_(most) {}
  /// Breaks off all that there are.
  ~Connections();

  /// `socket` is about to become gRPC's, and stays open. A full house lets the oldest go that never called,
  /// or else who has called and been answered longest ago; where all have calls, the newcomer is refused:
  /// false.
  bool admit(int socket);
  /// A call has come by the connection of gRPC's name `peer`, and lasts while what is returned is held (which
  /// may be longer than this lives). From any thread.
  std::shared_ptr<const void> called(const std::string& peer);
  std::size_t size() const;

 private:
  struct Connection {
    Connection(const boost::asio::any_io_executor& executor, int copy) : socket(executor, copy) {}
    boost::asio::posix::stream_descriptor socket;
    std::uint64_t number = 0;
    std::uint64_t called = 0;  // the number of its last call; 0: none
    std::shared_ptr<const char> calls = std::make_shared<const char>('\0');  // each call of it has a share
    bool idle() const { return calls.use_count() == 1; }
  };
  /// Who goes for a newcomer, or the end.
  std::map<int, std::unique_ptr<Connection>>::iterator dispensable();
  void watch(int socket, std::uint64_t number);
  void drop(std::map<int, std::unique_ptr<Connection>>::iterator at);

  boost::asio::any_io_executor executor_;
  std::size_t most_;
  mutable std::mutex mutex_;                        // of what follows
  std::map<int, std::unique_ptr<Connection>> all_;  // by gRPC's descriptor
  std::uint64_t numbers_ = 0;
  /// Outlived by what waits for a connection's end.
  std::shared_ptr<Connections*> self_ = std::make_shared<Connections*>(this);
};

}  // namespace koord::rpc
