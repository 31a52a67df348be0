import type { DeliveryRecord, DueDelivery, WebhookRepository } from '@fleet/storage';
import { nextWaitMs, type RetryPlan } from '../domain/retry.ts';
import type { DispatcherMetrics } from '../metrics.ts';
import type { EndpointBulkhead, EndpointBulkheads } from '../net/endpoint-bulkhead.ts';
import { isEnabled, type Subscriber, type Subscribers } from '../store/subscribers.ts';
import type { WebhookHealthWriter } from '../store/webhook-health-writer.ts';
import type { DeliveryChange } from './publish-delivery.ts';
import { type AttemptOutcome, type AttemptRequest, type SendDeps, sendAttempt } from './send-attempt.ts';
import { traceAttempt } from './trace-attempt.ts';

/** Dependencies of attempts. */
export interface AttemptDeps {
  readonly records: WebhookRepository;
  readonly subscribers: Subscribers;
  readonly health: WebhookHealthWriter;
  readonly bulkheads: EndpointBulkheads;
  readonly send: SendDeps;
  readonly plan: RetryPlan;
  readonly metrics: DispatcherMetrics;
  /** Called after an attempt was recorded. */
  readonly onAttempt: (delivery: DeliveryRecord, change: DeliveryChange) => void;
  readonly onError: (error: unknown) => void;
}

const goneStatus = 410;
/** Longer than any attempt with its writes: the claim of a dead dispatcher ends then. */
const leaseSlackMs = 5_000;
/**
 * Delay of an attempt that could not be made or recorded because of an internal fault, such as an unavailable database.
 */
const retryAfterErrorMs = 5_000;

/**
 * Makes the attempts of deliveries, limited by the slots and the circuit breaker of each webhook. The caller's message
 * stays durable until the attempt has ended.
 */
export class Attempts {
  readonly #deps: AttemptDeps;
  readonly #leaseMs: number;

  constructor(deps: AttemptDeps) {
    this.#deps = deps;
    this.#leaseMs = deps.send.attemptTimeoutMs + leaseSlackMs;
  }

  /** Returns the end of a claim that starts now. */
  leaseUntilMs(nowMs = Date.now()): number {
    return nowMs + this.#leaseMs;
  }

  /** Makes a first attempt from the work queue now, or schedules it in the database. */
  async runFirst(deliveryId: string, webhookId: number): Promise<void> {
    const bulkhead = this.#deps.bulkheads.get(webhookId);
    const blockedUntilMs = bulkhead.blockedUntilMs;
    if (blockedUntilMs !== null) return this.#deferFirst(bulkhead, deliveryId, blockedUntilMs);
    if (!(await bulkhead.acquire())) return this.#defer(bulkhead, deliveryId, Date.now(), 'slots');
    try {
      await this.#run(bulkhead, deliveryId, false);
    } finally {
      bulkhead.release();
    }
  }

  /** Makes a later attempt, for which a slot was free. */
  async runScheduled(bulkhead: EndpointBulkhead, { _id }: DueDelivery): Promise<void> {
    if (!(await bulkhead.acquire())) return;
    try {
      await this.#run(bulkhead, _id, true);
    } finally {
      bulkhead.release();
    }
  }

