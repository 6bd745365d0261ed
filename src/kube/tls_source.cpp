// Reading three small files costs microseconds, so it is done in place.
#include "tls_source.hpp"

#include "koord/base/file.hpp"
#include "koord/kube/config.hpp"

namespace koord::kube {

TlsSource::TlsSource(const ClientConfig& config, const std::string& host, Clock& clock)
    : clock_(&clock),
      ca_file_(config.ca_file),
      certificate_file_(config.client_cert_file),
      key_file_(config.client_key_file),
      settings_{.server_name = config.tls_server_name.empty() ? host : config.tls_server_name,
                .ca_pem = config.ca_pem,
                .pinned_pem = config.pinned_cert_pem,
                .skip_verify = config.insecure_skip_tls_verify,
                .certificate_pem = config.client_cert_pem,
                .key_pem = config.client_key_pem} {}

Result<> TlsSource::start() {
  KOORD_TRY(made, net::TlsContext::make_client(settings_));
  context_ = std::move(made);
  next_ = clock_->mono() + kPeriod;
  return {};
}

bool TlsSource::refresh() { return context_ && clock_->mono() >= next_ && reload(); }

bool TlsSource::reload() {
  if (!context_) return false;
  next_ = clock_->mono() + kPeriod;
  net::TlsClientSettings now = settings_;
  for (const auto& [file, text] : {std::pair{&ca_file_, &now.ca_pem},
                                   {&certificate_file_, &now.certificate_pem},
                                   {&key_file_, &now.key_pem}}) {
    if (file->empty()) continue;
    auto read = read_file(*file);
    if (!read) return false;
    *text = std::move(*read);
  }
  if (now.ca_pem == settings_.ca_pem && now.certificate_pem == settings_.certificate_pem &&
      now.key_pem == settings_.key_pem)
    return false;
  auto made = net::TlsContext::make_client(now);
  if (!made) return false;  // half of a pair has been written, perhaps
  settings_ = std::move(now);
  context_ = std::move(*made);
  return true;
}

}  // namespace koord::kube
