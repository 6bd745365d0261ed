// Certificates made in memory (ECDSA P-256), and files that are read again when they change.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::net {

struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;  // PKCS#8
};

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations = {};
  std::vector<std::string> dns_names = {};
  std::vector<std::string> ip_addresses = {};  // "127.0.0.1", "::1"
  bool server = true;                          // extended key usage: server, else client authentication
  std::chrono::hours valid_for{24 * 365};
};

/// A self-signed CA, valid from an hour before `now`.
Result<KeyPair> make_ca(const std::string& common_name, WallTime now,
                        std::chrono::hours valid_for = std::chrono::hours{24 * 3650});
Result<KeyPair> issue_certificate(const KeyPair& ca, const CertificateRequest& request, WallTime now);
/// A certificate without a CA of its own, as upstream's servers make it when none is given.
Result<KeyPair> make_self_signed(const CertificateRequest& request, WallTime now);

/// The certificate and key that are kept as FOLDER/NAME.crt and FOLDER/NAME.key: what is there is used, where
/// neither is they are made (folder included, the key readable by its owner only). One without the other is
/// an error.
Result<class CertificateFiles> kept_certificate(const std::string& folder, const std::string& name,
                                                const CertificateRequest& request, WallTime now);

/// A certificate and its key in two files. Errors name the file.
class CertificateFiles {
 public:
  CertificateFiles(std::string certificate_path, std::string key_path);
  Result<KeyPair> load();
  /// The new pair if the contents have changed since the last successful load() or reload(), nothing
  /// if not. Reads the files: call it every few seconds, off the event loop if the disk may be slow.
  Result<std::optional<KeyPair>> reload();

 private:
  std::string certificate_path_, key_path_;
  KeyPair last_;
};

}  // namespace koord::net
