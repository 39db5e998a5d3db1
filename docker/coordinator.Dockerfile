# SPDX-License-Identifier: Apache-2.0
#
# The coordinator. Built by docker/build, from a stage of the programs that
# scripts/build made on the same Debian release:
#   docker/build coordinator
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      libgrpc++1.51 libprotobuf32 libmicrohttpd12 libprometheus-cpp-core1.0 \
      libsqlite3-0 libspdlog1.10 libyaml-cpp0.7 libssl3 zlib1g \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* \
 && groupadd --gid 65532 epochd \
 && useradd --uid 65532 --gid 65532 --home-dir /var/lib/epochd \
      --no-create-home --shell /usr/sbin/nologin epochd \
 && install -d -o 65532 -g 65532 -m 0700 /var/lib/epochd /run/epochd/token
COPY --chown=0:0 bin/epochd bin/epochctl /usr/local/bin/
COPY --chown=0:0 share/epochd/ /usr/local/share/epochd/
# A program that misses a library fails here, not on the cluster.
RUN epochd --version && epochctl --version
LABEL org.opencontainers.image.title="epochd coordinator" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532
WORKDIR /var/lib/epochd
VOLUME /var/lib/epochd
ENV EPOCHD_STATE_DIR=/var/lib/epochd/coordinator \
    EPOCHD_TOKEN_FILE=/var/lib/epochd/coordinator/token \
    EPOCHD_LISTEN=127.0.0.1:7950 \
    EPOCHD_HTTP_LISTEN=127.0.0.1:7951
EXPOSE 7950 7951
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s \
  CMD ["/usr/local/bin/epochctl", "health"]
ENTRYPOINT ["/usr/local/bin/epochd"]
