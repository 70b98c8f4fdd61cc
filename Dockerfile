# Four targets on one base: `api`, `inference`, `service` (both in one container), and `inference-gpu` (inference with the libraries of CUDA 13).
# To build one:
#
#   docker build --target api --tag chinese-asr-api \
#     --build-arg REVISION=$(git rev-parse HEAD) --build-arg SOURCE=$(git remote get-url origin) .
ARG NODE_IMAGE=node:24-bookworm-slim
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
# The CUDA libraries are gigabytes that a CPU never needs; nor are onnxruntime's binaries for other platforms.
ENV ONNXRUNTIME_NODE_INSTALL=skip
COPY package.json package-lock.json .npmrc ./
# (npm keeps the compiler's own binary, because a package names the compiler as an optional peer.)
# The client is a workspace of its own and no part of the image.
RUN npm ci --omit=dev --workspaces=false \
 && rm -rf node_modules/@typescript \
 && cd node_modules/onnxruntime-node/bin/napi-v6 \
 && find . -mindepth 2 -maxdepth 2 ! -path "./linux/$(node -p process.arch)" -exec rm -r {} +

FROM ${NODE_IMAGE} AS build
WORKDIR /build
ENV ONNXRUNTIME_NODE_INSTALL=skip
COPY package.json package-lock.json .npmrc ./
RUN npm ci --workspaces=false
COPY . .
# What runs is what the npm package holds.
RUN node_modules/.bin/tsc -b common models client page api inference \
 && node page/bundle.mjs \
 && npm pack --silent --ignore-scripts \
 && mkdir /app \
 && tar -xzf ./*.tgz -C /app --strip-components=1

FROM ${NODE_IMAGE} AS program
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app ./
# Where `node dist/models/command/cli.js pull` puts models: mount a volume there to keep them.
RUN mkdir models/downloaded && chown node:node models/downloaded
ENV NODE_ENV=production
# By its number, or Kubernetes cannot tell that it is not root (runAsNonRoot): it is "node".
USER 1000:1000
# Both processes handle it themselves, also as the first process of a container. Give them 60 s: a recording lasts 40 s at most.
STOPSIGNAL SIGTERM
ARG VERSION=1.0.0
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="Chinese speech recognition server" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION \
      org.opencontainers.image.source=$SOURCE \
      org.opencontainers.image.licenses="Apache-2.0 AND LGPL-2.1-or-later AND MIT"

FROM program AS api
ENV ASR_HOST=0.0.0.0 ASR_PORT=8088
EXPOSE 8088
# It says that the process answers; whether the service is ready is /readyz, which needs the token.
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ASR_PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/api/main.js"]

FROM program AS inference
# It serves no port: its heartbeat says whether its model is loaded.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "dist/inference/health.js"]
CMD ["node", "dist/inference/main.js"]

# One of several behind a queue. Healthy when it is ready: until then no recording should come.
FROM program AS service
ENV ASR_HOST=0.0.0.0 ASR_PORT=8088
EXPOSE 8088
COPY deploy/service.sh ./
HEALTHCHECK --interval=5s --timeout=10s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ASR_PORT}/readyz`, { headers: { authorization: `Bearer ${process.env.ASR_API_TOKEN}` } }).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["./service.sh"]

FROM ${NODE_IMAGE} AS cuda
WORKDIR /app
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip && rm -rf /var/lib/apt/lists/*
COPY launch/setup/gpu-install.mjs launch/setup/
# This package alone, so that no change of another one fetches the gigabytes again.
COPY --from=packages /app/node_modules/onnxruntime-node ./node_modules/onnxruntime-node
RUN node launch/setup/gpu-install.mjs

# It builds; it was not yet run on a machine with a card. NVIDIA's libraries in it have a licence of their own.
FROM inference AS inference-gpu
COPY --from=cuda /app/node_modules/onnxruntime-node/bin ./node_modules/onnxruntime-node/bin
ENV ASR_EXECUTION_PROVIDERS=cuda NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
