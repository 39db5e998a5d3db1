// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/checkpoint/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace epochd::engine {

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  if (EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("sha256: not offered by libcrypto");
  }
}

Sha256::~Sha256() = default;

void Sha256::Update(const void* data, size_t size) {
  EVP_DigestUpdate(impl_->context, data, size);
}

std::string Sha256::Finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  EVP_DigestFinal_ex(impl_->context, digest.data(), &size);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 15];
  }
  return hex;
}

}  // namespace epochd::engine
