# The service without a database: it uses the PostgreSQL server that DATABASE_URL names.

FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY packages packages
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY tools tools
COPY docs docs
COPY CHANGELOG.md ./
COPY src src
RUN npm run build && npm prune --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
WORKDIR /app
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY package.json LICENSE ./
COPY mappings mappings
COPY sql sql
COPY schema schema
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HEALTH_PORT || process.env.PORT}/livez`).then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# The working directory may be another one, with an .env.
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["serve"]
