import { lazyCheck, type SchemaCheck, type TraceSpan, tracer } from '@fleet/service-kit';
import { Ajv } from 'ajv';
import { ErrorCode, headers, type Msg, type MsgHdrs, NatsError } from 'nats';
import type { Static, TSchema } from 'typebox';
import { type Bus, endSubscription, waitForConnection } from './connection.ts';
import { headerNames } from './header-names.ts';
import { HeartbeatLostError, requestWithHeartbeats, sendHeartbeats } from './heartbeats.ts';
import { injectTrace, startSendSpan, traceProcessing } from './trace-messages.ts';

export { headerNames } from './header-names.ts';

const ajv = new Ajv({ strict: false });
const encoder = new TextEncoder();
const decoder = new TextDecoder();
/**
 * Longest wait for the end of an outage before a request is sent: messages published without a connection are dropped
 * silently.
 */
const reconnectTimeoutMs = 2_000;

/** A request-reply subject with the schemas of both payloads; both sides validate them. */
export interface RequestContract<Q extends TSchema, A extends TSchema> {
  readonly subject: string;
  readonly request: Q;
  readonly reply: A;
  readonly checkRequest: SchemaCheck;
  readonly checkReply: SchemaCheck;
}

/** Declares a request-reply subject. */
export const defineRequest = <Q extends TSchema, A extends TSchema>(definition: {
  subject: string;
  request: Q;
  reply: A;
}): RequestContract<Q, A> => ({
  ...definition,
  checkRequest: lazyCheck(ajv, definition.request),
  checkReply: lazyCheck(ajv, definition.reply),
});

/** A subject for events: messages without a reply. */
export interface EventContract<T extends TSchema> {
  readonly subject: string;
  readonly schema: T;
  readonly check: SchemaCheck;
}

/** Declares a subject for events. */
export const defineEvent = <T extends TSchema>(definition: { subject: string; schema: T }): EventContract<T> => ({
  ...definition,
  check: lazyCheck(ajv, definition.schema),
});

/** Returns the validator of one payload schema. */
export const compileCheck = (schema: TSchema): SchemaCheck => lazyCheck(ajv, schema);

/** Thrown for a request over the bus that received no usable reply. */
export class BusError extends Error {
  override readonly name = 'BusError';
  /** `lost`: the service died after it had received the request, or its connection was interrupted. */
  readonly kind: 'noResponders' | 'timedOut' | 'lost' | 'disconnected' | 'invalid' | 'failed';
  constructor(kind: BusError['kind'], message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.kind = kind;
  }
}

/** Options of a request. */
export interface RequestOptions {
  readonly timeoutMs: number;
  readonly correlationId?: string;
  /**
   * Names the one terminal command that the request causes. A retry with the same id joins it, and the terminal
   * receives it once.
   */
  readonly command?: CommandIdentity;
  /** Time without a heartbeat after which the service counts as dead; by default only the time-out ends the wait. */
  readonly lostAfterMs?: number;
}

/** Identifies one terminal command across retries. */
export interface CommandIdentity {
  /** 128 random bits in hex, `Command-Id`. */
  readonly id: string;
  /** True if an earlier request with this id may have reached a gateway. */
  readonly isRetry: boolean;
}

/** Sends a request and returns the validated reply. Throws a BusError otherwise. */
export function request<Q extends TSchema, A extends TSchema>(
  bus: Bus,
  contract: RequestContract<Q, A>,
  body: Static<Q>,
  options: RequestOptions,
): Promise<Static<A>> {
  const span = startSendSpan('request', contract.subject);
  if (span === undefined || tracer === undefined) return sendRequest(bus, contract, body, options);
  return tracer.runInSpan(span, () => sendRequest(bus, contract, body, options, span));
}

