/** Every error code that a service may answer; the Platform API shows them, the Device API only their status and sentence. */
export const errorCodes = {
  validation_failed: 400,
  malformed_json: 400,
  api_key_missing: 401,
  api_key_invalid: 401,
  permission_denied: 403,
  not_found: 404,
  device_not_connected: 404,
  not_streaming: 404,
  method_not_allowed: 405,
  state_conflict: 409,
  camera_busy: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  unreadable_document: 422,
  rate_limited: 429,
  quota_exceeded: 429,
  internal: 500,
  upstream_error: 502,
  unavailable: 503,
  request_timeout: 503,
  device_timeout: 504,
} as const;

/** A code of `errorCodes`. */
export type ErrorCode = keyof typeof errorCodes;

/** An answer that is an error: its code decides the HTTP status, its message is a sentence for the caller. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly status: number;
  /** Response headers that belong to the error, such as Retry-After. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; headers?: Record<string, string> } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.status = errorCodes[code];
    this.headers = options.headers ?? {};
  }
}
