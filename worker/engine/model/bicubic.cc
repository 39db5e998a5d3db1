// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/model/bicubic.h"

#include <ATen/ATen.h>

#include <memory>
#include <utility>

#include "worker/engine/model/declarations.h"

namespace epochd::engine {
namespace {

class BicubicModel : public Model {
 public:
  BicubicModel(ModelFields fields, int64_t upscale)
      : fields_(std::move(fields)), upscale_(upscale) {}

  Batch Forward(const Batch& batch) override {
    const at::Tensor& images = batch.At(fields_.input);
    // The kernel that is made for shrinking too has Pillow's a; the other one
    // is OpenCV's, -0.75.
    const at::Tensor enlarged = at::_upsample_bicubic2d_aa(
        images, {images.size(2) * upscale_, images.size(3) * upscale_},
        /*align_corners=*/false);
    return {{fields_.output, enlarged.clamp(0, 1)}};
  }
  std::vector<NamedTensor> Parameters() const override { return {}; }
  std::vector<NamedTensor> Buffers() const override { return {}; }
  void SetTraining(bool) override {}
  void To(c10::Device) override {}

 private:
  const ModelFields fields_;
  const int64_t upscale_;
};

}  // namespace

Entry<Model> BicubicEntry() {
  return {{.kind = "model",
           .name = "Bicubic",
           .aliases = {"bicubic"},
           .help = "enlarges images as Pillow does; has no parameters, so it "
                   "is only measured",
           .parameters = WithFields(
               {CountWithAliases("upscale", 2, "how much larger", {"scale"})})},
          [](const Params& params) -> std::shared_ptr<Model> {
            return std::make_shared<BicubicModel>(FieldsFrom(params),
                                                  params.Int("upscale"));
          }};
}

}  // namespace epochd::engine
