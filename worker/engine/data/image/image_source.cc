// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/image_source.h"

#include <ATen/ATen.h>

namespace epochd::engine {

ImageInfo ImageSource::Info(int64_t i) const {
  return InspectImage(ReadImageFile(files_[i]).view(), files_[i], options_);
}

at::Tensor ImageSource::Decode(int64_t i, const FileContent& content) const {
  at::Tensor image = DecodeImage(content.view(), files_[i], options_);
  cache_->Put(first_slot_ + i, image);
  return image;
}

at::Tensor ImageSource::Whole(int64_t i) const {
  at::Tensor image = cache_->Find(first_slot_ + i);
  return image.defined() ? image : Decode(i, ReadImageFile(files_[i]));
}

at::Tensor ImageSource::Cut(int64_t i, const Chooser& choose) const {
  at::Tensor image = cache_->Find(first_slot_ + i);
  if (!image.defined()) {
    const FileContent content = ReadImageFile(files_[i]);
    const ImageInfo info = InspectImage(content.view(), files_[i], options_);
    if (!cache_->HasRoom(info.channels * info.height * info.width)) {
      return DecodeWindow(content.view(), files_[i], choose(info), options_);
    }
    image = Decode(i, content);
  }
  const Window window = choose({image.size(1), image.size(2), image.size(0)});
  return image.slice(1, window.top, window.top + window.height)
      .slice(2, window.left, window.left + window.width);
}

}  // namespace epochd::engine
