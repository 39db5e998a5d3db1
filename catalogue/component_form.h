// SPDX-License-Identifier: Apache-2.0
//
// The ways to write a component:
//
//   {type: SGD, lr: 0.1}                              ours, MMEngine's
//   {_target: torch.optim.SGD, params: {lr: 0.1}}     SR-Forge's
//   {_target_: torch.optim.SGD, lr: 0.1}              Hydra's
//
// Hydra's `_partial_`, `_recursive_` and `_convert_` may stand beside and
// change nothing: what is built later is known here anyway. Views into the
// value; stateless.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "catalogue/catalogue.h"

namespace epochd::catalogue {

struct Form {
  // The key that names the component.
  std::string_view key;
  // A second such key, which is a fault; empty: there is none.
  std::string_view second_key;
  // What stands at `key`: text, unless it is a fault.
  const Json* name = nullptr;
  // The mapping with the parameters: the value itself, or what stands at
  // `params`; nullptr: `params` is no mapping.
  const Json* parameters = nullptr;

  // The name, "" where it is no text.
  std::string Name() const;
  // Parameters stand below `params`.
  bool IsNested() const { return key == "_target"; }
  // Tells whether a key of `parameters` belongs to the form.
  bool IsOwnKey(std::string_view other) const;
};

// Nothing: no key names a component.
std::optional<Form> ReadForm(const Json& value);

}  // namespace epochd::catalogue
