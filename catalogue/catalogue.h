// SPDX-License-Identifier: Apache-2.0
//
// The component catalogue: what a job file may name. Every component (model,
// data set, loss, hook, ...) declares its parameters once, where it is built
// (worker/engine); `epochd-trainer --catalogue` prints the whole as JSON;
// coordinator, client and trainer check an experiment against it with
// Validate(). None of them knows a component by name.
//
// Plain values; no state, no threads. Depends on the standard library and
// nlohmann-json only, so that the engine may use it.
//
//   {"version": 1, "components": [
//     {"kind": "model", "name": "MLP", "aliases": ["mlp"], "help": "...",
//      "max_replicas": 1,            // absent: no limit
//      "parameters": [
//        {"name": "in_features", "type": "int", "required": true, "min": 1,
//         "help": "..."},
//        {"name": "hidden", "type": "list<int>", "default": [], ...}]}]}
//
// Limits of an experiment: 64 levels, 10,000 values.
//
// Types: bool, int, float, string, path, duration (`90s`, `10m`, `2h`), size
// (`512MiB`), every (`1 epoch`, `100 steps`, `10m`), score (the name of a
// metric, such as val/accuracy), any, map, list<T>, map<T>, section<Name> (a
// mapping whose keys are the parameters of the component of kind "section"
// with that name), and component<kind> (a mapping in one of the forms of
// component_form.h, or a `${ref:name}`). `int` fits float; a single T is
// accepted for list<T> only when `scalar_ok`. The experiment itself is the
// component of kind "experiment" named "Experiment"; its parameters are its
// keys.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace epochd::catalogue {

// ordered_json: written in declaration order, so that the hash is stable.
using Json = nlohmann::ordered_json;

// Every member has an initializer, so that declarations may leave out any.
struct Parameter {
  std::string name = {};
  std::string type = {};
  bool required = false;
  // Null: no default is declared (an optional parameter that is absent).
  Json default_value = {};
  std::optional<double> min = {};  // inclusive
  std::optional<double> max = {};  // inclusive
  bool exclusive_min = false;
  // Accepted values of a string, keys of a map; empty: any.
  std::vector<std::string> choices = {};
  std::vector<std::string> aliases = {};
  bool scalar_ok = false;
  std::string help = {};
};

// What an experiment must say where a component is used.
struct Need {
  // Fields of which one must be given: of the experiment (`loss`,
  // `trainer.training_criterion`) or, with a leading dot, of the component
  // itself (`.optimizer`). The first is the one that is asked for.
  std::vector<std::string> any_of = {};
  // Only when the experiment's task is one of these; empty: always.
  std::vector<std::string> tasks = {};
};

struct Component {
  std::string kind = {};
  std::string name = {};
  std::vector<std::string> aliases = {};
  std::string help = {};
  // Most replicas that a job using this component may have.
  std::optional<int> max_replicas = {};
  std::vector<Parameter> parameters = {};
  // Further keys whose value is a component, or a list of them, are named
  // objects (the experiment: `${ref:}` targets) instead of errors, unless they
  // look like a misspelt parameter that nothing refers to.
  bool open = false;
  // Scores that it adds to a run: `val/{name}`, where {name} stands for its
  // parameter; `val/{name}/*`: any below; `*`: names that only the run tells.
  std::vector<std::string> gives = {};
  std::vector<Need> needs = {};
};

struct Catalogue {
  std::vector<Component> components;

  // Finds by kind and by name or alias; nullptr: there is none. A dotted name
  // (`srforge.losses.L1`) is looked up by its last part too.
  const Component* Find(std::string_view kind, std::string_view name) const;
  // Finds every kind that has this name or alias.
  std::vector<const Component*> FindAll(std::string_view name) const;
};

Json ToJson(const Catalogue& catalogue);
// Throws std::invalid_argument naming the entry that is malformed.
Catalogue FromJson(const Json& json);

// A broken rule: where, and what would be accepted.
struct Violation {
  // Path, such as experiment.hooks[1].rule; see AppendKey().
  std::string field;
  std::string description;
};

struct ValidateOptions {
  std::string root = "experiment";
  // Replicas the job may get; checked against max_replicas when set.
  std::optional<int> max_replicas;
};

// What an experiment uses, found while it is checked.
struct Validated {
  std::vector<Violation> violations;
  // "kind/Name" of each component used, sorted, without doubles.
  std::vector<std::string> components;
  // Paths of the values whose type is `path` (the client makes them absolute).
  std::vector<std::string> paths;
  // Field of each component -> what it is; points into the catalogue.
  std::map<std::string, const Component*> at;
};

// Checks every key, type, range and name of `experiment` (after `${a.b}`
// substitution; `${ref:name}` must name an object) and reports all violations,
// each with the nearest valid name where one is misspelt.
Validated Validate(const Catalogue& catalogue, const Json& experiment,
                   const ValidateOptions& options = {});

// The experiment with all that it leaves out: defaults filled in, aliases
// replaced by declared names, nulls dropped, every component in the form
// `{type: Name, ...}`. Keys of the experiment itself stay as they are, since
// `${ref:}` may name them. `experiment` has no violations; to resolve what was
// resolved changes nothing.
Json Resolve(const Catalogue& catalogue, const Json& experiment);

// Extends a field path by a key: `a.b`, or `a["b.c"]` for a key that is no
// plain word; and by a list index: `a[2]`.
std::string AppendKey(std::string_view path, std::string_view key);
std::string AppendIndex(std::string_view path, size_t index);

// Gives the seconds that `90s`, `10m`, `1.5h`, `500ms` or `2d` mean; nothing if
// `text` is no positive duration.
std::optional<double> ParseDuration(std::string_view text);

// Gives the bytes that `512MiB`, `2GiB` or `10GB` mean.
std::optional<int64_t> ParseBytes(std::string_view text);

// What `1 epoch`, `100 steps` or `10m` mean; exactly one member is set.
struct Every {
  std::optional<int64_t> epochs;
  std::optional<int64_t> steps;
  std::optional<double> seconds;
};
std::optional<Every> ParseEvery(std::string_view text);

// Gives the nearest of `known` to `word` if it is near enough to be meant.
std::optional<std::string> Nearest(std::string_view word,
                                   const std::vector<std::string>& known);

}  // namespace epochd::catalogue
