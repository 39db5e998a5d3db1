// SPDX-License-Identifier: Apache-2.0
#include "net/tls.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace epochd::net {
namespace {

struct Free {
  void operator()(BIO* bio) const { ::BIO_free(bio); }
  void operator()(X509* certificate) const { ::X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { ::EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

absl::StatusOr<Owned<BIO>> Open(const std::string& path) {
  Owned<BIO> bio(::BIO_new_file(path.c_str(), "r"));
  if (!bio) {
    return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open"));
  }
  return bio;
}

absl::StatusOr<Owned<X509>> ReadCertificate(const std::string& path) {
  auto bio = Open(path);
  if (!bio.ok()) return bio.status();
  Owned<X509> certificate(
      ::PEM_read_bio_X509(bio->get(), nullptr, nullptr, nullptr));
  if (!certificate) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no certificate in PEM form"));
  }
  if (::X509_cmp_current_time(::X509_get0_notAfter(certificate.get())) < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": the certificate has expired"));
  }
  return certificate;
}

absl::StatusOr<Owned<EVP_PKEY>> ReadKey(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && (info.st_mode & S_IRWXO) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": others can read the private key, run chmod 600"));
  }
  auto bio = Open(path);
  if (!bio.ok()) return bio.status();
  // An empty password: asking for one on the terminal would hang a service.
  char no_password[] = "";
  Owned<EVP_PKEY> key(
      ::PEM_read_bio_PrivateKey(bio->get(), nullptr, nullptr, no_password));
  if (!key) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no private key in PEM form without password"));
  }
  return key;
}

}  // namespace

absl::Status CheckTlsFiles(const TlsFiles& files) {
  if (files.cert.empty() != files.key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls: certificate '", files.cert, "' and key '", files.key,
                     "' belong together, give both"));
  }
  if (!files.cert.empty()) {
    auto certificate = ReadCertificate(files.cert);
    if (!certificate.ok()) return certificate.status();
    auto key = ReadKey(files.key);
    if (!key.ok()) return key.status();
    if (::X509_check_private_key(certificate->get(), key->get()) != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          files.key, ": is not the key of certificate '", files.cert, "'"));
    }
  }
  if (files.ca.empty()) return absl::OkStatus();
  return ReadCertificate(files.ca).status();
}

}  // namespace epochd::net
