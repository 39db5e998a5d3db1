// SPDX-License-Identifier: Apache-2.0
//
// The parameters of the loader, which stand beside those of the data set that
// it loads (`data.train: {type: Digits, ..., batch_size: 64}`).
#pragma once

#include <memory>
#include <vector>

#include "worker/engine/data/loader.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<catalogue::Parameter> LoaderParameters();
// What they must fulfil together.
std::vector<catalogue::Rule> LoaderRules();
// `pad_batches` of the loader: "PadBatches", of kind "section".
catalogue::Component PadBatchesSection();

// The data set with the transforms that stand beside it.
std::shared_ptr<Dataset> WithTransforms(std::shared_ptr<Dataset> dataset,
                                        const Params& params);

// Reads them; seed, rank, world size and what training needs are the caller's.
LoaderOptions ReadLoaderOptions(const Params& params);

}  // namespace epochd::engine
