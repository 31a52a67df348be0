import type { SecureContext } from 'node:tls';
import CircuitBreaker from 'opossum';
import { EndedAttempts } from '../domain/ended-attempts.ts';
import { Connections } from './connections.ts';

/** How the lanes of all webhooks are set. */
export interface LaneSettings {
  readonly concurrency: number;
  readonly breakerOpenMs: number;
  readonly trust: SecureContext | undefined;
  /** Called when a slot has become free. */
  readonly onFree: (lane: Lane) => void;
}

const failuresInRow = 10;
/** Opossum's own rule is never met: it counts attempts that are under way as if they were successes. */
const neverPercent = Number.POSITIVE_INFINITY;
/** Attempts that wait in memory for a slot, and for how long: what a fast receiver needs. The others go back into the database. */
const maxWaiting = 80;
const maxWaitMs = 1_000;
/** How soon others look again while one attempt finds out whether the receiver is back. */
const trialMs = 1_000;

const idleLimitMs = 600_000;
/** A webhook that failed at last stays known from one attempt to the next, the longest wait between which is ten hours; one that is gone does not stay for ever. */
const failingIdleLimitMs = 24 * 3_600_000;

/** Marks a failed attempt for the breaker. */
class AttemptFailed extends Error {
  override readonly name = 'AttemptFailed';
}

/** What one webhook may take of this process: a number of attempts at a time, none while its breaker is open, and connections of its own. */
export class Lane {
  readonly webhookId: number;
  readonly connections: Connections;
  usedAtMs = performance.now();
  readonly #settings: LaneSettings;
  readonly #breaker: CircuitBreaker<[() => Promise<boolean>], void>;
  readonly #ended = new EndedAttempts();
  readonly #waiting = new Set<(isFree: boolean) => void>();
  #inFlight = 0;
  #failuresInRow = 0;
  #openUntilMs = 0;

  constructor(webhookId: number, settings: LaneSettings) {
    this.webhookId = webhookId;
    this.connections = new Connections(settings.trust);
    this.#settings = settings;
    const run = async (attempt: () => Promise<boolean>): Promise<void> => {
      if (!(await attempt())) throw new AttemptFailed();
    };
    this.#breaker = new CircuitBreaker(run, {
      timeout: false,
      resetTimeout: settings.breakerOpenMs,
      errorThresholdPercentage: neverPercent,
      rollingPercentilesEnabled: false,
      enableSnapshots: false,
    });
    this.#breaker.on('open', () => {
      this.#openUntilMs = Date.now() + settings.breakerOpenMs;
    });
    // The receiver is back: what was before counts against it no more.
    this.#breaker.on('close', () => this.#ended.forget());
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether nothing is under way, and nothing has been for so long that it may be forgotten. */
  get isIdle(): boolean {
    if (this.#inFlight > 0 || this.#waiting.size > 0) return false;
    const limitMs = this.#breaker.closed ? idleLimitMs : failingIdleLimitMs;
    return performance.now() - this.usedAtMs >= limitMs;
  }

  /** When attempts may be made again, while the breaker lets none through; null otherwise. */
  get closedUntilMs(): number | null {
    if (this.#breaker.closed || this.#breaker.pendingClose) return null;
    // Half open: one attempt is finding out.
    return this.#breaker.opened ? Math.max(this.#openUntilMs, Date.now() + 1) : Date.now() + trialMs;
  }

  /** Attempts that could begin now: one where the breaker tries whether the receiver is back. */
  get freeSlots(): number {
    if (this.closedUntilMs !== null) return 0;
    const allowed = this.#breaker.closed ? this.#settings.concurrency : 1;
    return Math.max(0, allowed - this.#inFlight - this.#waiting.size);
  }

  /** Takes a slot, when one is free soon; answers whether. */
  async enter(): Promise<boolean> {
    this.usedAtMs = performance.now();
    if (this.#inFlight < this.#settings.concurrency) {
      this.#inFlight += 1;
      return true;
    }
    if (this.#waiting.size >= maxWaiting) return false;
    return new Promise((resolve) => {
      const done = (isFree: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve(isFree);
      };
      const timer = setTimeout(done, maxWaitMs, false);
      this.#waiting.add(done);
    });
  }

  leave(): void {
    this.usedAtMs = performance.now();
    const [next] = this.#waiting;
    if (next !== undefined) return next(true);
    this.#inFlight -= 1;
    this.#settings.onFree(this);
  }

  /** Makes an attempt, which answers whether it was a success; false where the breaker did not let it. */
  async fire(attempt: () => Promise<boolean>): Promise<boolean> {
    try {
      await this.#breaker.fire(attempt);
      this.#judge(true);
      return true;
    } catch (error) {
      if (error instanceof AttemptFailed) {
        this.#judge(false);
        return true;
      }
      if (CircuitBreaker.isOurError(error as Error)) return false;
      // What can not be sent at all is tried as seldom as what nobody takes.
      this.#judge(false);
      throw error;
    }
  }

  /** Opens the breaker where an attempt that has ended gives a reason. */
  #judge(isSuccess: boolean): void {
    const nowMs = performance.now();
    this.#ended.note(isSuccess, nowMs);
    this.#failuresInRow = isSuccess ? 0 : this.#failuresInRow + 1;
    if (this.#failuresInRow >= failuresInRow || this.#ended.isFailing(nowMs)) this.#breaker.open();
  }

  /** Sends those who wait back, and ends. */
  close(): void {
    for (const done of this.#waiting) done(false);
    this.#breaker.shutdown();
    this.connections.close();
  }
}

/** The lanes of this process, made when they are needed and forgotten when they have been idle for long. */
export class Lanes {
  readonly #settings: LaneSettings;
  readonly #lanes = new Map<number, Lane>();

  constructor(settings: LaneSettings) {
    this.#settings = settings;
  }

  of(webhookId: number): Lane {
    const known = this.#lanes.get(webhookId);
    if (known !== undefined) return known;
    const lane = new Lane(webhookId, this.#settings);
    this.#lanes.set(webhookId, lane);
    return lane;
  }

  get inFlight(): number {
    return [...this.#lanes.values()].reduce((sum, lane) => sum + lane.inFlight, 0);
  }

  /** Webhooks that could not begin an attempt now. */
  get withoutSlots(): number[] {
    return [...this.#lanes.values()].filter((lane) => lane.freeSlots === 0).map(({ webhookId }) => webhookId);
  }

  /** Webhooks whose breaker is open. */
  get open(): number {
    return [...this.#lanes.values()].filter((lane) => lane.closedUntilMs !== null).length;
  }

  forgetIdle(): void {
    for (const [id, lane] of this.#lanes) {
      if (!lane.isIdle) continue;
      lane.close();
      this.#lanes.delete(id);
    }
  }

  close(): void {
    for (const lane of this.#lanes.values()) lane.close();
  }
}
