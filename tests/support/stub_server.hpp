// StubServer: a plain HTTP port on loopback that answers with exactly the bytes that a test gives it.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace koord::test {

class StubServer {
 public:
  enum class Then { keep, close, reset, hold };
  struct Reply {
    std::string bytes;
    Then then = Then::keep;
  };
  using Handler = std::function<Reply(const std::string& request)>;

  StubServer(boost::asio::io_context& context, Handler handler)
      : acceptor_(context, {boost::asio::ip::address_v4::loopback(), 0}), handler_(std::move(handler)) {
    accept();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

  std::vector<std::string> requests;
  int connections = 0;

  static std::string ok(const std::string& body, const std::string& fields = "", int status = 200) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" + fields +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

 private:
  using tcp = boost::asio::ip::tcp;
  struct Session {
    explicit Session(tcp::socket s) : socket(std::move(s)) {}
    tcp::socket socket;
    std::string in, out;
    char buffer[4096];
  };

  void accept() {
    acceptor_.async_accept([this](auto failed, tcp::socket socket) {
      if (failed) return;
      ++connections;
      read(std::make_shared<Session>(std::move(socket)));
      accept();
    });
  }
  /// The size of the first whole request in `in`, 0 if it is not there yet.
  static std::size_t whole(const std::string& in) {
    const std::size_t head = in.find("\r\n\r\n");
    if (head == std::string::npos) return 0;
    std::size_t length = 0;
    if (const std::size_t at = in.find("Content-Length: "); at < head)
      std::from_chars(in.data() + at + 16, in.data() + head, length);
    return in.size() >= head + 4 + length ? head + 4 + length : 0;
  }
  void read(const std::shared_ptr<Session>& session) {
    session->socket.async_read_some(
        boost::asio::buffer(session->buffer), [this, session](auto failed, std::size_t n) {
          if (failed) return;
          session->in.append(session->buffer, n);
          const std::size_t size = whole(session->in);
          if (size == 0) return read(session);
          requests.push_back(session->in.substr(0, size));
          session->in.erase(0, size);
          const Reply reply = handler_(requests.back());
          session->out = reply.bytes;
          boost::asio::async_write(session->socket, boost::asio::buffer(session->out),
                                   [this, session, then = reply.then](auto broken, std::size_t) {
                                     if (!broken) end(session, then);
                                   });
        });
  }
  void end(const std::shared_ptr<Session>& session, Then then) {
    boost::system::error_code ignored;
    if (then == Then::reset) session->socket.set_option(boost::asio::socket_base::linger(true, 0), ignored);
    if (then == Then::close || then == Then::reset)
      session->socket.close(ignored);
    else
      read(session);  // held too: until the client gives up
  }

  tcp::acceptor acceptor_;
  Handler handler_;
};

}  // namespace koord::test
