# syntax=docker/dockerfile:1
# SPDX-License-Identifier: Apache-2.0
#
# The coordinator. Built by docker/build from a staged tree of programs that
# scripts/build made on the same Debian release:
#   docker/build coordinator
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      libgrpc++1.51 libprotobuf32 libmicrohttpd12 libprometheus-cpp-core1.0 \
      libsqlite3-0 libspdlog1.10 libyaml-cpp0.7 libutf8proc2 libssl3 zlib1g \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 65532 epochd \
 && useradd --uid 65532 --gid 65532 --home-dir /var/lib/epochd --create-home \
      --shell /usr/sbin/nologin epochd
COPY --chown=0:0 bin/epochd bin/epochctl /usr/local/bin/
COPY --chown=0:0 share/epochd/ /usr/local/share/epochd/
LABEL org.opencontainers.image.title="epochd coordinator" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532
VOLUME /var/lib/epochd
ENV EPOCHD_STATE_DIR=/var/lib/epochd/coordinator \
    EPOCHD_LISTEN=127.0.0.1:7950 \
    EPOCHD_HTTP_LISTEN=127.0.0.1:7951 \
    EPOCHD_TOKEN_FILE=/var/lib/epochd/coordinator/token
EXPOSE 7950 7951
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s \
  CMD ["/usr/local/bin/epochctl", "--server", "127.0.0.1:7950", "health"]
ENTRYPOINT ["/usr/local/bin/epochd"]