async function sendRequest<Q extends TSchema, A extends TSchema>(
  bus: Bus,
  contract: RequestContract<Q, A>,
  body: Static<Q>,
  options: RequestOptions,
  span?: TraceSpan,
): Promise<Static<A>> {
  const startedAtMs = performance.now();
  if (!(await waitForConnection(bus, Math.min(reconnectTimeoutMs, options.timeoutMs))))
    throw new BusError('disconnected', `${contract.subject} could not be sent: the broker is unavailable.`);
  const timeoutMs = Math.max(1, Math.round(options.timeoutMs - (performance.now() - startedAtMs)));
  const requestHeaders = headers();
  if (span !== undefined) injectTrace(span, requestHeaders);
  if (options.correlationId !== undefined) requestHeaders.set(headerNames.correlationId, options.correlationId);
  requestHeaders.set(headerNames.timeoutMs, String(timeoutMs));
  if (options.command !== undefined) requestHeaders.set(headerNames.commandId, options.command.id);
  if (options.command?.isRetry === true) requestHeaders.set(headerNames.retry, '1');
  const { lostAfterMs } = options;
  let message: Msg;
  try {
    message =
      lostAfterMs === undefined
        ? await bus.nc.request(contract.subject, encodeJson(body), { timeout: timeoutMs, headers: requestHeaders })
        : await requestWithHeartbeats(bus, contract.subject, {
            data: encodeJson(body),
            head: requestHeaders,
            timeoutMs,
            lostAfterMs,
          });
  } catch (cause) {
    throw toBusError(contract.subject, cause);
  }
  const failure = message.headers?.get(headerNames.error);
  if (failure) throw new BusError('failed', failure);
  return parseReply(contract, message.data);
}

function toBusError(subject: string, cause: unknown): BusError {
  if (cause instanceof HeartbeatLostError) return new BusError('lost', `The service of ${subject} has died.`, cause);
  const code = cause instanceof NatsError ? cause.code : undefined;
  if (code === ErrorCode.NoResponders) return new BusError('noResponders', `No service handles ${subject}.`, cause);
  if (code === ErrorCode.Timeout) return new BusError('timedOut', `${subject} timed out.`, cause);
  return new BusError('disconnected', `${subject} could not be sent.`, cause);
}

function parseReply<Q extends TSchema, A extends TSchema>(
  contract: RequestContract<Q, A>,
  data: Uint8Array,
): Static<A> {
  let reply: unknown;
  try {
    reply = decodeJson(data);
  } catch (cause) {
    throw new BusError('invalid', `The reply on ${contract.subject} is not JSON.`, cause);
  }
  if (contract.checkReply(reply)) return reply as Static<A>;
  const faults = ajv.errorsText(contract.checkReply.errors);
  throw new BusError('invalid', `The reply on ${contract.subject} is not valid: ${faults}.`);
}

/** Context of a bus request in addition to its body. */
export interface BusContext {
  readonly correlationId: string;
  readonly timeoutMs: number | undefined;
  /** `Command-Id` for the terminal command, if the caller assigned one. */
  readonly command: CommandIdentity | undefined;
}

/**
 * Serves a request-reply subject in a queue group. A handler that throws, or breaks the contract, becomes a failure
 * without details; `onError` receives the details. `stop` finishes pending requests.
 */
