// PEM into OpenSSL's objects, and those into a context.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "openssl_ptr.hpp"

namespace koord::net {

/// Every certificate of the bundle, in order; one at least. `what` begins the error.
Result<std::vector<X509Ptr>> read_certificates(const std::string& pem, std::string_view what);
/// An encrypted key is an error: nobody is asked for a password.
Result<PkeyPtr> read_key(const std::string& pem, std::string_view what);
/// The chain, leaf first, and its key: what this side shows. `whose` begins the errors: "", "client ".
Result<> present(SSL_CTX* context, const std::string& certificate_pem, const std::string& key_pem,
                 std::string_view whose);

}  // namespace koord::net
