import { createInbox, DeliverPolicy, type Msg, RetentionPolicy, type Subscription } from 'nats';
import type { Bus } from './connection.ts';

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
interface StreamDescription {
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

type ApiReply = Readonly<Record<string, unknown>> & { readonly error?: { readonly description?: string } };

const requestTimeoutMs = 30_000;
/** The server reads all messages of a restored stream before the last response. */
const finishTimeoutMs = 600_000;
/** A snapshot without a chunk for this long has failed. */
const silenceTimeoutMs = 120_000;
const chunkBytes = 128 * 1024;
/** "No content": the end of a snapshot. */
const endCode = 204;

/** Returns all streams, by name. */
export async function listStreams(bus: Bus): Promise<StoredStream[]> {
  const found: StoredStream[] = [];
  for await (const { config, state } of (await bus.jetstreamManager()).streams.list())
    found.push({
      name: config.name,
      isWorkQueue: config.retention === RetentionPolicy.Workqueue,
      messages: state.messages,
      lastSequence: state.last_seq,
    });
  return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Deletes a stream with its messages and consumers. */
export async function deleteStream(bus: Bus, name: string): Promise<void> {
  await (await bus.jetstreamManager()).streams.delete(name);
}

/** Returns the positions of the durable consumers of a stream. */
export async function listConsumerPositions(bus: Bus, stream: string): Promise<ConsumerPosition[]> {
  const positions: ConsumerPosition[] = [];
  for await (const { config, ack_floor: floor } of (await bus.jetstreamManager()).consumers.list(stream))
    if (config.durable_name !== undefined)
      positions.push({ config: { ...config }, acknowledgedSequence: floor.stream_seq });
  return positions;
}

/** Requests a snapshot of a stream. Its chunks must be read to the end. */
export async function startSnapshot(bus: Bus, stream: string, options: SnapshotOptions): Promise<StreamSnapshot> {
  const inbox = createInbox();
  const messages = bus.nc.subscribe(inbox);
  try {
    const { config, state } = await callApi(bus, `STREAM.SNAPSHOT.${stream}`, {
      deliver_subject: inbox,
      no_consumers: !options.hasConsumers,
      chunk_size: chunkBytes,
    });
    return { description: { config, state } as StreamDescription, chunks: readChunks(messages) };
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

/** Creates a stream from a snapshot. Throws if it exists. */
export async function restoreStream(
  bus: Bus,
  { config, state }: StreamDescription,
  chunks: AsyncIterable<Uint8Array>,
  { replicas, consumers }: RestoreOptions,
): Promise<void> {
  const name = String(config['name']);
  const { placement: _placement, metadata: _metadata, ...settings } = config;
  const { deliver_subject: subject } = await callApi(bus, `STREAM.RESTORE.${name}`, {
    config: { ...settings, num_replicas: replicas },
    state,
  });
  const send = (data: Uint8Array, timeout: number): Promise<Msg> => bus.nc.request(String(subject), data, { timeout });
  for await (const chunk of chunks) parseReply(await send(chunk, requestTimeoutMs), name);
  parseReply(await send(new Uint8Array(), finishTimeoutMs), name);
  for (const consumer of consumers) await createConsumer(bus, name, consumer);
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

async function callApi(bus: Bus, method: string, body: object): Promise<ApiReply> {
  const data = new TextEncoder().encode(JSON.stringify(body));
  return parseReply(await bus.nc.request(`$JS.API.${method}`, data, { timeout: requestTimeoutMs }), method);
}

/** Parses a response of JetStream. Throws its error. */
function parseReply(message: Msg, what: string): ApiReply {
  if (message.data.length === 0) return {};
  const reply = message.json<ApiReply>();
  if (reply.error !== undefined)
    throw new Error(`NATS refused ${what}: ${reply.error.description ?? 'unknown error'}.`);
  return reply;
}
