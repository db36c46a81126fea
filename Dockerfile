# framesocket in a container, without Swift.
#
#     docker build --tag framesocket .
#     docker run --rm --volume /tmp/frames:/tmp/frames framesocket receive /tmp/frames/socket --json
#
# Sender and receiver have to run as the same user (or one of them as root) and see the same directory.
#
# This file has not been built by its project's CI, which has no registry of images. 'make docker-check' runs the commands of the second
# stage in a new Debian system, and compares the first one's build with the Makefile's.

FROM swift:6.2-bookworm AS build
WORKDIR /source
COPY scripts/setup scripts/
RUN scripts/setup build
COPY . .
RUN swift build --scratch-path .build-release --configuration release --static-swift-stdlib --product framesocket && \
    strip .build-release/release/framesocket

FROM debian:bookworm-slim
RUN apt-get update && \
    apt-get install --yes --no-install-recommends libturbojpeg0 libjpeg62-turbo libpng16-16 libyuv0 \
    libmicrohttpd12 libsndfile1 && \
    rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 1000 frames
COPY --from=build /source/.build-release/release/framesocket /usr/bin/framesocket
USER frames
ENTRYPOINT ["/usr/bin/framesocket"]
CMD ["--help"]
