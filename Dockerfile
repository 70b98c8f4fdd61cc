# One image, two processes: the API replica is the default command; `node dist/inference/main.js` recognizes.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
# The CUDA libraries are several hundred MB that a CPU never needs; nor are onnxruntime's binaries for other platforms.
ENV ONNXRUNTIME_NODE_INSTALL=skip
COPY package.json package-lock.json .npmrc ./
# (npm keeps the compiler's own binary, because a package names the compiler as an optional peer.)
# The client is a workspace of its own and no part of the image.
RUN npm ci --omit=dev --workspaces=false \
 && rm -rf node_modules/@typescript \
 && cd node_modules/onnxruntime-node/bin/napi-v6 \
 && find . -mindepth 2 -maxdepth 2 ! -path "./linux/$(node -p process.arch)" -exec rm -r {} +

FROM node:24-bookworm-slim AS build
WORKDIR /build
ENV ONNXRUNTIME_NODE_INSTALL=skip
COPY package.json package-lock.json .npmrc ./
RUN npm ci --workspaces=false
COPY . .
# What runs is what the npm package holds.
RUN node_modules/.bin/tsc -b common models api/client api/page api inference \
 && node api/page/bundle.mjs \
 && npm pack --silent --ignore-scripts \
 && mkdir /app \
 && tar -xzf ./*.tgz -C /app --strip-components=1

FROM node:24-bookworm-slim
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app ./
# Where `node dist/models/command/cli.js pull` puts models: mount a volume there to keep them.
RUN mkdir models/downloaded && chown node:node models/downloaded
ENV NODE_ENV=production ASR_HOST=0.0.0.0 ASR_PORT=8088
# By its number, or Kubernetes cannot tell that it is not root (runAsNonRoot): it is "node".
USER 1000:1000
EXPOSE 8088
# Of the API replica. It says that the process answers; whether the service is ready is /readyz, which needs the token.
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ASR_PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Both processes handle SIGTERM themselves, also as the first process of a container.
CMD ["node", "dist/api/main.js"]
