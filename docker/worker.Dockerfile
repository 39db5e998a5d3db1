# SPDX-License-Identifier: Apache-2.0
#
# A worker for CPUs: agent, trainer, and the part of LibTorch that they load.
# Built by docker/build, from a stage of the programs that scripts/build made
# on the same Debian release:
#   docker/build worker
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      libgrpc++1.51 libprotobuf32 libspdlog1.10 libyaml-cpp0.7 libssl3 zlib1g \
      libpng16-16 libjpeg62-turbo libminizip1 libcurl4 ca-certificates \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* \
 && groupadd --gid 65532 epochd \
 && useradd --uid 65532 --gid 65532 --home-dir /var/lib/epochd \
      --no-create-home --shell /usr/sbin/nologin epochd \
 && install -d -o 65532 -g 65532 -m 0700 /var/lib/epochd \
      /var/lib/epochd/storage
# In the layout that the engine's rpath names; no LD_LIBRARY_PATH, which ranks
# would not be given.
COPY --chown=0:0 lib/ /usr/local/lib/
COPY --chown=0:0 share/epochd/ /usr/local/share/epochd/
COPY --chown=0:0 bin/epochd-worker bin/epochd-trainer bin/epochctl \
     bin/epochd-worker-health /usr/local/bin/
# A program that misses a library fails here, not on the cluster.
RUN epochd-worker --version && epochd-trainer --version && epochctl --version
LABEL org.opencontainers.image.title="epochd worker (CPU)" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532
WORKDIR /var/lib/epochd
VOLUME /var/lib/epochd
ENV EPOCHD_WORK_DIR=/var/lib/epochd/worker \
    EPOCHD_STORAGE=/var/lib/epochd/storage
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["/usr/local/bin/epochd-worker-health"]
ENTRYPOINT ["/usr/local/bin/epochd-worker"]
