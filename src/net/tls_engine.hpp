// TlsEngine: one TLS connection as a machine from bytes to bytes; knows no socket.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "codec/openssl_ptr.hpp"
#include "koord/net/message.hpp"
#include "koord/net/tls.hpp"

namespace koord::net {

/// Many small writes become few records and leave in one system call, which Asio's ssl::stream,
/// encrypting one buffer a call, does not do.
class TlsEngine {
 public:
  /// Accepts or connects, as the context is a server's or a client's; keeps it alive.
  explicit TlsEngine(std::shared_ptr<const TlsContext> context);
  ~TlsEngine();
  TlsEngine(const TlsEngine&) = delete;
  TlsEngine& operator=(const TlsEngine&) = delete;

  /// One step; true when the connection is secured. Send output() in any case, an alert may be in it. A
  /// client begins with it; a server's may be left to decrypt().
  Result<bool> handshake();
  /// Takes bytes from the peer.
  void receive(std::string_view encrypted);
  /// Decrypts into `into`; less than `size` if more bytes are needed. Handshake messages are answered through
  /// output(). `ended` after the peer's close_notify. An error ends the connection (output() may hold an
  /// alert).
  Result<std::size_t> decrypt(char* into, std::size_t size, bool& ended);
  /// The same of all that has come, appended; false after the peer's close_notify.
  Result<bool> decrypt(std::string& plain);
  /// Encrypts; the bytes are in output() afterwards. Only after the handshake.
  Result<> send(std::string_view plain);
  void send_close();
  bool handshake_done() const;
  const TlsContext* context() const { return context_.get(); }

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
