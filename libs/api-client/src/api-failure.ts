/** One fault of a request that was not valid. */
interface FaultDetail {
  /** JSON pointer of the field, such as `/name`. */
  readonly path: string;
  readonly message: string;
}

interface ErrorBody {
  readonly error?: unknown;
  readonly code?: unknown;
  readonly request_id?: unknown;
  readonly details?: unknown;
}

/** Codes of failures that never reached the API. */
const networkFailure = 'network_failure';

/** Thrown for a request that failed: an error response of the API, or a connection that failed. */
export class ApiFailure extends Error {
  /** HTTP status; 0 without a response. */
  readonly status: number;
  /** Code of the API's errors, such as `validation_failed`; `network_failure` without a response. */
  readonly code: string;
  readonly details: readonly FaultDetail[];
  readonly requestId: string | null;
  /** Seconds after which the request may be repeated; null if the response has no `Retry-After`. */
  readonly retryAfterSeconds: number | null;

  constructor(
    message: string,
    fields: Pick<ApiFailure, 'status' | 'code' | 'details' | 'requestId' | 'retryAfterSeconds'>,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ApiFailure';
    this.status = fields.status;
    this.code = fields.code;
    this.details = fields.details;
    this.requestId = fields.requestId;
    this.retryAfterSeconds = fields.retryAfterSeconds;
  }

  /** Creates the failure of a request that got no response. */
  static fromNetworkError(cause: unknown): ApiFailure {
    const fields = { status: 0, code: networkFailure, details: [], requestId: null, retryAfterSeconds: null };
    return new ApiFailure('The server could not be reached.', fields, { cause });
  }

  /** Creates the failure of an error response. Reads the body; a body that is not JSON is ignored. */
  static async fromResponse(response: Response): Promise<ApiFailure> {
    const body = await readErrorBody(response);
    const message = typeof body.error === 'string' ? body.error : `The server responded with ${response.status}.`;
    return new ApiFailure(message, {
      status: response.status,
      code: typeof body.code === 'string' ? body.code : `http_${response.status}`,
      details: Array.isArray(body.details) ? body.details.filter(isFaultDetail) : [],
      requestId: typeof body.request_id === 'string' ? body.request_id : response.headers.get('x-request-id'),
      retryAfterSeconds: readRetryAfter(response.headers.get('retry-after')),
    });
  }
}

async function readErrorBody(response: Response): Promise<ErrorBody> {
  const text = await response.text();
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    // A proxy may respond with HTML; the status says enough.
    return {};
  }
}

const isFaultDetail = (value: unknown): value is FaultDetail =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as FaultDetail).path === 'string' &&
  typeof (value as FaultDetail).message === 'string';

function readRetryAfter(header: string | null): number | null {
  if (header === null) return null;
  const seconds = Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
}
