// Owners of OpenSSL's objects, and its error queue as an Error.
#pragma once

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "koord/base/error.hpp"

namespace koord::net {

template <auto Free>
struct OpensslDeleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, OpensslDeleter<&BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, OpensslDeleter<&X509_free>>;
using PkeyPtr = std::unique_ptr<EVP_PKEY, OpensslDeleter<&EVP_PKEY_free>>;
using SslPtr = std::unique_ptr<SSL, OpensslDeleter<&SSL_free>>;
using StorePtr = std::unique_ptr<X509_STORE, OpensslDeleter<&X509_STORE_free>>;
using StoreCtxPtr = std::unique_ptr<X509_STORE_CTX, OpensslDeleter<&X509_STORE_CTX_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, OpensslDeleter<&X509_EXTENSION_free>>;

/// Empties OpenSSL's error queue of this thread into a message.
inline Error openssl_error(Code code, std::string_view what) {
  const unsigned long first = ERR_peek_error();
  ERR_clear_error();
  const char* reason = first != 0 ? ERR_reason_error_string(first) : nullptr;
  return Error(code, reason != nullptr ? fmt::format("{}: {}", what, reason) : std::string(what));
}

}  // namespace koord::net
