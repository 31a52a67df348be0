import { lazyCheck, type SchemaCheck } from '@fleet/service-kit';
import { Ajv } from 'ajv';
import { ErrorCode, headers, type Msg, type MsgHdrs, NatsError } from 'nats';
import type { Static, TSchema } from 'typebox';
import { type Bus, endSubscription, isUpWithin } from './connection.ts';

const ajv = new Ajv({ strict: false });
const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** A call that begins during an outage waits this long for its end: what is published without a connection is dropped silently. */
const outageLimitMs = 2_000;

/** A request-reply subject with the schemas of both payloads; both ends check them. */
export interface Contract<Q extends TSchema, A extends TSchema> {
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
}): Contract<Q, A> => ({
  ...definition,
  checkRequest: lazyCheck(ajv, definition.request),
  checkReply: lazyCheck(ajv, definition.reply),
});

/** A subject on which messages are published without an answer. */
export interface Announcement<T extends TSchema> {
  readonly subject: string;
  readonly schema: T;
  readonly check: SchemaCheck;
}

/** Declares a subject without an answer. */
export const defineAnnouncement = <T extends TSchema>(definition: { subject: string; schema: T }): Announcement<T> => ({
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
export interface CallOptions {
  readonly timeoutMs: number;
  readonly correlationId?: string;
  /** For the one command to a terminal that the request leads to: what repeats it under the same id is joined to it, and the terminal gets it once. */
  readonly command?: CommandName;
}

/** Names one command to a terminal across repetitions. */
export interface CommandName {
  /** 128 random bits in hex, `Command-Id`. */
  readonly id: string;
  /** True where an earlier request with this id may have reached a gateway. */
  readonly isRepeated: boolean;
}

/** Sends a request and answers the checked reply; throws a BusError otherwise. */
export async function call<Q extends TSchema, A extends TSchema>(
  bus: Bus,
  contract: Contract<Q, A>,
  body: Static<Q>,
  options: CallOptions,
): Promise<Static<A>> {
  const startedAtMs = performance.now();
  if (!(await isUpWithin(bus, Math.min(outageLimitMs, options.timeoutMs))))
    throw new BusError('disconnected', `${contract.subject} could not be sent: the broker is away.`);
  const timeout = Math.max(1, Math.round(options.timeoutMs - (performance.now() - startedAtMs)));
  const head = headers();
  if (options.correlationId !== undefined) head.set(headerNames.correlationId, options.correlationId);
  head.set(headerNames.timeoutMs, String(timeout));
  if (options.command !== undefined) head.set(headerNames.commandId, options.command.id);
  if (options.command?.isRepeated === true) head.set(headerNames.reAsk, '1');
  let message: Msg;
  try {
    message = await bus.nc.request(contract.subject, encodeJson(body), { timeout, headers: head });
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
  return readReply(contract, message.data);
}

function readReply<Q extends TSchema, A extends TSchema>(contract: Contract<Q, A>, data: Uint8Array): Static<A> {
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
  readonly command: CommandName | undefined;
}

/**
 * Serves a request-reply subject in a queue group; a handler that throws, or answers what the contract does not allow, is answered as a failure whose text
 * stays here, in `onError`. `stop` lets what is under way be answered.
 */
export function serve<Q extends TSchema, A extends TSchema>(
  bus: Bus,
  contract: Contract<Q, A>,
  options: { queue: string; onError: (error: unknown) => void },
  handler: (body: Static<Q>, context: BusContext) => Promise<Static<A>>,
): { stop(): Promise<void> } {
  const underWay = new Set<Promise<void>>();
  const work = async (message: Msg): Promise<Uint8Array> => {
    const body = decodeJson(message.data);
    if (!contract.checkRequest(body))
      throw new Error(`invalid request on ${contract.subject}: ${ajv.errorsText(contract.checkRequest.errors)}`);
    const reply = await handler(body as Static<Q>, {
      correlationId: message.headers?.get(headerNames.correlationId) ?? '',
      timeoutMs: numberHeader(message.headers, headerNames.timeoutMs),
      command: commandNameOf(message.headers),
    });
    if (!contract.checkReply(reply))
      throw new Error(`invalid reply on ${contract.subject}: ${ajv.errorsText(contract.checkReply.errors)}`);
    return encodeJson(reply);
  };
  const answer = async (message: Msg): Promise<void> => {
    try {
      respondSafely(message, await work(message), undefined, options.onError);
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
      const answering = answer(message).finally(() => underWay.delete(answering));
      underWay.add(answering);
    },
  });
  return {
    stop: async () => {
      await endSubscription(bus, subscription);
      await Promise.allSettled(underWay);
    },
  };
}

function commandNameOf(head: MsgHdrs | undefined): CommandName | undefined {
  const id = head?.get(headerNames.commandId) ?? '';
  return /^[0-9a-f]{32}$/.test(id) ? { id, isRepeated: head?.has(headerNames.reAsk) ?? false } : undefined;
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
export function announce<T extends TSchema>(
  bus: Bus,
  announcement: Announcement<T>,
  body: Static<T>,
  subject = announcement.subject,
): void {
  // A closed connection is as good as a broker that is away.
  if (!bus.nc.isClosed()) bus.nc.publish(subject, encodeJson(body));
  if (!bus.isUp()) bus.noteUnheard(subject);
}

/** Hears messages without an answer; those that do not fit the schema go to `onError`. With `queue` one of those that give it hears each. */
export function listenFor<T extends TSchema>(
  bus: Bus,
  announcement: Announcement<T>,
  onError: (error: unknown) => void,
  handler: (body: Static<T>, subject: string) => void,
  subject = announcement.subject,
  queue?: string,
): { stop(): void } {
  const subscription = bus.nc.subscribe(subject, {
    ...(queue === undefined ? {} : { queue }),
    callback: (error, message) => {
      if (error) return onError(error);
      try {
        const body = decodeJson(message.data);
        if (!announcement.check(body))
          throw new Error(`invalid message on ${message.subject}: ${ajv.errorsText(announcement.check.errors)}`);
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
  reAsk: 'Re-Ask',
  /** How long ago the command was first asked; with `Re-Ask` only. */
  askedForMs: 'Asked-For-Ms',
  /** On the command subject of a terminal: another gateway has its session now. */
  takenBy: 'Taken-By',
  error: 'Error',
} as const;

/** Encodes a JSON payload. */
export const encodeJson = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** Decodes a JSON payload; throws on anything else. */
export const decodeJson = (data: Uint8Array): unknown => JSON.parse(decoder.decode(data)) as unknown;

/** Reads a header that holds a number of milliseconds. */
export function numberHeader(head: MsgHdrs | undefined, name: string): number | undefined {
  const text = head?.get(name) ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
