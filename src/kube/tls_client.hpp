// TlsContext and TlsClient: the client's side of TLS as a machine from bytes to bytes; knows no socket.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

struct ssl_ctx_st;
struct ssl_st;
struct ssl_session_st;
struct bio_st;
struct x509_st;

namespace koord::kube {

struct ClientConfig;

/// Verification, client certificate and ALPN; shared by the connections to one server. The event loop's
/// thread only: it also keeps the last session, so that further connections skip the certificates.
class TlsContext {
 public:
  /// `host`: of the URL, used where the config names no other server name.
  static Result<std::shared_ptr<const TlsContext>> make(const ClientConfig& config, const std::string& host);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ssl_ctx_st* native() const { return context_; }
  const std::string& server_name() const { return server_name_; }
  /// The server has given a ticket: a handshake now costs a tenth of the first one.
  bool resumable() const { return session_ != nullptr; }
  /// nullptr if there is none.
  ssl_session_st* session() const { return session_; }

 private:
  TlsContext() = default;
  static int keep_session(ssl_st* ssl, ssl_session_st* session);
  ssl_ctx_st* context_ = nullptr;
  ssl_session_st* session_ = nullptr;  // the newest; its certificate was verified by this context
  x509_st* pinned_ = nullptr;
  std::string server_name_;
};

/// What goes to the server is collected in output(); a request leaves in one write, unlike through
/// Asio's ssl::stream, and no coroutine frame is spent per record.
class TlsClient {
 public:
  explicit TlsClient(std::shared_ptr<const TlsContext> context);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  /// One step; true when the connection is secured. Send output() in any case, an alert may be in it.
  Result<bool> handshake();
  Result<> encrypt(std::string_view plain);
  void received(std::string_view encrypted);
  /// Decrypts into `out`; 0 if more bytes are needed. `ended` after the server's close_notify.
  Result<std::size_t> decrypt(char* out, std::size_t size, bool& ended);

  /// Valid until the next call.
  std::string_view output() const;
  void clear_output();

 private:
  std::shared_ptr<const TlsContext> context_;
  ssl_st* ssl_;
  bio_st* in_;   // owned by ssl_
  bio_st* out_;  // owned by ssl_
};

}  // namespace koord::kube