  // `isPlanned`: the delivery is scheduled, until no later attempt is.
  async #run(bulkhead: EndpointBulkhead, deliveryId: string, isScheduled: boolean): Promise<void> {
    const { records } = this.#deps;
    const untilMs = this.leaseUntilMs();
    if (!(await records.deliveries.claim(deliveryId, untilMs))) {
      // After the attempt in progress, in case that does not end.
      const dueAtMs = Math.max(await records.deliveries.claimedUntilMs(deliveryId), Date.now());
      await records.schedule.set({ _id: deliveryId, webhookId: bulkhead.webhookId, dueAtMs });
      return;
    }
    try {
      const isFinished = await this.#runClaimed(bulkhead, deliveryId);
      // Before the claim ends: a manual retry after that schedules again.
      if (isFinished && isScheduled) await records.schedule.delete(deliveryId);
    } catch (error) {
      this.#deps.onError(error);
      // From here on it waits in the database and occupies no slot of the first attempts. If that fails, too, the
      // message is redelivered.
      await records.schedule.set({
        _id: deliveryId,
        webhookId: bulkhead.webhookId,
        dueAtMs: Date.now() + retryAfterErrorMs,
      });
    } finally {
      await records.deliveries.release(deliveryId, untilMs);
    }
  }

  /** Returns true if no later attempt is scheduled. */
  async #runClaimed(bulkhead: EndpointBulkhead, deliveryId: string): Promise<boolean> {
    const { records, subscribers } = this.#deps;
    const delivery = await records.deliveries.find(deliveryId);
    if (delivery === null || delivery.status !== 'pending') return true;
    const { nextAttemptAtMs } = delivery;
    if (nextAttemptAtMs !== null && nextAttemptAtMs > Date.now()) {
      await records.schedule.set({ _id: deliveryId, webhookId: bulkhead.webhookId, dueAtMs: nextAttemptAtMs });
      return false;
    }
    const subscriber = await subscribers.findById(bulkhead.webhookId);
    if (subscriber === null || (!isEnabled(subscriber) && delivery.trigger !== 'retry')) {
      const status = subscriber === null ? 'canceled' : 'skipped';
      await records.deliveries.finish(deliveryId, status);
      this.#deps.metrics.deliveries.inc({ status });
      return true;
    }
    const outcome = await traceAttempt(delivery, () => this.#send(bulkhead, subscriber, delivery));
    if (outcome !== null) return this.#record(subscriber, delivery, outcome);
    await this.#defer(bulkhead, deliveryId, bulkhead.blockedUntilMs ?? Date.now(), 'breaker');
    return false;
  }

  /** Returns null if the circuit breaker rejected the attempt. */
  async #send(
    bulkhead: EndpointBulkhead,
    { webhook }: Subscriber,
    claimed: DeliveryRecord,
  ): Promise<AttemptOutcome | null> {
    const { send, metrics, onError } = this.#deps;
    const { _id, attemptCount, trigger, body } = claimed;
    const request = {
      number: attemptCount + 1,
      trigger,
      body,
      messageId: `msg_${_id}`,
      connections: bulkhead.connections,
    };
    let outcome: AttemptOutcome | undefined;
    const wasExecuted = await bulkhead.execute(async () => {
      const startedAtMs = Date.now();
      outcome = await sendAttempt(send, webhook, request).catch((error: unknown) => {
        onError(error);
        return failedBeforeSend(request, startedAtMs);
      });
      return outcome.isSuccess;
    });
    if (!wasExecuted || outcome === undefined) return null;
    metrics.recordAttempt(outcome);
    return outcome;
  }

  /** Schedules before it records: a crash between the two repeats the attempt and loses nothing. */
  async #record({ webhook }: Subscriber, claimed: DeliveryRecord, outcome: AttemptOutcome): Promise<boolean> {
    const { records, health, plan, metrics } = this.#deps;
    const { attempt, request, retryAfterMs } = outcome;
    const isGone = attempt.statusCode === goneStatus;
    const waitMs =
      outcome.isSuccess || isGone ? null : nextWaitMs(claimed.roundAttempts + 1, { ...attempt, retryAfterMs }, plan);
    const nextAttemptAtMs = waitMs === null ? null : Date.now() + waitMs;
    const { _id, webhookId, vehicleId } = claimed;
    if (nextAttemptAtMs !== null) await records.schedule.set({ _id, webhookId, dueAtMs: nextAttemptAtMs });
    const status = outcome.isSuccess ? 'succeeded' : nextAttemptAtMs === null ? 'failed' : 'pending';
    await records.deliveries.recordAttempt(claimed, { status, attempt, request, nextAttemptAtMs });
    this.#deps.onAttempt(claimed, { status, attempt, nextAttemptAtMs });
    if (outcome.isSuccess) health.recordSuccess(webhook._id);
    else health.recordFailure(webhook._id, { isGone, vehicleId });
    if (status !== 'pending') metrics.deliveries.inc({ status });
    return nextAttemptAtMs === null;
  }

  /** Handles a possibly repeated message: ended deliveries stay ended, and scheduled ones are not made earlier. */
  async #deferFirst(bulkhead: EndpointBulkhead, deliveryId: string, untilMs: number): Promise<void> {
    const delivery = await this.#deps.records.deliveries.find(deliveryId);
    if (delivery === null || delivery.status !== 'pending') return;
    await this.#defer(bulkhead, deliveryId, Math.max(untilMs, delivery.nextAttemptAtMs ?? 0), 'breaker');
  }

  async #defer(
    bulkhead: EndpointBulkhead,
    deliveryId: string,
    untilMs: number,
    reason: 'breaker' | 'slots',
  ): Promise<void> {
    const { records, metrics } = this.#deps;
    await records.schedule.set({ _id: deliveryId, webhookId: bulkhead.webhookId, dueAtMs: untilMs });
    // A delivery that only waits for a slot is due all the same.
    if (reason === 'breaker') await records.deliveries.defer(deliveryId, untilMs);
    metrics.deferred.inc({ reason });
  }
}

/**
 * Records an attempt that could not start, for example with an undecryptable secret. It counts like any other;
 * otherwise it would be repeated until the delivery expires.
 */
const failedBeforeSend = ({ number, trigger }: AttemptRequest, startedAtMs: number): AttemptOutcome => ({
  isSuccess: false,
  attempt: { number, trigger, startedAtMs, durationMs: 0, statusCode: null, errorCode: null, responseBody: null },
  request: null,
  retryAfterMs: null,
});
