// TlsEngine: OpenSSL over two memory buffers.
#include "tls_engine.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

namespace koord::net {

TlsEngine::TlsEngine(std::shared_ptr<const TlsContext> context)
    : context_(std::move(context)),
      ssl_(SSL_new(context_->native())),
      in_(BIO_new(BIO_s_mem())),
      out_(BIO_new(BIO_s_mem())) {
  BIO_set_mem_eof_return(in_, -1);
  BIO_set_mem_eof_return(out_, -1);
  SSL_set_bio(ssl_.get(), in_, out_);
  if (context_->is_server()) {
    SSL_set_accept_state(ssl_.get());
    return;
  }
  SSL_set_connect_state(ssl_.get());
  if (SSL_SESSION* session = context_->session()) SSL_set_session(ssl_.get(), session);
  const std::string& name = context_->server_name();
  boost::system::error_code not_numeric;
  boost::asio::ip::make_address(name, not_numeric);
  if (not_numeric) {
    SSL_set_tlsext_host_name(ssl_.get(), name.c_str());
    SSL_set1_host(ssl_.get(), name.c_str());
  } else {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), name.c_str());
  }
}

TlsEngine::~TlsEngine() {
  // Without this OpenSSL takes the connection for broken, and its session for unfit to be resumed.
  SSL_set_quiet_shutdown(ssl_.get(), 1);
  send_close();
}

Result<bool> TlsEngine::handshake() {
  ERR_clear_error();
  const int status = SSL_do_handshake(ssl_.get());
  if (status == 1) return true;
  if (SSL_get_error(ssl_.get(), status) == SSL_ERROR_WANT_READ) return false;
  const long verified = SSL_get_verify_result(ssl_.get());
  if (context_->is_server() || verified == X509_V_OK || SSL_get_verify_mode(ssl_.get()) == SSL_VERIFY_NONE)
    return openssl_error(Code::unavailable, "TLS");
  ERR_clear_error();
  return Error(Code::unavailable,
               fmt::format("TLS: the server's certificate is not accepted for {}: {}",
                           context_->server_name(), X509_verify_cert_error_string(verified)));
}

void TlsEngine::receive(std::string_view encrypted) {
  BIO_write(in_, encrypted.data(), static_cast<int>(encrypted.size()));
}

Result<std::size_t> TlsEngine::decrypt(char* into, std::size_t size, bool& ended) {
  ERR_clear_error();
  std::size_t got = 0;
  while (got < size) {
    const int n = SSL_read(ssl_.get(), into + got, static_cast<int>(size - got));
    if (n > 0) {
      got += static_cast<std::size_t>(n);
      continue;
    }
    const int error = SSL_get_error(ssl_.get(), n);
    if (error == SSL_ERROR_WANT_READ) {
      // A client's connections wait more than they read. A ticket leaves a buffer behind that only the next
      // write would give back, and who watches writes nothing more.
      if (!context_->is_server()) SSL_free_buffers(ssl_.get());
      break;
    }
    if (error == SSL_ERROR_ZERO_RETURN) {
      ended = true;
      break;
    }
    if (got > 0) break;  // hand over what is good; the error comes again
    return openssl_error(Code::unavailable, "TLS");
  }
  return got;
}

Result<bool> TlsEngine::decrypt(std::string& plain) {
  static constexpr std::size_t kRecord = std::size_t{16} * 1024;
  for (bool ended = false;;) {
    const std::size_t before = plain.size();
    // A record is at most 16 KiB; most are small, and what is decrypted cannot exceed what came.
    const std::size_t room = std::min(kRecord, std::max<std::size_t>(BIO_ctrl_pending(in_), 512) +
                                                   static_cast<std::size_t>(SSL_pending(ssl_.get())));
    plain.resize(before + room);
    const Result<std::size_t> n = decrypt(plain.data() + before, room, ended);
    plain.resize(before + (n ? *n : 0));
    if (!n) return n.error();
    if (ended || *n == 0) return !ended;
  }
}

Result<> TlsEngine::send(std::string_view plain) {
  ERR_clear_error();
  while (!plain.empty()) {
    const int n =
        SSL_write(ssl_.get(), plain.data(), static_cast<int>(std::min<std::size_t>(plain.size(), 1 << 20)));
    if (n <= 0) return openssl_error(Code::unavailable, "TLS");
    plain.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

void TlsEngine::send_close() {
  if (handshake_done()) SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

bool TlsEngine::handshake_done() const { return SSL_is_init_finished(ssl_.get()) == 1; }

std::string_view TlsEngine::output() const {
  char* data = nullptr;
  const long size = BIO_get_mem_data(out_, &data);
  return {data, static_cast<std::size_t>(std::max(size, 0L))};
}

void TlsEngine::clear_output() { (void)BIO_reset(out_); }

void TlsEngine::describe_peer(Peer& peer) const {
  X509Ptr certificate(SSL_get1_peer_certificate(ssl_.get()));
  if (!certificate) return;
  peer.certificate_given = true;
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl_.get());
  peer.certificate_verified = context_->is_client(certificate.get(), chain);
  peer.proxy_verified = context_->is_proxy(certificate.get(), chain);
  if (!peer.certificate_verified && !peer.proxy_verified) return;
  X509_NAME* name = X509_get_subject_name(certificate.get());
  auto text = [&](int index) {
    unsigned char* utf8 = nullptr;
    const int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)));
    std::string out =
        size > 0 ? std::string(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size)) : "";
    OPENSSL_free(utf8);
    return out;
  };
  if (int i = X509_NAME_get_index_by_NID(name, NID_commonName, -1); i >= 0) peer.common_name = text(i);
  for (int i = -1; (i = X509_NAME_get_index_by_NID(name, NID_organizationName, i)) >= 0;)
    peer.organizations.push_back(text(i));
}

}  // namespace koord::net
