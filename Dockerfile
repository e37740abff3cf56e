# ropeline in a container.
#
#   docker build -t ropeline .
#   docker run --read-only -p 8080:8080 -v ropeline:/var/lib/ropeline ropeline run \
#       --origin http://shop.internal:3000 --listen 0.0.0.0:8080
#
# The root may be read-only: data and keys go to /var/lib/ropeline, which is the working directory, so that the
# relative defaults of the settings end there. Mount a volume on it, or the line is gone with the container.

# The version of rust-toolchain.toml; change both. The file itself stays out of the build, for it asks for lints
# and a formatter, which rustup would fetch. cmake and the C compiler build the cryptography (aws-lc) and zlib.
FROM rust:1.95.0-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends cmake gcc g++ make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY . .
RUN cargo build --release --locked --bin ropeline

FROM debian:bookworm-slim
# Whose certificates count, for key sets that are fetched by https.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=build /build/target/release/ropeline /usr/local/bin/ropeline
COPY --from=build /build/LICENSE /usr/share/doc/ropeline/LICENSE
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/ropeline --create-home ropeline \
    && chmod 0700 /var/lib/ropeline
USER 10001:10001
WORKDIR /var/lib/ropeline
VOLUME /var/lib/ropeline
# Visitors. The operator's listener (9090) stays on the container's loopback unless [admin] listen says otherwise.
EXPOSE 8080
# Lives is enough: while the store is away, ropeline still answers and must not be restarted for it.
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s CMD ["ropeline", "health"]
ENTRYPOINT ["ropeline"]
CMD ["run", "--config", "/etc/ropeline/ropeline.toml"]
