// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/builtin.h"

#include <utility>

#include "worker/engine/data/builtin.h"
#include "worker/engine/data/builtin_preprocessor.h"
#include "worker/engine/data/builtin_samplers.h"
#include "worker/engine/data/builtin_views.h"
#include "worker/engine/data/image/builtin.h"
#include "worker/engine/data/points/builtin.h"
#include "worker/engine/data/signal/builtin.h"
#include "worker/engine/data/signal/synthetic_ecg.h"
#include "worker/engine/data/stage_files.h"
#include "worker/engine/data/table/builtin.h"
#include "worker/engine/loss/builtin.h"
#include "worker/engine/loss/builtin_balancers.h"
#include "worker/engine/loss/builtin_pde.h"
#include "worker/engine/metric/builtin.h"
#include "worker/engine/model/builtin.h"
#include "worker/engine/model/builtin_pinn.h"
#include "worker/engine/model/initializer.h"
#include "worker/engine/optim/builtin.h"
#include "worker/engine/optim/sequential.h"
#include "worker/engine/registry/config_sections.h"
#include "worker/engine/registry/ddp_section.h"
#include "worker/engine/registry/experiment_component.h"
#include "worker/engine/registry/loader_parameters.h"
#include "worker/engine/registry/loop_components.h"
#include "worker/engine/registry/model_parameters.h"
#include "worker/engine/schedule/builtin.h"

namespace epochd::engine {

void AddBuiltins(Registry& registry) {
  registry.Declare(ExperimentComponent());
  for (catalogue::Component& section : ConfigSections()) {
    registry.Declare(std::move(section));
  }
  registry.Declare(DdpSection());
  registry.Declare(PadBatchesSection());
  registry.Declare(WeightsSection());
  registry.Add(BuiltinInitializers());
  registry.Add(BuiltinModels());
  registry.Add(BuiltinPinnModels());
  registry.Add(BuiltinDatasets());
  registry.Add(BuiltinViews());
  registry.Add(BuiltinImageDatasets());
  registry.Add(BuiltinSamplers());
  registry.Add(BuiltinPreprocessors());
  registry.Add(BuiltinBatchAugments());
  registry.Add(BuiltinPointDatasets());
  registry.Add(BuiltinTransforms());
  registry.Add(BuiltinSignalDatasets());
  registry.Add(BuiltinTableDatasets());
  registry.Add(BuiltinSignalTransforms());
  registry.Add(BuiltinImageTransforms());
  registry.Add(BuiltinDataModules());
  registry.Add(BuiltinSignalDataModules());
  registry.Add(BuiltinLosses());
  registry.Add(BuiltinPdeLosses());
  registry.Add(BuiltinLossBalancers());
  registry.Add(BuiltinMetrics());
  for (const OptimizerEntry& entry : BuiltinOptimizers()) {
    registry.AddOne<Optimizer>(entry.component, [entry](const Params& params) {
      auto optimizer = params.Wrapped(
          MakeOptimizer(entry, params, params.OptimizerTargets()));
      optimizer->set_type(entry.component.name);
      return optimizer;
    });
  }
  registry.AddOne<Optimizer>(SequentialOptimizerComponent(),
                             &MakeSequentialOptimizer);
  registry.Add(BuiltinSchedulers());
  registry.Add(BuiltinRunners());
  registry.Add(BuiltinValidationRunners());
  registry.Add(BuiltinPredictionRunners());
  for (catalogue::Component& trainer : TrainerComponents()) {
    registry.Declare(std::move(trainer));
  }
}

}  // namespace epochd::engine
