import { randomUUID } from 'node:crypto';
import {
  type Bus,
  type DataUsageReported,
  dataUsageSubject,
  encodeJson,
  JetStreamPublisher,
  maxUsageSpans,
  type StreamUsageKind,
} from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import type { StreamId, StreamKind } from '@fleet/storage';

/** A stream whose bytes are counted. */
interface CountedStream {
  readonly id: StreamId;
  readonly counters: { readonly bytes: number };
}

/** A stream that has begun, with the counter that the last confirmed report contained. */
interface Session extends CountedStream {
  readonly name: string;
  confirmedBytes: number;
  hasEnded: boolean;
}

/** A report that is not yet confirmed, and the sessions of its spans. */
interface Report {
  readonly payload: DataUsageReported;
  readonly sessions: readonly Session[];
}

const usageKinds: Readonly<Record<StreamKind, StreamUsageKind>> = { live: 'live', history: 'playback', talk: 'talk' };
const finalReportTimeoutMs = 3_000;
/** A report that was given up may have been stored: it is published again unchanged with the next call. */
const publishTimeoutMs = 30_000;

/**
 * Reports the bytes that cameras sent, as spans of a counter per stream. One report at a time is published until it is
 * stored, without changes, so that its bytes count once in one month. A crash loses the bytes since the last report.
 */
export class DataUsageReporter {
  readonly #subject: string;
  readonly #publisher: JetStreamPublisher;
  /** By the counters of the stream, which outlive it until they are reported. */
  readonly #sessions = new Map<CountedStream['counters'], Session>();
  #report: Report | null = null;
  #isPublishing = false;

  constructor(bus: Bus, podId: string, log: Logger) {
    this.#subject = dataUsageSubject(podId);
    this.#publisher = new JetStreamPublisher(bus, {
      timeoutMs: publishTimeoutMs,
      onRejected: (detail) => log.warn({ detail }, 'could not report received bytes yet'),
    });
  }

  /** Reports the bytes since the last confirmed report; call it regularly. */
  report(streams: Iterable<CountedStream>): void {
    for (const stream of streams) this.#findOrAddSession(stream);
    this.#publishNext();
  }

  /** Marks a stream as ended: its counter no longer changes. */
  onEnded(stream: CountedStream): void {
    this.#findOrAddSession(stream).hasEnded = true;
  }

  /** Reports the rest and closes the publisher. */
  async stop(): Promise<void> {
    const deadlineMs = performance.now() + finalReportTimeoutMs;
    this.#publishNext();
    while (this.#report !== null && performance.now() < deadlineMs) {
      await this.#publisher.flush(deadlineMs - performance.now());
      this.#publishNext();
    }
    this.#publisher.stop();
  }

  #findOrAddSession({ id, counters }: CountedStream): Session {
    const known = this.#sessions.get(counters);
    if (known !== undefined) return known;
    const session: Session = { name: randomUUID(), id, counters, confirmedBytes: 0, hasEnded: false };
    this.#sessions.set(counters, session);
    return session;
  }

  #publishNext(): void {
    if (this.#isPublishing) return;
    this.#report ??= this.#createReport();
    const report = this.#report;
    if (report === null) return;
    this.#isPublishing = true;
    const onDone = (isStored: boolean): void => {
      this.#isPublishing = false;
      if (!isStored) return;
      this.#confirm(report);
      this.#report = null;
    };
    if (!this.#publisher.publish(this.#subject, encodeJson(report.payload), onDone)) this.#isPublishing = false;
  }

  #createReport(): Report | null {
    const sessions = [...this.#sessions.values()]
      .filter(({ counters, confirmedBytes }) => counters.bytes > confirmedBytes)
      .slice(0, maxUsageSpans);
    this.#deleteEnded();
    if (sessions.length === 0) return null;
    const spans = sessions.map(({ name, id, counters, confirmedBytes }) => ({
      session: name,
      imei: id.imei,
      channel: id.channel,
      kind: usageKinds[id.kind],
      fromBytes: confirmedBytes,
      toBytes: counters.bytes,
    }));
    return { payload: { atMs: Date.now(), spans }, sessions };
  }

  #confirm({ payload, sessions }: Report): void {
    for (const [index, session] of sessions.entries())
      session.confirmedBytes = payload.spans[index]?.toBytes ?? session.confirmedBytes;
    this.#deleteEnded();
  }

  #deleteEnded(): void {
    for (const [counters, { hasEnded, confirmedBytes }] of this.#sessions)
      if (hasEnded && confirmedBytes >= counters.bytes) this.#sessions.delete(counters);
  }
}
