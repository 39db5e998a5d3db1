// SPDX-License-Identifier: Apache-2.0
//
// ImageFields: the fields of a sample that an image transform changes alike:
// one image, or several of the same scene at whole-number scales, such as the
// `input` and `target` of super-resolution. Pixels in a transform's parameters
// are those of the smallest field; a larger one has `scale` for each.
//
// Whole numbers but bytes, and bool, are labels, such as a class for each
// pixel: [H, W], or [C, H, W]. They are never mixed, whatever a transform says
// of interpolation, and outside of the image they have a value of their own.
// Immutable.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/core/batch.h"

namespace epochd::engine {

class ImageFields {
 public:
  ImageFields(const char* name) : names_{name} {}             // NOLINT
  ImageFields(std::string name) : names_{std::move(name)} {}  // NOLINT
  ImageFields(std::vector<std::string> names,                 // NOLINT
              double label_fill = 0)
      : names_(std::move(names)), label_fill_(label_fill) {}

  struct View {
    const std::string* name;
    at::Tensor image;  // [C, scale * height, scale * width]
    int64_t scale;
    bool is_plane = false;  // [H, W] in the sample
  };
  struct Views {
    int64_t height = 0;
    int64_t width = 0;
    std::vector<View> fields;
  };
  static bool IsLabels(const at::Tensor& image);
  // What is outside of `image`: `fill`, or the value of labels.
  double FillOf(const at::Tensor& image, double fill) const;
  std::vector<double> FillOf(const at::Tensor& image,
                             const std::vector<double>& fill) const;
  // Throws Error(kBadSpec) naming `transform` and a field that is missing, no
  // [C, H, W], or of a size that is no multiple of the smallest.
  Views Read(const Batch& sample, const char* transform) const;

  // Puts change(image, scale) in the place of each image.
  template <class Change>
  static void Replace(const Views& views, Batch& sample, Change change) {
    for (const View& view : views.fields) {
      const at::Tensor changed = change(view.image, view.scale);
      sample.Set(*view.name, view.is_plane ? changed.squeeze(0) : changed);
    }
  }

 private:
  std::vector<std::string> names_;
  double label_fill_ = 0;
};

}  // namespace epochd::engine
