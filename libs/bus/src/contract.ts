import { lazyCheck, type SchemaCheck } from '@fleet/service-kit';
import { Ajv } from 'ajv';
import { ErrorCode, headers, type Msg, type MsgHdrs, NatsError } from 'nats';
import type { Static, TSchema } from 'typebox';
import { type Bus, endSubscription, waitForConnection } from './connection.ts';

const ajv = new Ajv({ strict: false });
const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** A call that begins during an outage waits this long for its end: what is published without a connection is dropped silently. */
const reconnectTimeoutMs = 2_000;

/** A request-reply subject with the schemas of both payloads; both ends check them. */
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

/** A subject on which messages are published without an answer. */
export interface EventContract<T extends TSchema> {
  readonly subject: string;
  readonly schema: T;
  readonly check: SchemaCheck;
}

/** Declares a subject without an answer. */
export const defineEvent = <T extends TSchema>(definition: { subject: string; schema: T }): EventContract<T> => ({
  ...definition,
  check: lazyCheck(ajv, definition.schema),
});

/** Returns the check of one payload schema. */
export const compileCheck = (schema: TSchema): SchemaCheck => lazyCheck(ajv, schema);

/** A request over the bus did not get a usable answer. */
export class BusError extends Error {
  override readonly name = 'BusError';
  readonly kind: 'noResponders' | 'timedOut' | 'disconnected' | 'invalid' | 'failed';
  constructor(kind: BusError['kind'], message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.kind = kind;
  }
}

/** How a request is sent. */
export interface RequestOptions {
  readonly timeoutMs: number;
  readonly correlationId?: string;
  /** For the one command to a terminal that the request leads to: what repeats it under the same id is joined to it, and the terminal gets it once. */
  readonly command?: CommandIdentity;
}

/** Names one command to a terminal across repetitions. */
export interface CommandIdentity {
  /** 128 random bits in hex, `Command-Id`. */
  readonly id: string;
  /** True where an earlier request with this id may have reached a gateway. */
  readonly isRetry: boolean;
}

/** Sends a request and answers the checked reply; throws a BusError otherwise. */
export async function request<Q extends TSchema, A extends TSchema>(
  bus: Bus,
  contract: RequestContract<Q, A>,
  body: Static<Q>,
  options: RequestOptions,
): Promise<Static<A>> {
  const startedAtMs = performance.now();
  if (!(await waitForConnection(bus, Math.min(reconnectTimeoutMs, options.timeoutMs))))
    throw new BusError('disconnected', `${contract.subject} could not be sent: the broker is away.`);
  const timeoutMs = Math.max(1, Math.round(options.timeoutMs - (performance.now() - startedAtMs)));
  const requestHeaders = headers();
  if (options.correlationId !== undefined) requestHeaders.set(headerNames.correlationId, options.correlationId);
  requestHeaders.set(headerNames.timeoutMs, String(timeoutMs));
  if (options.command !== undefined) requestHeaders.set(headerNames.commandId, options.command.id);
  if (options.command?.isRetry === true) requestHeaders.set(headerNames.retry, '1');
  let message: Msg;
  try {
    message = await bus.nc.request(contract.subject, encodeJson(body), { timeout: timeoutMs, headers: requestHeaders });
  } catch (cause) {
    const code = cause instanceof NatsError ? cause.code : undefined;
    if (code === ErrorCode.NoResponders)
      throw new BusError('noResponders', `Nobody serves ${contract.subject}.`, cause);
    if (code === ErrorCode.Timeout)
      throw new BusError('timedOut', `${contract.subject} was not answered in time.`, cause);
    throw new BusError('disconnected', `${contract.subject} could not be sent.`, cause);
  }
  const failure = message.headers?.get(headerNames.error);
  if (failure) throw new BusError('failed', failure);
  return parseReply(contract, message.data);
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

/** What a handler of a bus request knows beside the body. */
export interface BusContext {
  readonly correlationId: string;
  readonly timeoutMs: number | undefined;
  /** The name under which the command is to go to the terminal, where the caller has given one. */
  readonly command: CommandIdentity | undefined;
}

/**
 * Serves a request-reply subject in a queue group; a handler that throws, or answers what the contract does not allow, is answered as a failure whose text
 * stays here, in `onError`. `stop` lets what is under way be answered.
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
    try {
      respondSafely(message, await handle(message), undefined, options.onError);
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

/** Answers a message; a connection that is closed, or a reply that is too large for the broker, goes to `onError` instead of ending the process. */
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

/** Publishes a message without an answer; it is lost when the broker is away. */
export function publish<T extends TSchema>(
  bus: Bus,
  event: EventContract<T>,
  body: Static<T>,
  subject = event.subject,
): void {
  // A closed connection is as good as a broker that is away.
  if (!bus.nc.isClosed()) bus.nc.publish(subject, encodeJson(body));
  if (!bus.isUp()) bus.emitPublishDropped(subject);
}

/** Hears messages without an answer; those that do not fit the schema go to `onError`. With `queue` one of those that give it hears each. */
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
        handler(body as Static<T>, message.subject);
      } catch (cause) {
        onError(cause);
      }
    },
  });
  return { stop: () => subscription.unsubscribe() };
}

/** Names of the headers that requests carry. */
export const headerNames = {
  /** The HTTP request's `X-Request-Id`: for logs alone, never decides anything. */
  correlationId: 'Correlation-Id',
  /** 128 random bits made once for each command; joins repeated asks. */
  commandId: 'Command-Id',
  /** What is left of the wait when the hop sends it: a duration, so that no two clocks have to agree. */
  timeoutMs: 'Timeout-Ms',
  /** Set on an ask that repeats one which may have reached a gateway. */
  retry: 'Re-Ask',
  /** How long ago the command was first asked; with `Re-Ask` only. */
  commandAgeMs: 'Asked-For-Ms',
  /** On the command subject of a terminal: another gateway has its session now. */
  takenBy: 'Taken-By',
  error: 'Error',
} as const;

/** Encodes a JSON payload. */
export const encodeJson = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** Decodes a JSON payload; throws on anything else. */
export const decodeJson = (data: Uint8Array): unknown => JSON.parse(decoder.decode(data)) as unknown;

/** Reads a header that holds a number of milliseconds. */
export function parseNumberHeader(head: MsgHdrs | undefined, name: string): number | undefined {
  const text = head?.get(name) ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
