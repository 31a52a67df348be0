import { setTimeout as delay } from 'node:timers/promises';
import {
  type ConsumerInfo,
  createInbox,
  DeliverPolicy,
  type Msg,
  NatsError,
  RetentionPolicy,
  type Subscription,
} from 'nats';
import type { Bus } from './connection.ts';
import { isNotFound, isUnavailable, untilAvailable } from './jetstream-errors.ts';
import { createdAtMetadata, streamCreatedAt } from './streams.ts';

/** The durable consumer of a stream, and the last message that it and all before it have acknowledged. */
export interface ConsumerPosition {
  readonly config: Readonly<Record<string, unknown>>;
  readonly acknowledgedSequence: number;
}

/** A stream of the broker. */
export interface StoredStream {
  readonly name: string;
  /** Whether it deletes acknowledged messages. */
  readonly isWorkQueue: boolean;
  readonly messages: number;
  /** Sequence number of the last message that was ever stored. */
  readonly lastSequence: number;
}

/** What JetStream needs to restore a stream, apart from its bytes. */
export interface StreamDescription {
  readonly config: Readonly<Record<string, unknown>>;
  readonly state: Readonly<Record<string, unknown>>;
}

interface StreamSnapshot {
  readonly description: StreamDescription;
  readonly chunks: AsyncIterable<Uint8Array>;
}

interface SnapshotOptions {
  /** Includes the state of consumers as it is now. */
  readonly hasConsumers: boolean;
}

interface RestoreOptions {
  /** Replaces the number of replicas, for servers of another number. */
  readonly replicas: number;
  /** Consumers to create, for a snapshot without them. */
  readonly consumers: readonly ConsumerPosition[];
}

type ApiReply = Readonly<Record<string, unknown>> & {
  readonly error?: { readonly code: number; readonly description?: string };
};

const maxRestoreAttempts = 5;
const replicaIntervalMs = 200;
/** NATS ends a restore that receives nothing for five seconds. */
const restoreRetryMs = 6_000;
const requestTimeoutMs = 30_000;
const namesTimeoutMs = 5_000;
/** The server reads all messages of a restored stream before the last response. */
const finishTimeoutMs = 600_000;
/** A snapshot without a chunk for this long has failed. */
const silenceTimeoutMs = 120_000;
const chunkBytes = 128 * 1024;
/** "No content": the end of a snapshot. */
const endCode = 204;

/**
 * Returns all streams, by name. Each is requested by its name: a list of a cluster leaves out streams and consumers whose
 * leader does not respond.
 */
export async function listStreams(bus: Bus): Promise<StoredStream[]> {
  const { streams } = await untilAvailable(() => bus.jetstreamManager());
  const names = await untilAvailable(() => readAllNames(bus, 'STREAM.NAMES', 'streams'));
  const found: StoredStream[] = [];
  for (const name of names.toSorted()) {
    const { config, state } = await untilAvailable(() => streams.info(name));
    found.push({
      name,
      isWorkQueue: config.retention === RetentionPolicy.Workqueue,
      messages: state.messages,
      lastSequence: state.last_seq,
    });
  }
  return found;
}

/** Deletes a stream with its messages and consumers, if it exists. */
export async function deleteStream(bus: Bus, name: string): Promise<void> {
  await untilAvailable(async () => (await bus.jetstreamManager()).streams.delete(name).catch(ignoreMissing));
}

/** Returns the positions of the durable consumers of a stream. */
export async function listConsumerPositions(bus: Bus, stream: string): Promise<ConsumerPosition[]> {
  const { consumers } = await untilAvailable(() => bus.jetstreamManager());
  const names = await untilAvailable(() => readAllNames(bus, `CONSUMER.NAMES.${stream}`, 'consumers'));
  const positions: ConsumerPosition[] = [];
  for (const name of names) {
    const found = await untilAvailable(() => consumers.info(stream, name).catch(ignoreMissing));
    if (found?.config.durable_name !== undefined)
      positions.push({ config: { ...found.config }, acknowledgedSequence: readPosition(found) });
  }
  return positions;
}

/** After an election, a consumer that has delivered nothing yet no longer has the floor with which it was created. */
const readPosition = ({ ack_floor: floor, config: { opt_start_seq: start = 1 } }: ConsumerInfo): number =>
  Math.max(floor.stream_seq, start - 1);

/** Consumers of a single reader disappear with it, and an unfinished restore after a while. */
function ignoreMissing(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/** Reads the pages of an API that returns names. */
async function readAllNames(bus: Bus, method: string, field: 'streams' | 'consumers'): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const reply = await callApi(bus, method, { offset: names.length }, namesTimeoutMs);
    const page = (reply[field] ?? []) as readonly string[];
    names.push(...page);
    if (page.length === 0 || names.length >= Number(reply['total'])) return names;
  }
}

/** Requests a snapshot of a stream. Its chunks must be read to the end. */
export async function startSnapshot(bus: Bus, stream: string, options: SnapshotOptions): Promise<StreamSnapshot> {
  return untilAvailable(() => requestSnapshot(bus, stream, options));
}

