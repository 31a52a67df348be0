import type { DeliveryRecord, DueDelivery, WebhookRepository } from '@fleet/storage';
import { nextWaitMs, type RetryPlan } from '../domain/retry.ts';
import type { DispatcherMetrics } from '../metrics.ts';
import type { EndpointBulkhead, EndpointBulkheads } from '../net/endpoint-bulkhead.ts';
import { isEnabled, type Subscriber, type Subscribers } from '../store/subscribers.ts';
import type { WebhookHealthWriter } from '../store/webhook-health-writer.ts';
import { type AttemptOutcome, type AttemptRequest, type SendDeps, sendAttempt } from './send-attempt.ts';

/** What deliveries are attempted with. */
export interface AttemptDeps {
  readonly records: WebhookRepository;
  readonly subscribers: Subscribers;
  readonly health: WebhookHealthWriter;
  readonly bulkheads: EndpointBulkheads;
  readonly send: SendDeps;
  readonly plan: RetryPlan;
  readonly metrics: DispatcherMetrics;
  readonly onError: (error: unknown) => void;
}

const goneStatus = 410;
/** Longer than any attempt takes, its writing included: a dispatcher that has died holds a delivery until then. */
const leaseSlackMs = 5_000;
/** When an attempt is made again that could not be made, or noted, for a fault here: a database that is away, for one. */
const retryAfterErrorMs = 5_000;

/** Makes the attempts of deliveries, by the slots and the breaker of each webhook. Whoever calls has the delivery durably elsewhere until that has ended. */
export class Attempts {
  readonly #deps: AttemptDeps;
  readonly #leaseMs: number;

  constructor(deps: AttemptDeps) {
    this.#deps = deps;
    this.#leaseMs = deps.send.attemptTimeoutMs + leaseSlackMs;
  }

  /** Until when what is taken now is nobody else's. */
  leaseUntilMs(nowMs = Date.now()): number {
    return nowMs + this.#leaseMs;
  }

  /** A first attempt out of the work queue: made now, or put into the database for later. */
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

  /** A later attempt, for which a slot was free. */
  async runScheduled(bulkhead: EndpointBulkhead, { _id }: DueDelivery): Promise<void> {
    if (!(await bulkhead.acquire())) return;
    try {
      await this.#run(bulkhead, _id, true);
    } finally {
      bulkhead.release();
    }
  }

  /** `isPlanned`: it stands among what is due, until no later attempt is planned. */
  async #run(bulkhead: EndpointBulkhead, deliveryId: string, isScheduled: boolean): Promise<void> {
    const { records } = this.#deps;
    const untilMs = this.leaseUntilMs();
    if (!(await records.claim(deliveryId, untilMs))) {
      // Behind the attempt that is under way, should that not end.
      const dueAtMs = Math.max(await records.claimedUntilMs(deliveryId), Date.now());
      await records.schedule({ _id: deliveryId, webhookId: bulkhead.webhookId, dueAtMs });
      return;
    }
    try {
      const isFinished = await this.#runClaimed(bulkhead, deliveryId);
      // Before the claim ends: whoever retries it by hand behind that plans anew.
      if (isFinished && isScheduled) await records.unschedule(deliveryId);
    } catch (error) {
      this.#deps.onError(error);
      // From here on it waits in the database, where it is nobody else's place among the first attempts that it takes; where that fails, too, the message comes again.
      await records.schedule({
        _id: deliveryId,
        webhookId: bulkhead.webhookId,
        dueAtMs: Date.now() + retryAfterErrorMs,
      });
    } finally {
      await records.release(deliveryId, untilMs);
    }
  }

  /** Answers true where no later attempt is planned. */
  async #runClaimed(bulkhead: EndpointBulkhead, deliveryId: string): Promise<boolean> {
    const { records, subscribers } = this.#deps;
    const delivery = await records.find(deliveryId);
    if (delivery === null || delivery.status !== 'pending') return true;
    const { nextAttemptAtMs } = delivery;
    if (nextAttemptAtMs !== null && nextAttemptAtMs > Date.now()) {
      await records.schedule({ _id: deliveryId, webhookId: bulkhead.webhookId, dueAtMs: nextAttemptAtMs });
      return false;
    }
    const subscriber = await subscribers.findById(bulkhead.webhookId);
    if (subscriber === null || (!isEnabled(subscriber) && delivery.trigger !== 'retry')) {
      const status = subscriber === null ? 'canceled' : 'skipped';
      await records.end(deliveryId, status);
      this.#deps.metrics.deliveries.inc({ status });
      return true;
    }
    const outcome = await this.#send(bulkhead, subscriber, delivery);
    if (outcome !== null) return this.#record(subscriber, delivery, outcome);
    await this.#defer(bulkhead, deliveryId, bulkhead.blockedUntilMs ?? Date.now(), 'breaker');
    return false;
  }

  /** Null where the breaker did not let the attempt through. */
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

  /** What is planned comes before what is noted: a crash between the two repeats the attempt, and loses nothing. */
  async #record({ webhook }: Subscriber, claimed: DeliveryRecord, outcome: AttemptOutcome): Promise<boolean> {
    const { records, health, plan, metrics } = this.#deps;
    const { attempt, request, retryAfterMs } = outcome;
    const isGone = attempt.statusCode === goneStatus;
    const waitMs =
      outcome.isSuccess || isGone ? null : nextWaitMs(claimed.roundAttempts + 1, { ...attempt, retryAfterMs }, plan);
    const nextAttemptAtMs = waitMs === null ? null : Date.now() + waitMs;
    const { _id, webhookId, vehicleId } = claimed;
    if (nextAttemptAtMs !== null) await records.schedule({ _id, webhookId, dueAtMs: nextAttemptAtMs });
    const status = outcome.isSuccess ? 'succeeded' : nextAttemptAtMs === null ? 'failed' : 'pending';
    await records.recordAttempt(claimed, { status, attempt, request, nextAttemptAtMs });
    if (outcome.isSuccess) health.recordSuccess(webhook._id);
    else health.recordFailure(webhook._id, { isGone, vehicleId });
    if (status !== 'pending') metrics.deliveries.inc({ status });
    return nextAttemptAtMs === null;
  }

  /** The message may be a repetition: what has ended meanwhile stays so, and what is planned for later does not come sooner. */
  async #deferFirst(bulkhead: EndpointBulkhead, deliveryId: string, untilMs: number): Promise<void> {
    const delivery = await this.#deps.records.find(deliveryId);
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
    await records.schedule({ _id: deliveryId, webhookId: bulkhead.webhookId, dueAtMs: untilMs });
    // Who waits for a slot alone is due all the same.
    if (reason === 'breaker') await records.defer(deliveryId, untilMs);
    metrics.deferred.inc({ reason });
  }
}

/** An attempt that could not even be begun, as with a secret that can not be opened: it counts like any other, or it would be made for as long as deliveries are kept. */
const failedBeforeSend = ({ number, trigger }: AttemptRequest, startedAtMs: number): AttemptOutcome => ({
  isSuccess: false,
  attempt: { number, trigger, startedAtMs, durationMs: 0, statusCode: null, errorCode: null, responseBody: null },
  request: null,
  retryAfterMs: null,
});
