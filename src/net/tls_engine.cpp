// TlsEngine: OpenSSL over two memory buffers.
#include "tls_engine.hpp"

namespace koord::net {

TlsEngine::TlsEngine(std::shared_ptr<const TlsContext> context)
    : context_(std::move(context)),
      ssl_(SSL_new(context_->native())),
      in_(BIO_new(BIO_s_mem())),
      out_(BIO_new(BIO_s_mem())) {
  BIO_set_mem_eof_return(in_, -1);
  BIO_set_mem_eof_return(out_, -1);
  SSL_set_bio(ssl_.get(), in_, out_);
  SSL_set_accept_state(ssl_.get());
}

Result<bool> TlsEngine::receive(std::string_view encrypted, std::string& plain) {
  ERR_clear_error();
  if (!encrypted.empty() && BIO_write(in_, encrypted.data(), static_cast<int>(encrypted.size())) !=
                                static_cast<int>(encrypted.size()))
    return Error(Code::internal, "TLS: out of memory");
  static constexpr std::size_t kRecord = std::size_t{16} * 1024;
  while (true) {
    const std::size_t before = plain.size();
    // A record is at most 16 KiB; most are small, and what is decrypted cannot exceed what came.
    const std::size_t room = std::min(kRecord, std::max<std::size_t>(BIO_ctrl_pending(in_), 512) +
                                                   static_cast<std::size_t>(SSL_pending(ssl_.get())));
    plain.resize(before + room);
    const int n = SSL_read(ssl_.get(), plain.data() + before, static_cast<int>(room));
    plain.resize(before + static_cast<std::size_t>(std::max(n, 0)));
    if (n > 0) continue;
    switch (SSL_get_error(ssl_.get(), n)) {
      case SSL_ERROR_WANT_READ: return true;
      case SSL_ERROR_ZERO_RETURN: return false;
      default: return openssl_error(Code::unavailable, "TLS");
    }
  }
}

Result<void> TlsEngine::send(std::string_view plain) {
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
