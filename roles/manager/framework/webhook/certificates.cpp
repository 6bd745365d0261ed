// Certificates are checked by net; here is when they are renewed, and how a folder of files changes at once.
#include "framework/webhook/certificates.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "koord/base/file.hpp"

namespace koord::manager {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kData = "..data";

Error failed(const std::string& path, const std::error_code& why) { return errno_error(why.value(), path); }

/// A link of that name that leads to `target`, whatever was there.
Result<> link(const std::string& path, const std::string& target) {
  std::error_code error;
  if (fs::is_symlink(path, error) && fs::read_symlink(path, error) == target) return {};
  const std::string fresh = fmt::format("{}.new", path);
  fs::remove(fresh, error);
  fs::create_symlink(target, fresh, error);
  if (error) return failed(fresh, error);
  fs::rename(fresh, path, error);
  if (error) return failed(path, error);
  return {};
}

/// Writes the files into `fresh`, to which `data` leads from then on.
Result<> fill(const std::string& fresh, Certificates certificates, const std::string& data) {
  for (const CertificateName& each : kCertificateNames)
    KOORD_CHECK(
        replace_file(fmt::format("{}/{}", fresh, each.name), part_of(certificates, each), {.mode = 0600}));
  return link(data, fs::path(fresh).filename());
}

}  // namespace

Certificates certificates_of(const std::array<std::string, kCertificateNames.size()>& texts) {
  Certificates made;
  for (std::size_t i = 0; i < texts.size(); ++i) part_of(made, kCertificateNames[i]) = texts[i];
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (std::string& part = part_of(made, kCertificateNames[i]); part != texts[i]) part.clear();
  return made;
}

Result<> check_certificates(const Certificates& certificates, const std::string& name, WallTime at) {
  return net::check_server_certificate(certificates.server, certificates.ca.certificate_pem, name, at);
}

Result<> check_lasting(const Certificates& certificates, const std::string& name, WallTime now) {
  KOORD_CHECK(check_certificates(certificates, name, now));
  return check_certificates(certificates, name, now + kServerLeft);
}

bool is_new_ca(const net::KeyPair& ca, WallTime now) {
  constexpr std::chrono::hours kBefore{1};  // what it is made, it is good from then on
  const auto good = [&](WallTime at) {
    return net::check_server_certificate(ca, ca.certificate_pem, "", at).has_value();
  };
  return good(now) && !good(now - kBefore - kCaOverlap);
}

Result<Certificates> renew_certificates(const Certificates& old, const std::string& name, WallTime now) {
  Certificates made;
  made.ca = old.ca;
  const auto good = [&](WallTime at) {
    return net::check_server_certificate(old.ca, old.ca.certificate_pem, "", at).has_value();
  };
  if (!good(now) || !good(now + kCaLeft)) {
    KOORD_TRY(ca, net::make_ca("webhook-cert-ca", now, kCaLife, net::KeyKind::rsa_2048));
    made.ca = std::move(ca);
  }
  net::CertificateRequest request;
  request.common_name = name;
  request.dns_names = {"localhost"};
  request.valid_for = kServerLife;
  request.key = net::KeyKind::rsa_2048;
  const bool address =
      name.find_first_not_of("0123456789.") == std::string::npos || name.find(':') != std::string::npos;
  (address ? request.ip_addresses : request.dns_names).push_back(name);
  KOORD_TRY(server, net::issue_certificate(made.ca, request, now));
  made.server = std::move(server);
  return made;
}

Result<Certificates> read_certificates(const std::string& folder) {
  std::array<std::string, kCertificateNames.size()> texts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto text = read_file(fmt::format("{}/{}", folder, kCertificateNames[i].name), std::size_t{64} << 10);
    if (!text && text.error().code() != Code::not_found) return std::move(text).error();
    if (text) texts[i] = std::move(*text);
  }
  return certificates_of(texts);
}

Result<> write_certificates(const std::string& folder, const Certificates& certificates) {
  if (const auto there = read_certificates(folder); there && *there == certificates) return {};
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return failed(folder, error);
  std::string fresh = fmt::format("{}/..XXXXXX", folder);
  if (::mkdtemp(fresh.data()) == nullptr) return errno_error(errno, fresh);
  const std::string data = fmt::format("{}/{}", folder, kData);
  const fs::path before = fs::read_symlink(data, error);
  if (Result<> filled = fill(fresh, certificates, data); !filled) {
    fs::remove_all(fresh, error);  // a disk that is full stays so for many passes
    return filled;
  }
  if (!before.empty() && !before.has_parent_path()) fs::remove_all(fs::path(folder) / before, error);
  for (const CertificateName& each : kCertificateNames)
    KOORD_CHECK(link(fmt::format("{}/{}", folder, each.name), fmt::format("{}/{}", kData, each.name)));
  return {};
}

}  // namespace koord::manager
