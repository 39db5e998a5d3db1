// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "client/epochctl/catalogue_source.h"
#include "client/epochctl/command.h"
#include "client/epochctl/exit_code.h"
#include "client/epochctl/job_schema.h"

namespace epochd::epochctl {

Command SchemaCommand() {
  const auto flags = std::make_shared<CatalogueFlags>();
  return {"schema",
          "",
          "Print the JSON Schema of job files, for editors",
          {"epochctl schema > job.schema.json", "epochctl schema --offline"},
          CatalogueOptions(*flags),
          [flags](Context& context) {
            const auto catalogue = FindCatalogue(context, *flags);
            if (!catalogue.ok()) return context.Fail(catalogue.status());
            context.out << Render(JobSchema(*catalogue),
                                  context.format == Format::kYaml
                                      ? Format::kYaml
                                      : Format::kJson);
            return kOk;
          }};
}

}  // namespace epochd::epochctl