async function requestSnapshot(bus: Bus, stream: string, options: SnapshotOptions): Promise<StreamSnapshot> {
  const inbox = createInbox();
  const messages = bus.nc.subscribe(inbox);
  try {
    const createdAt = await streamCreatedAt(bus, stream);
    const { config, state } = await callApi(bus, `STREAM.SNAPSHOT.${stream}`, {
      deliver_subject: inbox,
      no_consumers: !options.hasConsumers,
      chunk_size: chunkBytes,
    });
    const metadata = { [createdAtMetadata]: createdAt };
    const description = { config: { ...(config as object), metadata }, state } as StreamDescription;
    return { description, chunks: readChunks(messages) };
  } catch (error) {
    messages.unsubscribe();
    throw error;
  }
}

/** Reads messages up to the empty one. Each response lets the server send further chunks. */
async function* readChunks(messages: Subscription): AsyncGenerator<Uint8Array> {
  let timer = setTimeout(() => messages.unsubscribe(), silenceTimeoutMs);
  try {
    for await (const message of messages) {
      clearTimeout(timer);
      if (message.data.length === 0) {
        const { code = 0, description = '' } = message.headers ?? {};
        if (code === 0 || code === endCode) return;
        throw new Error(`NATS ended the snapshot of a stream: ${code} ${description}. Run the backup again.`);
      }
      yield message.data;
      message.respond();
      timer = setTimeout(() => messages.unsubscribe(), silenceTimeoutMs);
    }
    throw new Error('NATS sent no more of a stream: check its servers, then run the backup again.');
  } finally {
    clearTimeout(timer);
    messages.unsubscribe();
  }
}

/**
 * Creates a stream from a snapshot, whose chunks are read again for each attempt: a cluster forgets an unfinished restore
 * when its leader changes. Throws if the stream exists.
 */
export async function restoreStream(
  bus: Bus,
  description: StreamDescription,
  readSnapshot: () => AsyncIterable<Uint8Array>,
  { replicas, consumers }: RestoreOptions,
): Promise<void> {
  const name = String(description.config['name']);
  for (let attempt = 1; ; attempt += 1) {
    const subject = await untilAvailable(() => requestRestore(bus, description, replicas));
    try {
      await sendSnapshot(bus, subject, readSnapshot());
      break;
    } catch (error) {
      if (!isUnavailable(error) || attempt === maxRestoreAttempts) throw error;
      await delay(restoreRetryMs);
      await deleteStream(bus, name);
    }
  }
  await waitForReplicas(bus, name);
  for (const consumer of consumers) await untilAvailable(() => createConsumer(bus, name, consumer));
}

/** Waits until all servers of a stream have its messages: only the leader has restored them. */
async function waitForReplicas(bus: Bus, name: string): Promise<void> {
  const deadlineMs = performance.now() + finishTimeoutMs;
  const { streams } = await untilAvailable(() => bus.jetstreamManager());
  for (;;) {
    const { cluster } = await untilAvailable(() => streams.info(name));
    const late = cluster?.replicas?.filter(({ current }) => !current) ?? [];
    if (late.length === 0) return;
    if (performance.now() > deadlineMs)
      throw new Error(`${late.map((server) => server.name).join(', ')} received no copy of ${name}`);
    await delay(replicaIntervalMs);
  }
}

/** Returns the subject that receives the snapshot. */
async function requestRestore(bus: Bus, { config, state }: StreamDescription, replicas: number): Promise<string> {
  const { placement: _placement, metadata, ...settings } = config;
  // Servers add metadata of their own. A cluster gives the restored stream a new time of creation.
  const createdAt = (metadata as Readonly<Record<string, string>> | undefined)?.[createdAtMetadata];
  const { deliver_subject: subject } = await callApi(bus, `STREAM.RESTORE.${String(config['name'])}`, {
    config: {
      ...settings,
      num_replicas: replicas,
      ...(createdAt === undefined ? {} : { metadata: { [createdAtMetadata]: createdAt } }),
    },
    state,
  });
  return String(subject);
}

/** Sends all chunks, each after the response to the one before, and the end. */
async function sendSnapshot(bus: Bus, subject: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const send = async (data: Uint8Array, timeout: number): Promise<void> => {
    parseReply(await bus.nc.request(subject, data, { timeout }), subject);
  };
  for await (const chunk of chunks) await send(chunk, requestTimeoutMs);
  await send(new Uint8Array(), finishTimeoutMs);
}

/** Creates a durable consumer that continues after the last message that it had acknowledged. */
async function createConsumer(bus: Bus, stream: string, position: ConsumerPosition): Promise<void> {
  const { opt_start_seq: _seq, opt_start_time: _time, metadata: _metadata, ...config } = position.config;
  const start =
    position.acknowledgedSequence === 0
      ? { deliver_policy: DeliverPolicy.All }
      : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: position.acknowledgedSequence + 1 };
  await (await bus.jetstreamManager()).consumers.add(stream, { ...config, ...start });
}

async function callApi(bus: Bus, method: string, body: object, timeout = requestTimeoutMs): Promise<ApiReply> {
  const data = new TextEncoder().encode(JSON.stringify(body));
  return parseReply(await bus.nc.request(`$JS.API.${method}`, data, { timeout }), method);
}

/** Parses a response of JetStream. Throws its error. */
function parseReply(message: Msg, what: string): ApiReply {
  if (message.data.length === 0) return {};
  const reply = message.json<ApiReply>();
  if (reply.error !== undefined)
    throw new NatsError(
      `NATS refused ${what}: ${reply.error.description ?? 'unknown error'}.`,
      String(reply.error.code),
    );
  return reply;
}
