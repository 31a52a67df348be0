import { randomBytes } from 'node:crypto';
import type { Bus, DeviceAccessEvent } from '@fleet/bus';
import type { Logger, RequestContext } from '@fleet/service-kit';
import type { Redis } from '@fleet/storage';
import { findOrphanedTalks, type OpenTalk, removeOpenTalk, saveOpenTalk } from '../store/open-talks.ts';
import type { AuditEvent, AuditOutbox } from './audit-outbox.ts';
import { onViewEnd } from './uses.ts';

interface TalkAuditDeps {
  readonly redis: Redis;
  readonly bus: Pick<Bus, 'isUp'>;
  readonly outbox: Pick<AuditOutbox, 'enqueue'>;
  readonly log: Logger;
}

const renewIntervalMs = 2_000;
/** A process that has not renewed a talk for this long has died. */
const silentSeconds = 6;
const sweepIntervalMs = 3_000;

/**
 * Publishes the audit events of talks. Each open talk is recorded in Redis: the process that survives another one
 * publishes the end of its talks.
 */
export class TalkAudit {
  readonly #deps: TalkAuditDeps;
  readonly #timer: NodeJS.Timeout;
  /** Silent talks of the last sweep with their durations: after an outage of Redis all talks are silent at first. */
  #suspects = new Map<string, number>();
  readonly #completing = new Set<string>();

  constructor(deps: TalkAuditDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.#sweep(), sweepIntervalMs);
  }

  /** Publishes the start of a talk, and its end once the response is closed. */
  track(use: AuditEvent, context: RequestContext): void {
    const { outbox, redis } = this.#deps;
    const start: DeviceAccessEvent = { id: createId(), atMs: Date.now(), ...use };
    const startedAtMs = performance.now();
    const talk = { start, endId: createId() };
    const getSeconds = (): number => Math.round((performance.now() - startedAtMs) / 1000);
    outbox.enqueue(start);
    if (context.response.closed) return;
    // In order: a late renewal must not restore a removed talk.
    let pending: Promise<void> = Promise.resolve();
    const run = (work: () => Promise<void>): void => {
      pending = pending
        .then(work)
        .catch((error: unknown) => context.log.warn({ err: error }, 'could not record a talk'));
    };
    const save = (): void => run(() => saveOpenTalk(redis, { ...talk, seconds: getSeconds() }));
    const renewal = setInterval(save, renewIntervalMs);
    context.response.once('close', () => clearInterval(renewal));
    save();
    const remove = (): void => run(() => removeOpenTalk(redis, talk));
    onViewEnd(context, (seconds) => outbox.enqueue(toEnd({ ...talk, seconds }), remove), remove);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #sweep(): Promise<void> {
    const { bus, log, redis } = this.#deps;
    // Without the broker no event is stored.
    if (!bus.isUp()) return;
    try {
      const orphans = await findOrphanedTalks(redis, silentSeconds);
      for (const talk of orphans) if (this.#suspects.get(talk.start.id) === talk.seconds) this.#complete(talk);
      this.#suspects = new Map(orphans.map(({ start, seconds }) => [start.id, seconds]));
    } catch (error) {
      log.warn({ err: error }, 'could not find the talks of killed processes');
    }
  }

  /** Publishes both events: the start may be lost too. Repeated events become one audit entry. */
  #complete(talk: OpenTalk): void {
    const { log, outbox, redis } = this.#deps;
    const { id } = talk.start;
    if (this.#completing.has(id)) return;
    this.#completing.add(id);
    outbox.enqueue(talk.start);
    const finish = (): void => {
      removeOpenTalk(redis, talk)
        .catch((error: unknown) => log.warn({ err: error }, 'could not remove a talk'))
        .finally(() => this.#completing.delete(id));
    };
    outbox.enqueue(toEnd(talk), finish, () => this.#completing.delete(id));
    log.info({ imei: talk.start.imei, seconds: talk.seconds }, 'ended the talk of a killed process');
  }
}

const createId = (): string => randomBytes(16).toString('hex');

const toEnd = ({ start, endId, seconds }: OpenTalk): DeviceAccessEvent => ({
  ...start,
  id: endId,
  kind: 'talkEnd',
  atMs: start.atMs + seconds * 1000,
  seconds,
});
