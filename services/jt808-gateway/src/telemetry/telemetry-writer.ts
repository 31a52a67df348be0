import { maxBatchBytes, TelemetryBatch, telemetrySubject } from '@fleet/bus';
import { type Frame, generalReplyMaxBytes, writeGeneralReply } from '@fleet/jt808';
import type { Session } from '../domain/device.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { Connection } from '../net/connection.ts';

/**
 * Publishes a payload and calls `done` with the result. Returns false, without calling `done`, when the payload is
 * refused.
 */
type PublishToStream = (subject: string, payload: Uint8Array, done: (stored: boolean) => void) => boolean;

const firstAckBytes = 2048;
/**
 * Maximum number of unconfirmed batches per partition. Further reports collect in one growing batch: fewer, larger
 * messages under load.
 */
const maxInFlight = 4;

const editionIndexes = { '2011': 0, '2013': 1, '2019': 2 } as const;

/** Reports of one partition that wait for JetStream, with their acknowledgements. */
class Partition {
  readonly subject: string;
  readonly batch = new TelemetryBatch();
  /** Connections with acknowledgements in `acks`; those of index i start at `ackOffsets[i]`. */
  connections: Connection[] = [];
  ackOffsets: number[] = [];
  acks = Buffer.allocUnsafe(firstAckBytes);
  acksUsed = 0;
  /** Callbacks for the result of the batch. */
  resultListeners: ((isStored: boolean) => void)[] = [];
  inFlight = 0;

  constructor(subject: string) {
    this.subject = subject;
  }
}

/**
 * Writes location reports to JetStream. The reports of all terminals in one event-loop iteration form one message.
 * Their acknowledgements are encoded into one buffer in advance and sent when JetStream has confirmed the message.
 * Nothing is awaited, allocated or logged per report.
 */
export class TelemetryWriter {
  readonly #publish: PublishToStream;
  readonly #metrics: GatewayMetrics;
  readonly #partitions: readonly Partition[];
  readonly #dirty = new Set<Partition>();
  readonly #flushAll = (): void => this.flush();
  #isScheduled = false;

  constructor(options: { publish: PublishToStream; partitions: number; metrics: GatewayMetrics }) {
    this.#publish = options.publish;
    this.#metrics = options.metrics;
    this.#partitions = Array.from({ length: options.partitions }, (_, index) => new Partition(telemetrySubject(index)));
  }

  /**
   * Appends a report of a session, which is acknowledged when stored. `body` is that of the frame or of the joined
   * parts. `onResult` is optional, as few reports need it.
   */
  append(session: Session, frame: Frame, body: Buffer, onResult?: (isStored: boolean) => void): void {
    const { connection, device, address } = session;
    const partition = this.#partitions[device.partition] as Partition;
    const { batch } = partition;
    if (batch.size + body.length + 64 > maxBatchBytes) this.#send(partition);
    const { serial, messageId } = frame;
    batch.append(editionIndexes[session.edition], address.phoneBytes, messageId, serial, connection.receivedAtMs, body);
    if (partition.connections.at(-1) !== connection) {
      partition.connections.push(connection);
      connection.pendingAcks += 1;
      partition.ackOffsets.push(partition.acksUsed);
    }
    if (partition.acksUsed + generalReplyMaxBytes > partition.acks.length) growAcks(partition);
    partition.acksUsed = writeGeneralReply(
      partition.acks,
      partition.acksUsed,
      address,
      device.serials.nextSerial(),
      serial,
      messageId,
      0,
    );
    if (onResult !== undefined) partition.resultListeners.push(onResult);
    this.#metrics.hot.reports += 1;
    this.#dirty.add(partition);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#flushAll);
  }

  /** Publishes the collected reports, except for partitions with too many unconfirmed batches. */
  flush(): void {
    this.#isScheduled = false;
    for (const partition of this.#dirty) if (partition.inFlight < maxInFlight) this.#send(partition);
  }

  #send(partition: Partition): void {
    this.#dirty.delete(partition);
    const count = partition.batch.count;
    if (count === 0) return;
    const { connections, ackOffsets, acks, acksUsed, resultListeners } = partition;
    const payload = partition.batch.take();
    partition.connections = [];
    partition.ackOffsets = [];
    partition.acks = Buffer.allocUnsafe(Math.max(firstAckBytes, acksUsed));
    partition.acksUsed = 0;
    partition.resultListeners = [];
    partition.inFlight += 1;
    const sentAtMs = performance.now();
    this.#metrics.batchReports.observe(count);
    const done = (isStored: boolean): void => {
      partition.inFlight -= 1;
      this.#metrics.pubAckSeconds.observe((performance.now() - sentAtMs) / 1_000);
      this.#metrics.batches.inc({ result: isStored ? 'stored' : 'dropped' });
      if (isStored) this.#metrics.hot.framesOut += count;
      else this.#metrics.hot.reportsDropped += count;
      for (const listener of resultListeners) listener(isStored);
      acknowledge(connections, ackOffsets, acks, acksUsed, isStored);
      if (partition.batch.count > 0 && this.#dirty.has(partition)) this.#send(partition);
    };
    if (!this.#publish(partition.subject, payload, done)) done(false);
  }
}

function growAcks(partition: Partition): void {
  const larger = Buffer.allocUnsafe(partition.acks.length * 2);
  partition.acks.copy(larger, 0, 0, partition.acksUsed);
  partition.acks = larger;
}

/** Sends all acknowledgements of a socket in one write, even if its reports are spread over the batch. */
function acknowledge(
  connections: readonly Connection[],
  ackOffsets: readonly number[],
  acks: Buffer,
  end: number,
  isStored: boolean,
): void {
  const hasRepeats = isStored && connections.length > 1 && new Set(connections).size < connections.length;
  const merged = hasRepeats ? new Map<Connection, Buffer[]>() : undefined;
  for (let i = 0; i < connections.length; i += 1) {
    const connection = connections[i] as Connection;
    connection.pendingAcks -= 1;
    if (!isStored) continue;
    const bytes = acks.subarray(ackOffsets[i], ackOffsets[i + 1] ?? end);
    if (merged === undefined) connection.send(bytes);
    else merged.set(connection, [...(merged.get(connection) ?? []), bytes]);
  }
  if (merged === undefined) return;
  for (const [connection, slices] of merged)
    connection.send(slices.length === 1 ? (slices[0] as Buffer) : Buffer.concat(slices));
}
