import { createHash, createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from './errors.ts';
import { Reply, type RequestContext } from './route.ts';

/** A stored response. */
export interface StoredResponse {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** State of a request with a key. */
export type IdempotencyRecord =
  | { readonly state: 'running'; readonly bodySha256: string }
  | { readonly state: 'answered'; readonly bodySha256: string; readonly response: StoredResponse };

/** Stores first responses: one document for each key, for 24 hours. */
export interface IdempotencyStore {
  /**
   * Records that a request runs. Returns an existing record instead of null. A running request of a dead process
   * expires.
   */
  begin(id: string, bodySha256: string): Promise<IdempotencyRecord | null>;
  save(id: string, response: StoredResponse): Promise<void>;
  /** Deletes the record of a failed request, so that a retry may run. */
  delete(id: string): Promise<void>;
}

const waitTimeoutMs = 10_000;
const pollIntervalMs = 100;
const keyPattern = /^[\x20-\x7e]{1,255}$/;

/** Fields that no store saves: a replay has null there. A dot names a field of a nested object. */
const secretFields = new Set([
  'key',
  'secret',
  'token',
  'access_token',
  'refresh_token',
  'password',
  'client_secret',
  'otpauth_url',
  // It contains the token.
  'invitation.url',
]);

/** Owner of the key, and the body of its request. */
interface IdempotencyScope {
  readonly caller: string;
  /** Returns the body: validated, or as text after a failed check. Called only with a key. */
  readonly body: () => unknown;
}

/**
 * Runs a request that creates or charges once for each `Idempotency-Key`. A retry gets the first response; with another
 * body it is 422. A concurrent retry waits for the first request, and is 409 after ten seconds. Internal failures (5xx)
 * and 429 are not stored.
 */
export async function withIdempotencyKey(
  store: IdempotencyStore,
  scope: IdempotencyScope,
  context: RequestContext,
  handle: () => Promise<unknown>,
): Promise<unknown> {
  const key = context.request.get('idempotency-key');
  if (key === undefined) return handle();
  if (!keyPattern.test(key))
    throw new AppError('validation_failed', 'The header Idempotency-Key must have 1 to 255 printable characters.');
  const { method, baseUrl, path } = context.request;
  const id = sha256(JSON.stringify([scope.caller, method, `${baseUrl}${path}`, key]));
  // The body may contain a password, and a plain hash of it could be guessed from the store. The key is stored nowhere
  // and cannot be guessed.
  const bodyText = JSON.stringify(await scope.body()) ?? '';
  const bodySha256 = createHmac('sha256', key).update(bodyText).digest('hex');
  const isSameBody = (storedSha256: string): boolean =>
    storedSha256 === bodySha256 || storedSha256 === sha256(bodyText);
  const deadlineMs = performance.now() + waitTimeoutMs;
  for (
    let existing = await store.begin(id, bodySha256);
    existing !== null;
    existing = await store.begin(id, bodySha256)
  ) {
    // The previous version stored the other one.
    if (!isSameBody(existing.bodySha256))
      throw new AppError('idempotency_key_reused', 'The Idempotency-Key was used with another body.');
    if (existing.state === 'answered') return replay(existing.response);
    if (performance.now() > deadlineMs)
      throw new AppError('state_conflict', 'A request with this Idempotency-Key is still running.', {
        headers: { 'Retry-After': '1' },
      });
    await delay(pollIntervalMs);
  }
  return runFirst(store, id, context, handle);
}

async function runFirst(
  store: IdempotencyStore,
  id: string,
  { log }: RequestContext,
  handle: () => Promise<unknown>,
): Promise<unknown> {
  // The work is done, and the caller is informed. Without a stored response a retry would repeat the work, so the key
  // stays marked as running (409) until the store
  // considers the request dead.
  const logFailure = (storing: Promise<void>): Promise<void> =>
    storing.catch((error: unknown) => log.error({ err: error }, 'could not store the response of an Idempotency-Key'));
  let result: unknown;
  try {
    result = await handle();
  } catch (error) {
    await logFailure(
      error instanceof AppError && isStorable(error) ? store.save(id, toStoredResponse(error)) : store.delete(id),
    );
    throw error;
  }
  const reply = result instanceof Reply ? result : new Reply(200, result);
  await logFailure(
    store.save(id, { status: reply.status, body: withoutSecrets(reply.body), headers: withoutCookie(reply.headers) }),
  );
  return result;
}

const withoutCookie = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'set-cookie'));

const toStoredResponse = ({ status, code, message, details, headers }: AppError): StoredResponse => ({
  status,
  body: { code, message, details },
  headers,
});

/** Returns whether a retry may have another result: after internal failures and 429. */
const isStorable = ({ status }: AppError): boolean => status < 500 && status !== 429;

function replay({ status, body, headers }: StoredResponse): Reply {
  const replayHeaders = { ...headers, 'Idempotent-Replayed': 'true' };
  if (status < 400) return new Reply(status, body, replayHeaders);
  const { code, message, details } = body as Pick<AppError, 'code' | 'message' | 'details'>;
  throw new AppError(code, message, { headers: replayHeaders, details });
}

function withoutSecrets(value: unknown, parent = ''): unknown {
  if (value instanceof Date || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, parent));
  const isSecret = (name: string): boolean => secretFields.has(name) || secretFields.has(`${parent}.${name}`);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, isSecret(name) ? null : withoutSecrets(part, name)]),
  );
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
