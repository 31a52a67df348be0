import type { SecureContext } from 'node:tls';
import CircuitBreaker from 'opossum';
import { FailureRateWindow } from '../domain/failure-rate-window.ts';
import { Connections } from './connections.ts';

/** How the lanes of all webhooks are set. */
export interface BulkheadSettings {
  readonly concurrency: number;
  readonly breakerOpenMs: number;
  readonly trust: SecureContext | undefined;
  /** Called when a slot has become free. */
  readonly onFree: (bulkhead: EndpointBulkhead) => void;
}

const maxConsecutiveFailures = 10;
/** Opossum's own rule is never met: it counts attempts that are under way as if they were successes. */
const neverPercent = Number.POSITIVE_INFINITY;
/** Attempts that wait in memory for a slot, and for how long: what a fast receiver needs. The others go back into the database. */
const maxWaiting = 80;
const waitTimeoutMs = 1_000;
/** How soon others look again while one attempt finds out whether the receiver is back. */
const probeMs = 1_000;

const idleTtlMs = 600_000;
/** A webhook that failed at last stays known from one attempt to the next, the longest wait between which is ten hours; one that is gone does not stay for ever. */
const failingIdleTtlMs = 24 * 3_600_000;

/** Marks a failed attempt for the breaker. */
class AttemptFailedError extends Error {
  override readonly name = 'AttemptFailed';
}

/** What one webhook may take of this process: a number of attempts at a time, none while its breaker is open, and connections of its own. */
export class EndpointBulkhead {
  readonly webhookId: number;
  readonly connections: Connections;
  usedAtMs = performance.now();
  readonly #settings: BulkheadSettings;
  readonly #breaker: CircuitBreaker<[() => Promise<boolean>], void>;
  readonly #failureRate = new FailureRateWindow();
  readonly #waiting = new Set<(isFree: boolean) => void>();
  #inFlight = 0;
  #consecutiveFailures = 0;
  #openUntilMs = 0;

  constructor(webhookId: number, settings: BulkheadSettings) {
    this.webhookId = webhookId;
    this.connections = new Connections(settings.trust);
    this.#settings = settings;
    const run = async (attempt: () => Promise<boolean>): Promise<void> => {
      if (!(await attempt())) throw new AttemptFailedError();
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
    this.#breaker.on('close', () => this.#failureRate.clear());
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether nothing is under way, and nothing has been for so long that it may be forgotten. */
  get isIdle(): boolean {
    if (this.#inFlight > 0 || this.#waiting.size > 0) return false;
    const ttlMs = this.#breaker.closed ? idleTtlMs : failingIdleTtlMs;
    return performance.now() - this.usedAtMs >= ttlMs;
  }

  /** When attempts may be made again, while the breaker lets none through; null otherwise. */
  get blockedUntilMs(): number | null {
    if (this.#breaker.closed || this.#breaker.pendingClose) return null;
    // Half open: one attempt is finding out.
    return this.#breaker.opened ? Math.max(this.#openUntilMs, Date.now() + 1) : Date.now() + probeMs;
  }

  /** Attempts that could begin now: one where the breaker tries whether the receiver is back. */
  get freeSlots(): number {
    if (this.blockedUntilMs !== null) return 0;
    const limit = this.#breaker.closed ? this.#settings.concurrency : 1;
    return Math.max(0, limit - this.#inFlight - this.#waiting.size);
  }

  /** Takes a slot, when one is free soon; answers whether. */
  async acquire(): Promise<boolean> {
    this.usedAtMs = performance.now();
    if (this.#inFlight < this.#settings.concurrency) {
      this.#inFlight += 1;
      return true;
    }
    if (this.#waiting.size >= maxWaiting) return false;
    return new Promise((resolve) => {
      const finish = (isFree: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(finish);
        resolve(isFree);
      };
      const timer = setTimeout(finish, waitTimeoutMs, false);
      this.#waiting.add(finish);
    });
  }

  release(): void {
    this.usedAtMs = performance.now();
    const [next] = this.#waiting;
    if (next !== undefined) return next(true);
    this.#inFlight -= 1;
    this.#settings.onFree(this);
  }

  /** Makes an attempt, which answers whether it was a success; false where the breaker did not let it. */
  async execute(attempt: () => Promise<boolean>): Promise<boolean> {
    try {
      await this.#breaker.fire(attempt);
      this.#updateBreaker(true);
      return true;
    } catch (error) {
      if (error instanceof AttemptFailedError) {
        this.#updateBreaker(false);
        return true;
      }
      if (CircuitBreaker.isOurError(error as Error)) return false;
      // What can not be sent at all is tried as seldom as what nobody takes.
      this.#updateBreaker(false);
      throw error;
    }
  }

  /** Opens the breaker where an attempt that has ended gives a reason. */
  #updateBreaker(isSuccess: boolean): void {
    const nowMs = performance.now();
    this.#failureRate.record(isSuccess, nowMs);
    this.#consecutiveFailures = isSuccess ? 0 : this.#consecutiveFailures + 1;
    if (this.#consecutiveFailures >= maxConsecutiveFailures || this.#failureRate.isFailing(nowMs)) this.#breaker.open();
  }

  /** Sends those who wait back, and ends. */
  close(): void {
    for (const finish of this.#waiting) finish(false);
    this.#breaker.shutdown();
    this.connections.close();
  }
}

/** The lanes of this process, made when they are needed and forgotten when they have been idle for long. */
export class EndpointBulkheads {
  readonly #settings: BulkheadSettings;
  readonly #bulkheads = new Map<number, EndpointBulkhead>();

  constructor(settings: BulkheadSettings) {
    this.#settings = settings;
  }

  get(webhookId: number): EndpointBulkhead {
    const existing = this.#bulkheads.get(webhookId);
    if (existing !== undefined) return existing;
    const bulkhead = new EndpointBulkhead(webhookId, this.#settings);
    this.#bulkheads.set(webhookId, bulkhead);
    return bulkhead;
  }

  get inFlight(): number {
    return [...this.#bulkheads.values()].reduce((sum, bulkhead) => sum + bulkhead.inFlight, 0);
  }

  /** Webhooks that could not begin an attempt now. */
  get withoutSlots(): number[] {
    return [...this.#bulkheads.values()]
      .filter((bulkhead) => bulkhead.freeSlots === 0)
      .map(({ webhookId }) => webhookId);
  }

  /** Webhooks whose breaker is open. */
  get openCount(): number {
    return [...this.#bulkheads.values()].filter((bulkhead) => bulkhead.blockedUntilMs !== null).length;
  }

  evictIdle(): void {
    for (const [id, bulkhead] of this.#bulkheads) {
      if (!bulkhead.isIdle) continue;
      bulkhead.close();
      this.#bulkheads.delete(id);
    }
  }

  close(): void {
    for (const bulkhead of this.#bulkheads.values()) bulkhead.close();
  }
}
