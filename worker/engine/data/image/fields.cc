// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/fields.h"

#include <ATen/ATen.h>

#include <sstream>

#include "worker/engine/core/error.h"

namespace epochd::engine {

bool ImageFields::IsLabels(const at::Tensor& image) {
  return image.scalar_type() != at::kByte &&
         at::isIntegralType(image.scalar_type(), /*includeBool=*/true);
}

double ImageFields::FillOf(const at::Tensor& image, double fill) const {
  if (!IsLabels(image)) return fill;
  return image.scalar_type() == at::kBool ? 0 : label_fill_;
}

std::vector<double> ImageFields::FillOf(const at::Tensor& image,
                                        const std::vector<double>& fill) const {
  if (!IsLabels(image)) return fill;
  return {FillOf(image, 0.0)};
}

ImageFields::Views ImageFields::Read(const Batch& sample,
                                     const char* transform) const {
  Views views;
  const auto refuse = [&](const std::string& name, const at::Tensor& image,
                          const std::string& needed) {
    std::ostringstream message;
    message << transform << " on field \"" << name << "\": has shape "
            << image.sizes() << "; " << needed << " is needed";
    throw Error(ErrorKind::kBadSpec, message.str());
  };
  for (const std::string& name : names_) {
    at::Tensor image = sample.At(name);
    const bool is_plane = image.dim() == 2 && IsLabels(image);
    if (is_plane) image = image.unsqueeze(0);
    if (image.dim() != 3 || image.numel() == 0) {
      refuse(name, image, "an image [channels, height, width]");
    }
    if (views.fields.empty() || image.size(1) < views.height) {
      views.height = image.size(1);
      views.width = image.size(2);
    }
    views.fields.push_back({&name, image, 1, is_plane});
  }
  for (View& view : views.fields) {
    view.scale = view.image.size(1) / views.height;
    if (view.image.size(1) != view.scale * views.height ||
        view.image.size(2) != view.scale * views.width) {
      refuse(*view.name, view.image,
             "a multiple of " + std::to_string(views.height) + "x" +
                 std::to_string(views.width) + ", as the smallest field has,");
    }
  }
  return views;
}

}  // namespace epochd::engine
