export {
  AddressGuard,
  type AddressGuardOptions,
  type GuardVerdict,
  isPublicAddress,
  maxUrlLength,
} from './address-guard.ts';
export { adminRoutes, listen, type ReadinessChecks } from './admin.ts';
export { isAddressAllowed, isNetwork } from './allowed-address.ts';
export {
  type ApiOptions,
  apiError,
  apiErrors,
  contextOf,
  createApi,
  createApp,
  type ReceivedRequest,
  rawBodyOf,
} from './api.ts';
export {
  type ClipFormat,
  type ClipPath,
  clipFormats,
  signClipPath,
  verifyClipPath,
} from './clip-signature.ts';
export {
  ConfigError,
  type ConfigOf,
  commonEnv,
  type EnvSchema,
  envSchema,
  isLoopback,
  readEnv,
  shownConfig,
} from './config.ts';
export { docsPage } from './docs-page.ts';
export { developmentEncryptionKey, Encryption } from './encryption.ts';
export { AppError, type ErrorCode, type ErrorDetail, errorCodes } from './errors.ts';
export { writeJson } from './exact-json.ts';
export { type FilePath, signFilePath, verifyFilePath } from './file-signature.ts';
export { finiteNumber } from './finite-number.ts';
export { type IdempotencyStore, type KeptAnswer, type KeptRequest, onlyOnce } from './idempotency.ts';
export { expectedVersion, otherVersion, requireVersion, versionMismatch } from './if-match.ts';
export { parseJsonBody } from './json-body.ts';
export { lazyCheck, type SchemaCheck } from './lazy-check.ts';
export { Lifecycle, podId, type Running, runService } from './lifecycle.ts';
export { createLogger, type Logger, shownUrl } from './log.ts';
export { type MediaPath, type MediaPathVerdict, signMediaPath, verifyMediaPath } from './media-signature.ts';
export { Counter, createMetrics, Gauge, Histogram, Registry } from './metrics.ts';
export { type HeaderInfo, type OpenApiInfo, openApiDocument, type SecurityInfo } from './openapi.ts';
export {
  oneOf,
  type PageItems,
  type Paging,
  pageEnvelope,
  pageOf,
  pagingQuery,
  readPaging,
  readSorting,
  type Sorting,
  sortParameter,
} from './paging.ts';
export { pipeUpstream, type Upstream, upstreamUnreachable } from './pipe-upstream.ts';
export { plainFaults } from './plain-faults.ts';
export { compilePlatformBody, ignoredFieldsOf, invalid } from './platform-body.ts';
export { type Rate, RateLimits } from './rate-limits.ts';
export type { ResolvedAddress } from './resolve-host.ts';
export { defineRoute, Reply, type RequestContext, type Route, type RouteInput } from './route.ts';
export { SentNames, sentNamesOf } from './sent-names.ts';
export { ShortCache } from './short-cache.ts';
export { type SignatureVerdict, signQuery, verifyQuery } from './signed-query.ts';
export { sendTagged, staticContent, staticDocument } from './static-content.ts';
export { every, untilDone } from './ticker.ts';
export { compileBody, compileParameters } from './validate.ts';
export { videoTypeOf, videoTypes } from './video-types.ts';
