/** Every error code of the services. The Platform API returns them; the Device API only their status and message. */
export const errorCodes = {
  validation_failed: 400,
  malformed_json: 400,
  unknown_field: 400,
  bad_date: 400,
  conflicting_parameters: 400,
  api_key_missing: 401,
  api_key_invalid: 401,
  token_missing: 401,
  token_invalid: 401,
  token_expired: 401,
  invalid_credentials: 401,
  signature_invalid: 401,
  two_factor_required: 401,
  share_password: 401,
  subscription_expired: 402,
  permission_denied: 403,
  key_user_mismatch: 403,
  origin_not_allowed: 403,
  account_suspended: 403,
  not_found: 404,
  vehicle_not_found: 404,
  user_not_found: 404,
  device_not_connected: 404,
  not_streaming: 404,
  method_not_allowed: 405,
  request_incomplete: 408,
  duplicate: 409,
  in_use: 409,
  group_cycle: 409,
  group_depth: 409,
  limit_reached: 409,
  state_conflict: 409,
  camera_busy: 409,
  share_link_expired: 410,
  share_link_revoked: 410,
  share_link_used_up: 410,
  version_mismatch: 412,
  body_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  unreadable_document: 422,
  idempotency_key_reused: 422,
  rate_limited: 429,
  quota_exceeded: 429,
  data_budget_spent: 429,
  headers_too_large: 431,
  internal: 500,
  upstream_error: 502,
  unavailable: 503,
  provider_not_configured: 503,
  request_timeout: 503,
  device_timeout: 504,
} as const;

/** A code of `errorCodes`. */
export type ErrorCode = keyof typeof errorCodes;

/** One fault of the input: a JSON pointer and a description. */
export interface ErrorDetail {
  readonly path: string;
  readonly message: string;
}

/** Represents an error response: its code determines the HTTP status, its message is a sentence for the caller. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly status: number;
  /** Response headers of the error, such as Retry-After. */
  readonly headers: Readonly<Record<string, string>>;
  /** All faults of the input; returned by the Platform API. */
  readonly details: readonly ErrorDetail[];

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; headers?: Record<string, string>; details?: readonly ErrorDetail[] } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.status = errorCodes[code];
    this.headers = options.headers ?? {};
    this.details = options.details ?? [];
  }
}