export function serve<Q extends TSchema, A extends TSchema>(
  bus: Bus,
  contract: RequestContract<Q, A>,
  options: { queue: string; onError: (error: unknown) => void },
  handler: (body: Static<Q>, context: BusContext) => Promise<Static<A>>,
): { stop(): Promise<void> } {
  const inFlight = new Set<Promise<void>>();
  const handle = async (message: Msg): Promise<Uint8Array> => {
    const body = decodeJson(message.data);
    if (!contract.checkRequest(body))
      throw new Error(`invalid request on ${contract.subject}: ${ajv.errorsText(contract.checkRequest.errors)}`);
    const reply = await handler(body as Static<Q>, {
      correlationId: message.headers?.get(headerNames.correlationId) ?? '',
      timeoutMs: parseNumberHeader(message.headers, headerNames.timeoutMs),
      command: parseCommandIdentity(message.headers),
    });
    if (!contract.checkReply(reply))
      throw new Error(`invalid reply on ${contract.subject}: ${ajv.errorsText(contract.checkReply.errors)}`);
    return encodeJson(reply);
  };
  const respond = async (message: Msg): Promise<void> => {
    const endHeartbeats = sendHeartbeats(message);
    try {
      const handling = traceProcessing(contract.subject, message.headers, () => handle(message));
      respondSafely(message, await handling.finally(endHeartbeats), undefined, options.onError);
    } catch (error) {
      options.onError(error);
      const head = headers();
      head.set(headerNames.error, `${contract.subject} failed.`);
      respondSafely(message, new Uint8Array(), head, options.onError);
    }
  };
  const subscription = bus.nc.subscribe(contract.subject, {
    queue: options.queue,
    callback: (error, message) => {
      if (error) return options.onError(error);
      const responding = respond(message).finally(() => inFlight.delete(responding));
      inFlight.add(responding);
    },
  });
  return {
    stop: async () => {
      await endSubscription(bus, subscription);
      await Promise.allSettled(inFlight);
    },
  };
}

function parseCommandIdentity(head: MsgHdrs | undefined): CommandIdentity | undefined {
  const id = head?.get(headerNames.commandId) ?? '';
  return /^[0-9a-f]{32}$/.test(id) ? { id, isRetry: head?.has(headerNames.retry) ?? false } : undefined;
}

/**
 * Replies to a message. A closed connection, or a reply too large for the broker, goes to `onError` instead of ending
 * the process.
 */
export function respondSafely(
  message: Msg,
  data: Uint8Array,
  head: MsgHdrs | undefined,
  onError: (error: unknown) => void,
): void {
  try {
    message.respond(data, head === undefined ? {} : { headers: head });
  } catch (error) {
    onError(error);
  }
}

/** Publishes an event. It is lost while the broker is unavailable. */
export function publish<T extends TSchema>(
  bus: Bus,
  event: EventContract<T>,
  body: Static<T>,
  subject = event.subject,
): void {
  const span = startSendSpan('publish', subject);
  const head = span === undefined ? undefined : headers();
  if (span !== undefined && head !== undefined) injectTrace(span, head);
  // A closed connection is handled like an unavailable broker.
  if (!bus.nc.isClosed()) bus.nc.publish(subject, encodeJson(body), head === undefined ? {} : { headers: head });
  span?.end();
  if (!bus.isUp()) bus.emitPublishDropped(subject);
}

/**
 * Subscribes to events. Invalid messages go to `onError`. With `queue`, each message goes to one member of the queue
 * group.
 */
export function subscribe<T extends TSchema>(
  bus: Bus,
  event: EventContract<T>,
  onError: (error: unknown) => void,
  handler: (body: Static<T>, subject: string) => void,
  subject = event.subject,
  queue?: string,
): { stop(): void } {
  const subscription = bus.nc.subscribe(subject, {
    ...(queue === undefined ? {} : { queue }),
    callback: (error, message) => {
      if (error) return onError(error);
      try {
        const body = decodeJson(message.data);
        if (!event.check(body))
          throw new Error(`invalid message on ${message.subject}: ${ajv.errorsText(event.check.errors)}`);
        traceProcessing(message.subject, message.headers, () => handler(body as Static<T>, message.subject));
      } catch (cause) {
        onError(cause);
      }
    },
  });
  return { stop: () => subscription.unsubscribe() };
}

/** Encodes a JSON payload. */
export const encodeJson = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** Decodes a JSON payload; throws for anything else. */
export const decodeJson = (data: Uint8Array): unknown => JSON.parse(decoder.decode(data)) as unknown;

/** Returns a header that holds a number of milliseconds. */
export function parseNumberHeader(head: MsgHdrs | undefined, name: string): number | undefined {
  const text = head?.get(name) ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
