// SPDX-License-Identifier: Apache-2.0
//
// What job files may say of each built-in scheduler, without what all take
// (schedule/options.h). Names are torch's and MMEngine's. Pure functions, any
// thread.
#pragma once

#include "catalogue/catalogue.h"

namespace epochd::engine::scheduler_declarations {

catalogue::Component StepComponent();
catalogue::Component MultiStepComponent();
catalogue::Component ExponentialComponent();
catalogue::Component ConstantComponent();
catalogue::Component LinearComponent();
catalogue::Component CosineAnnealingComponent();
catalogue::Component PolyComponent();
catalogue::Component CosineRestartComponent();
catalogue::Component WarmRestartsComponent();
catalogue::Component OneCycleComponent();
catalogue::Component CyclicComponent();
catalogue::Component PiecewiseComponent();
catalogue::Component SwaComponent();
catalogue::Component PlateauComponent();
catalogue::Component WarmupComponent();
catalogue::Component SequentialComponent();
catalogue::Component ChainedComponent();

}  // namespace epochd::engine::scheduler_declarations
