export { listen } from './http/admin.ts';
export { adminSettings, startAdminServer } from './http/admin-server.ts';
export { createApi, type ReceivedRequest } from './http/api.ts';
export { createApp } from './http/app.ts';
export { allowOrigins, originsOf, parseOrigins } from './http/cors.ts';
export { createErrorHandlers } from './http/error-handlers.ts';
export { AppError, type ErrorCode, type ErrorDetail, errorCodes } from './http/errors.ts';
export { parseFiniteNumber } from './http/finite-number.ts';
export {
  type IdempotencyRecord,
  type IdempotencyStore,
  type StoredResponse,
  withIdempotencyKey,
} from './http/idempotency.ts';
export { assertVersion, parseIfMatch, versionMismatch, versionMismatchErrors } from './http/if-match.ts';
export { parseJsonBody } from './http/json-body.ts';
export { createOpenApiDocument, type HeaderInfo, type SecurityInfo } from './http/openapi.ts';
export type { ErrorTexts } from './http/openapi-errors.ts';
export type { ExampleValues } from './http/openapi-examples.ts';
export {
  type Page,
  type Pagination,
  pageResponse,
  pageSchema,
  paginationQuery,
  parsePagination,
  parseSort,
  type Sort,
  singleSchema,
  sortParameter,
} from './http/pagination.ts';
export {
  addressNotAllowedError,
  commandLevelError,
  roleNotPermittedError,
  scopeRequiredError,
} from './http/permission-errors.ts';
export { proxyUpstream, upstreamUnreachable } from './http/proxy.ts';
export { type Rate, RateLimits } from './http/rate-limits.ts';
export { compileBodyParser, getIgnoredFields, validationError } from './http/request-body.ts';
export { getRawBody, getRequestContext } from './http/request-context.ts';
export { defineRoute, Reply, type RequestContext, type Route, type RouteInput } from './http/route.ts';
export { getSentNames, SentNames } from './http/sent-names.ts';
export { computeEtag, createContentSender, createDocumentSender, sendWithEtag } from './http/static-content.ts';
export { serveSwaggerUi } from './http/swagger-ui.ts';
export { compileBody, compileParameters } from './http/validate.ts';
export { describeErrors } from './http/validation-messages.ts';
export { acceptProxyProtocol, parseProxyNetworks, proxyProtocolSettings } from './net/proxy-protocol.ts';
export { createCircuitBreaker } from './runtime/circuit-breaker.ts';
export {
  ConfigError,
  type ConfigOf,
  commonEnv,
  type EnvSchema,
  envSchema,
  invalidConfigError,
  isLoopback,
  readEnv,
  redactConfig,
} from './runtime/config.ts';
export { dayMs, hourMs, minuteMs } from './runtime/durations.ts';
export { runPeriodically } from './runtime/interval.ts';
export { KeyedMutex } from './runtime/keyed-mutex.ts';
export { lazyCheck, type SchemaCheck } from './runtime/lazy-check.ts';
export { getPodId, Lifecycle, type Running, runService } from './runtime/lifecycle.ts';
export { createLogger, type Logger } from './runtime/log.ts';
export { Counter, createMetrics, Gauge, Histogram, Registry } from './runtime/metrics.ts';
export { retryUntilSuccess } from './runtime/retry.ts';
export { TtlCache } from './runtime/ttl-cache.ts';
export { videoMimeType } from './runtime/video-mime-type.ts';
export type { ResolvedAddress } from './security/dns-resolver.ts';
export { developmentEncryptionKey, Encryption } from './security/encryption.ts';
export { isCidr, isIpAllowed } from './security/ip-allowlist.ts';
export { findSecretFault, firstSecret, splitSecrets } from './security/secret-list.ts';
export {
  type ClipFormat,
  type ClipPath,
  clipFormats,
  signClipPath,
  verifyClipPath,
} from './security/signed-urls/clip.ts';
export { type FilePath, signFilePath, verifyFilePath } from './security/signed-urls/file.ts';
export {
  type MediaPathSuffix,
  signMediaPath,
  verifyMediaPath,
} from './security/signed-urls/media.ts';
export { type SignatureVerdict, signQuery, verifyQuery } from './security/signed-urls/query.ts';
export {
  SsrfGuard,
  type SsrfGuardOptions,
  type SsrfVerdict,
} from './security/ssrf-guard.ts';
export { subjectOf, type VideoCaller } from './security/video-caller.ts';
export { activeTrace, runDetached, runInTrace, tracer } from './tracing/active-tracer.ts';
export type { TraceContext, TraceHeaders, TraceSpan } from './tracing/tracer.ts';
