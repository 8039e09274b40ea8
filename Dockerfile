# Builds the server and puts it into a small image; tests run elsewhere.
#
#   docker build --tag balloon --build-arg BALLOON_COMMIT="$(scripts/commit)" .
#   docker run --stop-timeout 30 --publish 8080:8080 --volume balloon:/data --env BALLOON_MSP_ID --env BALLOON_SECRET balloon
#
# A stop takes at most shutdownSeconds, 25 unless server.json says otherwise; give the container five seconds more.

FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libssl-dev zlib1g-dev libcurl4-openssl-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
# The dependencies change more rarely than the sources do, so they get a layer of their own.
COPY Package.swift ./
RUN swift package resolve
# The manifest names folders in Tests and config: they must exist, but the product compiles nothing in them.
COPY Sources Sources
COPY Tests Tests
COPY config config
# What `balloon --version` says of its source; without it the commit is unknown, because the context has no .git.
ARG BALLOON_COMMIT=
RUN swift build --configuration release --product balloon --static-swift-stdlib \
    && strip -o /usr/local/bin/balloon .build/release/balloon

FROM debian:bookworm-slim
# tini-static is tini once more, for systems without a C library. The other files that are removed are lists, logs and old copies.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        libssl3 zlib1g libcurl4 libpq5 libstdc++6 ca-certificates tzdata tini \
    && rm -rf /var/lib/apt/lists/* /var/log/apt/* /var/log/dpkg.log /var/lib/dpkg/*-old /var/cache/debconf/*-old \
        /usr/bin/tini-static \
    && install --directory --owner=65532 --group=65532 --mode=0700 /data
COPY --from=build /usr/local/bin/balloon /usr/local/bin/balloon
COPY config /etc/balloon
# A number and not a name, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /data
VOLUME /data
# The environment wins over the file: to listen elsewhere, set BALLOON_LISTEN, as in --env BALLOON_LISTEN=0.0.0.0:8443.
ENV BALLOON_LISTEN=0.0.0.0:8080 \
    BALLOON_DATA_DIRECTORY=/data
EXPOSE 8080
ARG BALLOON_COMMIT=
LABEL org.opencontainers.image.title="Balloon" \
    org.opencontainers.image.description="Messaging service provider for Apple Messages for Business" \
    org.opencontainers.image.licenses="MIT" \
    org.opencontainers.image.revision="$BALLOON_COMMIT" \
    org.opencontainers.image.base.name="docker.io/library/debian:bookworm-slim"
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s CMD ["balloon", "healthcheck"]
# tini is process 1: it passes signals on and reaps what child processes leave behind.
ENTRYPOINT ["/usr/bin/tini", "--", "balloon"]
CMD ["serve", "--config", "/etc/balloon/server.json"]
