# syntax=docker/dockerfile:1
# SPDX-License-Identifier: Apache-2.0
#
# A worker for CPUs: agent, trainer, and the part of LibTorch that they load.
# Built by docker/build from a staged tree:
#   docker/build worker
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      libgrpc++1.51 libprotobuf32 libspdlog1.10 libyaml-cpp0.7 libutf8proc2 \
      libssl3 zlib1g libpng16-16 libgomp1 procps \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 65532 epochd \
 && useradd --uid 65532 --gid 65532 --home-dir /var/lib/epochd --create-home \
      --shell /usr/sbin/nologin epochd
COPY --chown=0:0 torch/ /usr/local/lib/epochd/
COPY --chown=0:0 lib/ /usr/local/lib/
COPY --chown=0:0 bin/epochd-worker bin/epochd-trainer bin/epochctl /usr/local/bin/
COPY --chown=0:0 share/epochd/ /usr/local/share/epochd/
LABEL org.opencontainers.image.title="epochd worker (CPU)" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532
VOLUME /var/lib/epochd
ENV LD_LIBRARY_PATH=/usr/local/lib:/usr/local/lib/epochd \
    EPOCHD_WORK_DIR=/var/lib/epochd/worker \
    EPOCHD_STORAGE=/var/lib/epochd/storage
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s \
  CMD ["/bin/sh", "-c", "pgrep -x epochd-worker > /dev/null"]
ENTRYPOINT ["/usr/local/bin/epochd-worker"]
