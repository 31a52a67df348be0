import { createHash, createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from './errors.ts';
import { Reply, type RequestContext } from './route.ts';

/** An answer as it is kept. */
export interface StoredResponse {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** What is known of a request that came with a key. */
export type IdempotencyRecord =
  | { readonly state: 'running'; readonly bodySha256: string }
  | { readonly state: 'answered'; readonly bodySha256: string; readonly response: StoredResponse };

/** Where first answers are kept: a document for each key, 24 hours. */
export interface IdempotencyStore {
  /** Notes that a request runs; what stands there already in the place of null. A running one of a dead process gives way after its time. */
  begin(id: string, bodySha256: string): Promise<IdempotencyRecord | null>;
  save(id: string, response: StoredResponse): Promise<void>;
  /** The request failed: a repetition may run. */
  delete(id: string): Promise<void>;
}

const waitTimeoutMs = 10_000;
const pollIntervalMs = 100;
const keyPattern = /^[\x20-\x7e]{1,255}$/;

/** Fields that no store keeps: a replay has null there. With a dot: a field of the object that has the first name. */
const secretFields = new Set([
  'key',
  'secret',
  'token',
  'access_token',
  'refresh_token',
  'password',
  'client_secret',
  'otpauth_url',
  // It has the token in it.
  'invitation.url',
]);

/** Whose key it is, and the body of its request. */
export interface IdempotencyScope {
  readonly caller: string;
  /** Returns the body: checked, or as text where it failed a check. Called only where there is a key. */
  readonly body: () => unknown;
}

/**
 * Runs a request that creates or charges once for each `Idempotency-Key` (platform-contract.md, section 1.6): a repetition gets the first answer, with another
 * body 422; one that comes while the first runs waits for it, and is 409 after ten seconds. Failures of ours (5xx) and 429 are not kept.
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
  // A body may hold a password, which a hash of the body alone would tell to whoever reads the store and guesses. The key, which is kept nowhere, is guessed by nobody.
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
    // The version before has kept the other one.
    if (!isSameBody(existing.bodySha256))
      throw new AppError('idempotency_key_reused', 'The Idempotency-Key was used with another body.');
    if (existing.state === 'answered') return replay(existing.response);
    if (performance.now() > deadlineMs)
      throw new AppError('state_conflict', 'A request with this Idempotency-Key is still running.');
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
  // What was done is done, and is told: forgotten for want of a place to keep its answer, it would be done again at once. So its key stands as running, which is 409, until the store
  // takes that for dead; from then on a repetition would run.
  const logFailure = (storing: Promise<void>): Promise<void> =>
    storing.catch((error: unknown) => log.error({ err: error }, 'the answer of an Idempotency-Key could not be kept'));
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
  await logFailure(store.save(id, { status: reply.status, body: withoutSecrets(reply.body), headers: reply.headers }));
  return result;
}

const toStoredResponse = ({ status, code, message, details, headers }: AppError): StoredResponse => ({
  status,
  body: { code, message, details },
  headers,
});

/** What a repetition may change is not kept: a failure of ours, and that there were too many requests. */
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
