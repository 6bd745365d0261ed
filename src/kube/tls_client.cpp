// OpenSSL over two memory buffers.
#include "tls_client.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <utility>

#include "koord/kube/config.hpp"

namespace koord::kube {

namespace {

std::string last_reason() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return reason != nullptr ? reason : "unknown reason";
}

struct BioFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioFree>;
struct X509Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Certificate = std::unique_ptr<X509, X509Free>;

Bio memory(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// Encrypted keys are refused instead of asking at the terminal.
int no_password(char*, int, int, void*) { return -1; }

Result<> trust(SSL_CTX* context, const std::string& pem) {
  const Bio bio = memory(pem);
  int count = 0;
  for (;; ++count) {
    const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
    if (!certificate) break;
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get()) != 1)
      return Error(Code::invalid, "certificate authority: " + last_reason());
  }
  ERR_clear_error();
  if (count == 0) return Error(Code::invalid, "certificate authority: holds no certificate in PEM");
  return {};
}

Result<> present(SSL_CTX* context, const std::string& cert_pem, const std::string& key_pem) {
  const Bio bio = memory(cert_pem);
  const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
  if (!certificate || SSL_CTX_use_certificate(context, certificate.get()) != 1)
    return Error(Code::invalid, "client certificate: " + last_reason());
  while (X509* link = PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, link) != 1) {
      X509_free(link);
      return Error(Code::invalid, "client certificate's chain: " + last_reason());
    }
  }
  ERR_clear_error();
  const Bio key_bio = memory(key_pem);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_bio.get(), nullptr, no_password, nullptr);
  if (key == nullptr) return Error(Code::invalid, "client key: " + last_reason());
  const bool used = SSL_CTX_use_PrivateKey(context, key) == 1;
  EVP_PKEY_free(key);
  if (!used || SSL_CTX_check_private_key(context) != 1)
    return Error(Code::invalid, "client key does not belong to the client certificate: " + last_reason());
  return {};
}

/// `pinned`: the certificate that needs no other proof.
int verify(X509_STORE_CTX* chain, void* pinned) {
  X509* const leaf = X509_STORE_CTX_get0_cert(chain);
  if (leaf != nullptr && X509_cmp(leaf, static_cast<X509*>(pinned)) == 0) {
    X509_STORE_CTX_set_error(chain, X509_V_OK);
    return 1;
  }
  return X509_verify_cert(chain);
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const ClientConfig& config,
                                                           const std::string& host) {
  const std::shared_ptr<TlsContext> made(new TlsContext());
  made->server_name_ = config.tls_server_name.empty() ? host : config.tls_server_name;
  made->context_ = SSL_CTX_new(TLS_client_method());
  SSL_CTX* context = made->context_;
  if (context == nullptr) return Error(Code::internal, "TLS: " + last_reason());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  static constexpr unsigned char kProtocols[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context, kProtocols, sizeof(kProtocols) - 1);
  SSL_CTX_set_app_data(context, made.get());
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, keep_session);
  SSL_CTX_set_verify(context, config.insecure_skip_tls_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (!config.insecure_skip_tls_verify) {
    if (config.ca_pem.empty())
      SSL_CTX_set_default_verify_paths(context);
    else
      KOORD_CHECK(trust(context, config.ca_pem));
  }
  if (!config.pinned_cert_pem.empty()) {
    const Bio bio = memory(config.pinned_cert_pem);
    made->pinned_ = PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr);
    if (made->pinned_ == nullptr) return Error(Code::invalid, "pinned certificate: " + last_reason());
    SSL_CTX_set_cert_verify_callback(context, verify, made->pinned_);
  }
  if (!config.client_cert_pem.empty())
    KOORD_CHECK(present(context, config.client_cert_pem, config.client_key_pem));
  return std::shared_ptr<const TlsContext>(made);
}

TlsContext::~TlsContext() {
  SSL_SESSION_free(session_);
  SSL_CTX_free(context_);
  X509_free(pinned_);
}

int TlsContext::keep_session(SSL* ssl, SSL_SESSION* session) {
  auto* self = static_cast<TlsContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  SSL_SESSION_free(std::exchange(self->session_, session));
  return 1;  // it is ours now
}

TlsClient::TlsClient(std::shared_ptr<const TlsContext> context)
    : context_(std::move(context)),
      ssl_(SSL_new(context_->native())),
      in_(BIO_new(BIO_s_mem())),
      out_(BIO_new(BIO_s_mem())) {
  BIO_set_mem_eof_return(in_, -1);
  BIO_set_mem_eof_return(out_, -1);
  SSL_set_bio(ssl_, in_, out_);
  SSL_set_connect_state(ssl_);
  if (SSL_SESSION* session = context_->session()) SSL_set_session(ssl_, session);
  const std::string& name = context_->server_name();
  boost::system::error_code not_numeric;
  boost::asio::ip::make_address(name, not_numeric);
  if (not_numeric) {
    SSL_set_tlsext_host_name(ssl_, name.c_str());
    SSL_set1_host(ssl_, name.c_str());
  } else {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), name.c_str());
  }
}

TlsClient::~TlsClient() {
  // Without this OpenSSL takes the connection for broken, and its session for unfit to be resumed.
  SSL_set_quiet_shutdown(ssl_, 1);
  if (SSL_is_init_finished(ssl_)) SSL_shutdown(ssl_);
  SSL_free(ssl_);
}

Result<bool> TlsClient::handshake() {
  ERR_clear_error();
  const int status = SSL_do_handshake(ssl_);
  if (status == 1) return true;
  if (SSL_get_error(ssl_, status) == SSL_ERROR_WANT_READ) return false;
  const long verified = SSL_get_verify_result(ssl_);
  std::string reason = last_reason();
  if (verified != X509_V_OK && SSL_get_verify_mode(ssl_) != SSL_VERIFY_NONE)
    reason = "the server's certificate is not accepted for " + context_->server_name() + ": " +
             X509_verify_cert_error_string(verified);
  return Error(Code::unavailable, "TLS: " + reason);
}

Result<> TlsClient::encrypt(std::string_view plain) {
  ERR_clear_error();
  while (!plain.empty()) {
    const int n =
        SSL_write(ssl_, plain.data(), static_cast<int>(std::min<std::size_t>(plain.size(), 1 << 20)));
    if (n <= 0) return Error(Code::unavailable, "TLS: " + last_reason());
    plain.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

void TlsClient::received(std::string_view encrypted) {
  BIO_write(in_, encrypted.data(), static_cast<int>(encrypted.size()));
}

Result<std::size_t> TlsClient::decrypt(char* out, std::size_t size, bool& ended) {
  ERR_clear_error();
  std::size_t got = 0;
  while (got < size) {
    const int n = SSL_read(ssl_, out + got, static_cast<int>(size - got));
    if (n > 0) {
      got += static_cast<std::size_t>(n);
      continue;
    }
    const int error = SSL_get_error(ssl_, n);
    if (error == SSL_ERROR_WANT_READ) break;
    if (error == SSL_ERROR_ZERO_RETURN) {
      ended = true;
      break;
    }
    if (got > 0) break;  // hand over what is good; the error comes again
    return Error(Code::unavailable, "TLS: " + last_reason());
  }
  return got;
}

std::string_view TlsClient::output() const {
  char* data = nullptr;
  const long size = BIO_get_mem_data(out_, &data);
  return {data, static_cast<std::size_t>(std::max(size, 0L))};
}

void TlsClient::clear_output() { (void)BIO_reset(out_); }

}  // namespace koord::kube
