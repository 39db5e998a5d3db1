// SPDX-License-Identifier: Apache-2.0
#include "client/job_file/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include "client/job_file/scalar.h"
#include "client/job_file/tree_builder.h"

namespace epochd::client {
namespace {

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

Position At(const YAML::Mark& mark) {
  return mark.is_null() ? Position{1, 1}
                        : Position{mark.line + 1, mark.column + 1};
}

class YamlHandler : public YAML::EventHandler {
 public:
  explicit YamlHandler(Document& document)
      : document_(document), builder_(document) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++num_documents_ > 1) {
      throw Refused{At(mark), "a second document, one is accepted"};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    if (ExpectsKey()) throw Refused{At(mark), "a key is missing"};
    builder_.Value(nullptr, At(mark));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{At(mark), "an alias (*name) is not accepted, write ${a.b}"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor, const std::string& value) override {
    RefuseAnchor(mark, anchor);
    if (ExpectsKey()) {
      if (value.find('\0') != std::string::npos) {
        throw Refused{At(mark), "a NUL character in a key is not accepted"};
      }
      builder_.Key(value, At(mark));
      return;
    }
    builder_.Value(Resolve(mark, tag, value), At(mark));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag, "seq");
    if (ExpectsKey()) throw Refused{At(mark), "a list is no key"};
    builder_.Begin(Json::array(), At(mark));
  }
  void OnSequenceEnd() override { builder_.End(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag,
                  YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag, "map");
    if (ExpectsKey()) throw Refused{At(mark), "a mapping is no key"};
    builder_.Begin(Json::object(), At(mark));
  }
  void OnMapEnd() override { builder_.End(); }

 private:
  bool ExpectsKey() const { return builder_.InMapping() && !builder_.HasKey(); }

  static void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      throw Refused{At(mark),
                    "an anchor (&name) is not accepted, write ${a.b} where "
                    "the value is wanted again"};
    }
  }

  static void RefuseTag(const YAML::Mark& mark, const std::string& tag,
                        std::string_view accepted) {
    if (tag.empty() || tag == "?" || tag == "!" ||
        tag == std::string(kTagPrefix) + std::string(accepted)) {
      return;
    }
    throw Refused{At(mark), "tag '" + tag.substr(0, 80) + "' is not accepted"};
  }

  Json Resolve(const YAML::Mark& mark, const std::string& tag,
               const std::string& value) {
    if (tag == "!" || tag == std::string(kTagPrefix) + "str") return value;
    Scalar scalar = ResolvePlain(value);
    if (!scalar.problem.empty()) {
      document_.problems.push_back(
          {At(mark), builder_.PathOfNext(), std::move(scalar.problem)});
    }
    if (tag.empty() || tag == "?") return std::move(scalar.value);
    const Json& json = scalar.value;
    const std::string_view wanted =
        std::string_view(tag).starts_with(kTagPrefix)
            ? std::string_view(tag).substr(kTagPrefix.size())
            : std::string_view();
    if (wanted == "float" && json.is_number()) return json.get<double>();
    if ((wanted == "int" && json.is_number_integer()) ||
        (wanted == "bool" && json.is_boolean()) ||
        (wanted == "null" && json.is_null())) {
      return std::move(scalar.value);
    }
    throw Refused{At(mark), "tag '" + tag.substr(0, 80) +
                                "' does not fit here or is not accepted"};
  }

  Document& document_;
  TreeBuilder builder_;
  int num_documents_ = 0;
};

}  // namespace

void ReadYaml(std::string_view text, Document& document) {
  std::istringstream stream{std::string(text)};
  try {
    YamlHandler handler(document);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(handler)) {
    }
  } catch (const Refused& refused) {
    document.problems.push_back({refused.position, "", refused.message});
  } catch (const YAML::Exception& error) {
    document.problems.push_back({At(error.mark), "", "no YAML: " + error.msg});
  } catch (const std::exception& error) {
    document.problems.push_back(
        {{1, 1}, "", std::string("no YAML: ") + error.what()});
  }
}

}  // namespace epochd::client
