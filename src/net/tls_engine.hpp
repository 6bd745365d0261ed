// TlsEngine: one TLS connection as a machine from bytes to bytes; knows no socket.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "koord/net/message.hpp"
#include "koord/net/tls.hpp"
#include "openssl_ptr.hpp"

namespace koord::net {

/// Many small writes become few records and leave in one system call, which Asio's ssl::stream,
/// encrypting one buffer a call, does not do.
class TlsEngine {
 public:
  /// Accepts (a server's side). Keeps the context alive.
  explicit TlsEngine(std::shared_ptr<const TlsContext> context);

  /// Takes bytes from the peer and appends what they decrypt to, to `plain`. Handshake messages are
  /// answered through output(). False after the peer's close_notify. An error ends the connection
  /// (output() may hold an alert).
  Result<bool> receive(std::string_view encrypted, std::string& plain);
  /// Encrypts; the bytes are in output() afterwards. Only after the handshake.
  Result<void> send(std::string_view plain);
  void send_close();
  bool handshake_done() const;

  /// What has to go to the peer; valid until the next call.
  std::string_view output() const;
  void clear_output();

  /// The client's certificate, if one was presented and verified.
  void describe_peer(Peer& peer) const;

 private:
  std::shared_ptr<const TlsContext> context_;
  SslPtr ssl_;
  BIO* in_;   // owned by ssl_
  BIO* out_;  // owned by ssl_
};

}  // namespace koord::net
