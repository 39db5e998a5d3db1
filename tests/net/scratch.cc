// SPDX-License-Identifier: Apache-2.0
#include "tests/net/scratch.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace epochd::net {
namespace {

std::string Content(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string content(data, static_cast<size_t>(size));
  BIO_free(bio);
  return content;
}

void AddExtension(X509* certificate, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

ScratchDir::ScratchDir() : path_(::testing::TempDir() + "epochd_net.XXXXXX") {
  EXPECT_NE(::mkdtemp(path_.data()), nullptr);
}

ScratchDir::~ScratchDir() { std::filesystem::remove_all(path_); }

std::string ScratchDir::Path(const std::string& name) const {
  return path_ + "/" + name;
}

std::string ScratchDir::Write(const std::string& name,
                              const std::string& content, unsigned mode) const {
  const std::string path = Path(name);
  std::ofstream(path) << content;
  EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  return path;
}

TlsFiles MakeSelfSigned(const ScratchDir& dir, const std::string& name,
                        long seconds) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -86400);
  X509_gmtime_adj(X509_getm_notAfter(certificate), seconds);
  X509_set_pubkey(certificate, key);
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(
      subject, "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  X509_sign(certificate, key, EVP_sha256());

  BIO* certificate_pem = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_pem, certificate);
  BIO* key_pem = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(key_pem, key, nullptr, nullptr, 0, nullptr, nullptr);
  TlsFiles files;
  files.cert = dir.Write(name + ".crt", Content(certificate_pem), 0644);
  files.key = dir.Write(name + ".key", Content(key_pem), 0600);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return files;
}

}  // namespace epochd::net
