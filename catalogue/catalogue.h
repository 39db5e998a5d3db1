// SPDX-License-Identifier: Apache-2.0
//
// The component catalogue: what a job file may name. Every component (model,
// data set, loss, hook, ...) declares its parameters once, where it is built
// (worker/engine); `epochd-trainer --catalogue` prints the whole as JSON;
// coordinator, client and trainer check an experiment against it with
// Validate(). None of them knows a component by name.
//
// Plain values; no state, no threads. Depends on the standard library,
// nlohmann-json and expression/ only, so that the engine may use it.
//
//   {"version": 1, "components": [
//     {"kind": "model", "name": "MLP", "aliases": ["mlp"], "help": "...",
//      "max_replicas": 1,            // absent: no limit
//      "rules": [{"check": "less", "of": ["fold", "folds"]}],
//      "parameters": [
//        {"name": "in_features", "type": "int", "required": true, "min": 1,
//         "help": "..."},
//        {"name": "hidden", "type": "list<int>", "default": [], ...}]}]}
//
// Limits of an experiment: 64 levels, 10,000 values.
//
// Types: bool, int, float, string, path, duration (`90s`, `10m`, `2h`), size
// (`512MiB`), every (`1 epoch`, `100 steps`, `10m`), score (the name of a
// metric, such as val/accuracy), checkpoint (of a job, `job/<id>/best`, or a
// folder; or a word that stands for one), constant (a number, or text that
// computes one: `0.01/pi`), expression (a number, or text over variables:
// `-sin(pi*x)`; see expression/expression.h), any, map, list<T>, map<T>,
// section<Name> (a mapping whose keys are the parameters of the component of
// kind "section" with that name), and component<kind> (a mapping in one of the
// forms of component_form.h, or a `${ref:name}`). `int` fits float; a single T
// is accepted for list<T> only when `scalar_ok`. The experiment itself is the
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
  bool exclusive_max = false;
  // Accepted numbers; empty: any in the range.
  std::vector<double> numbers = {};
  // Odd whole numbers alone.
  bool odd = false;
  // Accepted values of a string, keys of a map, units of an `every` (epochs,
  // steps, time); empty: any.
  std::vector<std::string> choices = {};
  std::vector<std::string> aliases = {};
  bool scalar_ok = false;
  // Fewest and most values of a list or entries of a map; of lists in a list
  // or map, of each.
  std::optional<int> min_items = {};
  std::optional<int> max_items = {};
  // Each number of a list is above the one before it; or at least as great.
  enum class Order { kAny, kRising, kNotFalling };
  Order order = Order::kAny;
  std::string help = {};
};

// What a rule depends on: a parameter that has one of these values (its default
// counts), or that is given at all where there are none.
struct Condition {
  std::string parameter = {};
  std::vector<Json> values = {};
};

// What parameters of a component must fulfil together. Checked once each by
// itself is right; a number or list that is absent, without a default, fulfils
// all that compares it. Messages name the first parameter of `of`, or the one
// that is missing.
struct Rule {
  enum class Check {
    kOneOf,       // exactly one of them is given
    kAtMostOne,   // one of them, or none
    kTogether,    // all of them, or none
    kNeeds,       // where the first is given (or `when` holds, of one alone),
                  // the others are, and are not empty
    kAbsent,      // none is given; or `values`: keys that none of them has, nor
                  // what they refer to
    kIs,          // the first is one of `values`
    kLess,        // the first number is less than the second
    kAtMost,      // the first number is at most the second
    kDivides,     // the first number divides the second
    kSameLength,  // the first list has as many values as the second
    kOneShorter,  // it has one less
    kOneForEach,  // the first list has as many values as the second, a number,
                  // says; or none; or one that stands for all (`scalar_ok`)
    kSumAtMost,   // numbers of the list add up to at most values[0]
    kAmong,       // the first, text or a list of it, is among the names of the
                  // second: a list, or the keys of a map
    kDistinct,    // no value of the first, a list, stands there twice
    kFromZero,    // keys of the first, a map, are whole numbers that begin at 0
    kVariables,   // variables of the first, expressions, are names of the
                  // others, among them the constants of the last; of PDEs,
                  // (expression, coordinates, unknowns, constants), also
                  // derivatives. `values`: unknowns where no parameter has them
    kAlike,       // wherever in the experiment a component with such a rule has
                  // the same first one, but for keys of it in `values`, it is
                  // this component, and the others are the same, too
  };
  Check check = Check::kOneOf;
  std::vector<std::string> of = {};
  std::vector<Json> values = {};
  // All must hold; none: always.
  std::vector<Condition> when = {};
};

// What an experiment must say where a component is used.
struct Need {
  // Fields of which one must be given: of the experiment (`loss`,
  // `trainer.training_criterion`) or, with a leading dot, of the component
  // itself (`.optimizer`). The first is the one that is asked for.
  std::vector<std::string> any_of = {};
  // Only when the experiment's task is one of these; empty: always.
  std::vector<std::string> tasks = {};
  // Component::role of the component that stands in the first of the fields
  // that is given; empty: any. That one is given at all is another need.
  std::string role = {};
};

// The losses that a runner computes at one place, and what they may be.
struct LossPlace {
  // A parameter, as Need::any_of writes it: `.d_loss`, `loss`.
  std::string at = {};
  // A loss here reads one or more of these fields, or its result would not
  // depend on what is trained by it; empty: any.
  std::vector<std::string> fields = {};
  // Component::role of those that have one; empty: none may have any.
  std::string role = {};
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
  // At most one component that gives the same text here is in an experiment;
  // {name} stands for its parameter. Empty: as many as one likes.
  std::string one_of = {};
  // Scores that it adds to a run: `val/{name}`, where {name} stands for its
  // parameter; `val/{name}/*`: any below; `*`: names that only the run tells.
  std::vector<std::string> gives = {};
  std::vector<Need> needs = {};
  std::vector<Rule> rules = {};
  // Of a loss: the fields of a batch that it reads, `{output}` standing for its
  // parameter; none: nobody knows.
  std::vector<std::string> reads = {};
  // Of a loss that only one part of a GAN has: "generator", "discriminator". Of
  // a model that needs a runner of its own: "GAN".
  std::string role = {};
  // Of a runner.
  std::vector<LossPlace> losses = {};
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

// Checks one component of `kind` alone, which stands at `field`: whether its
// references name anything is not looked at. Rules about what a component holds
// follow them into `named`, the experiment.
std::vector<Violation> ValidateComponent(const Catalogue& catalogue,
                                         const std::string& kind,
                                         const Json& value,
                                         const std::string& field,
                                         const Json& named = Json());

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
