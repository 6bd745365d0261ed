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

  /// `socket` is about to become gRPC's, and stays open. A full house lets the oldest go that never called;
  /// where all have, the newcomer is refused: false.
  bool admit(int socket);
  /// gRPC's name of the connection that a call came by. From any thread.
  void called(const std::string& peer);
  std::size_t size() const;

 private:
  struct Connection {
    Connection(const boost::asio::any_io_executor& executor, int copy) : socket(executor, copy) {}
    boost::asio::posix::stream_descriptor socket;
    std::uint64_t number = 0;
    bool known = false;
  };
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
