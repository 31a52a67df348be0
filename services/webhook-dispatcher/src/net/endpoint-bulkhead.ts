import type { SecureContext } from 'node:tls';
import { dayMs } from '@fleet/service-kit';
import CircuitBreaker from 'opossum';
import { FailureRateWindow } from '../domain/failure-rate-window.ts';
import { Connections } from './connections.ts';

/** Settings of all bulkheads. */
interface BulkheadSettings {
  readonly concurrency: number;
  readonly breakerOpenMs: number;
  readonly trust: SecureContext | undefined;
  /** Called when a slot is free again. */
  readonly onFree: (bulkhead: EndpointBulkhead) => void;
}

const maxConsecutiveFailures = 10;
/** Disables opossum's own rule: it counts attempts in progress as successes. */
const neverPercent = Number.POSITIVE_INFINITY;
/**
 * Limits of attempts that wait in memory for a slot, enough for a fast receiver. The others go back into the database.
 */
const maxWaiting = 80;
const waitTimeoutMs = 1_000;
/** Retry interval of other attempts while one tests whether the receiver is back. */
const probeMs = 1_000;

const idleTtlMs = 600_000;
/** A failing webhook stays in memory between attempts, at most ten hours apart; a deleted one is dropped eventually. */
const failingIdleTtlMs = dayMs;

/** Marks a failed attempt for the circuit breaker. */
class AttemptFailedError extends Error {
  override readonly name = 'AttemptFailed';
}

/**
 * Limits one webhook's use of this process: concurrent attempts, none while its circuit breaker is open, and
 * connections of its own.
 */
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
    // The receiver is back: earlier failures do not count any more.
    this.#breaker.on('close', () => this.#failureRate.clear());
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Returns whether the webhook has been idle long enough to be dropped. */
  get isIdle(): boolean {
    if (this.#inFlight > 0 || this.#waiting.size > 0) return false;
    const ttlMs = this.#breaker.closed ? idleTtlMs : failingIdleTtlMs;
    return performance.now() - this.usedAtMs >= ttlMs;
  }

  /** Returns when attempts are possible again while the circuit breaker is open; null otherwise. */
  get blockedUntilMs(): number | null {
    if (this.#breaker.closed || this.#breaker.pendingClose) return null;
    // Half open: one attempt is testing the receiver.
    return this.#breaker.opened ? Math.max(this.#openUntilMs, Date.now() + 1) : Date.now() + probeMs;
  }

  /** Returns the attempts that could start now: one while the circuit breaker is half open. */
  get freeSlots(): number {
    if (this.blockedUntilMs !== null) return 0;
    const limit = this.#breaker.closed ? this.#settings.concurrency : 1;
    return Math.max(0, limit - this.#inFlight - this.#waiting.size);
  }

  /** Acquires a slot if one is free soon; returns whether. */
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

  /** Runs an attempt, which returns whether it succeeded; returns false if the circuit breaker rejected it. */
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
      // Back off from requests that cannot be sent, as from failed ones.
      this.#updateBreaker(false);
      throw error;
    }
  }

  /** Opens the circuit breaker if the results of ended attempts require it. */
  #updateBreaker(isSuccess: boolean): void {
    const nowMs = performance.now();
    this.#failureRate.record(isSuccess, nowMs);
    this.#consecutiveFailures = isSuccess ? 0 : this.#consecutiveFailures + 1;
    if (this.#consecutiveFailures >= maxConsecutiveFailures || this.#failureRate.isFailing(nowMs)) this.#breaker.open();
  }

  /** Rejects waiting attempts and stops. */
  close(): void {
    for (const finish of this.#waiting) finish(false);
    this.#breaker.shutdown();
    this.connections.close();
  }
}

/** Holds the bulkheads of this process, created on demand and dropped after a long idle time. */
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

  /** Webhooks that could not start an attempt now. */
  get withoutSlots(): number[] {
    return [...this.#bulkheads.values()]
      .filter((bulkhead) => bulkhead.freeSlots === 0)
      .map(({ webhookId }) => webhookId);
  }

  /** Webhooks with an open circuit breaker. */
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
