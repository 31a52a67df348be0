import type { DeliveryRecord, DueDelivery, WebhookRecords } from '@fleet/storage';
import { nextWaitMs, type RetryPlan } from '../domain/retry.ts';
import type { DispatcherMetrics } from '../metrics.ts';
import type { Lane, Lanes } from '../net/lane.ts';
import type { HealthKeeper } from '../store/health-keeper.ts';
import { isOn, type Subscriber, type Subscribers } from '../store/subscribers.ts';
import { type Sending, type SendParts, type Sent, sendAttempt } from './send-attempt.ts';

/** What deliveries are attempted with. */
export interface AttemptParts {
  readonly records: WebhookRecords;
  readonly subscribers: Subscribers;
  readonly health: HealthKeeper;
  readonly lanes: Lanes;
  readonly send: SendParts;
  readonly plan: RetryPlan;
  readonly metrics: DispatcherMetrics;
  readonly onError: (error: unknown) => void;
}

const gone = 410;
/** Longer than any attempt takes, its writing included: a dispatcher that has died holds a delivery until then. */
const leaseSlackMs = 5_000;
/** When an attempt is made again that could not be made, or noted, for a fault here: a database that is away, for one. */
const faultWaitMs = 5_000;

/** Makes the attempts of deliveries, by the slots and the breaker of each webhook. Whoever calls has the delivery durably elsewhere until that has ended. */
export class Attempts {
  readonly #parts: AttemptParts;
  readonly #leaseMs: number;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
    this.#leaseMs = parts.send.attemptTimeoutMs + leaseSlackMs;
  }

  /** Until when what is taken now is nobody else's. */
  leaseUntilMs(nowMs = Date.now()): number {
    return nowMs + this.#leaseMs;
  }

  /** A first attempt out of the work queue: made now, or put into the database for later. */
  async first(deliveryId: string, webhookId: number): Promise<void> {
    const lane = this.#parts.lanes.of(webhookId);
    const closedUntilMs = lane.closedUntilMs;
    if (closedUntilMs !== null) return this.#putOffFirst(lane, deliveryId, closedUntilMs);
    if (!(await lane.enter())) return this.#putOff(lane, deliveryId, Date.now(), 'slots');
    try {
      await this.#attempt(lane, deliveryId, false);
    } finally {
      lane.leave();
    }
  }

  /** A later attempt, for which a slot was free. */
  async later(lane: Lane, { _id }: DueDelivery): Promise<void> {
    if (!(await lane.enter())) return;
    try {
      await this.#attempt(lane, _id, true);
    } finally {
      lane.leave();
    }
  }

  /** `isPlanned`: it stands among what is due, until no later attempt is planned. */
  async #attempt(lane: Lane, deliveryId: string, isPlanned: boolean): Promise<void> {
    const { records } = this.#parts;
    const untilMs = this.leaseUntilMs();
    if (!(await records.claim(deliveryId, untilMs))) {
      // Behind the attempt that is under way, should that not end.
      const dueAtMs = Math.max(await records.claimedUntilMs(deliveryId), Date.now());
      await records.schedule({ _id: deliveryId, webhookId: lane.webhookId, dueAtMs });
      return;
    }
    try {
      const isOver = await this.#attemptClaimed(lane, deliveryId);
      // Before the claim ends: whoever retries it by hand behind that plans anew.
      if (isOver && isPlanned) await records.unschedule(deliveryId);
    } catch (error) {
      this.#parts.onError(error);
      // From here on it waits in the database, where it is nobody else's place among the first attempts that it takes; where that fails, too, the message comes again.
      await records.schedule({ _id: deliveryId, webhookId: lane.webhookId, dueAtMs: Date.now() + faultWaitMs });
    } finally {
      await records.release(deliveryId, untilMs);
    }
  }

  /** Answers true where no later attempt is planned. */
  async #attemptClaimed(lane: Lane, deliveryId: string): Promise<boolean> {
    const { records, subscribers } = this.#parts;
    const delivery = await records.find(deliveryId);
    if (delivery === null || delivery.status !== 'pending') return true;
    const { nextAttemptAtMs } = delivery;
    if (nextAttemptAtMs !== null && nextAttemptAtMs > Date.now()) {
      await records.schedule({ _id: deliveryId, webhookId: lane.webhookId, dueAtMs: nextAttemptAtMs });
      return false;
    }
    const subscriber = await subscribers.byId(lane.webhookId);
    if (subscriber === null || (!isOn(subscriber) && delivery.trigger !== 'retry')) {
      const status = subscriber === null ? 'canceled' : 'skipped';
      await records.end(deliveryId, status);
      this.#parts.metrics.deliveries.inc({ status });
      return true;
    }
    const sent = await this.#send(lane, subscriber, delivery);
    if (sent !== null) return this.#record(subscriber, delivery, sent);
    await this.#putOff(lane, deliveryId, lane.closedUntilMs ?? Date.now(), 'breaker');
    return false;
  }

  /** Null where the breaker did not let the attempt through. */
  async #send(lane: Lane, { webhook }: Subscriber, claimed: DeliveryRecord): Promise<Sent | null> {
    const { send, metrics, onError } = this.#parts;
    const { _id, attemptCount, trigger, body } = claimed;
    const sending = { number: attemptCount + 1, trigger, body, messageId: `msg_${_id}`, connections: lane.connections };
    let sent: Sent | undefined;
    const wasLet = await lane.fire(async () => {
      const startedAtMs = Date.now();
      sent = await sendAttempt(send, webhook, sending).catch((error: unknown) => {
        onError(error);
        return unsent(sending, startedAtMs);
      });
      return sent.isSuccess;
    });
    if (!wasLet || sent === undefined) return null;
    metrics.noteAttempt(sent);
    return sent;
  }

  /** What is planned comes before what is noted: a crash between the two repeats the attempt, and loses nothing. */
  async #record({ webhook }: Subscriber, claimed: DeliveryRecord, sent: Sent): Promise<boolean> {
    const { records, health, plan, metrics } = this.#parts;
    const { attempt, request, retryAfterMs } = sent;
    const isGone = attempt.statusCode === gone;
    const waitMs =
      sent.isSuccess || isGone ? null : nextWaitMs(claimed.roundAttempts + 1, { ...attempt, retryAfterMs }, plan);
    const nextAttemptAtMs = waitMs === null ? null : Date.now() + waitMs;
    const { _id, webhookId, vehicleId } = claimed;
    if (nextAttemptAtMs !== null) await records.schedule({ _id, webhookId, dueAtMs: nextAttemptAtMs });
    const status = sent.isSuccess ? 'succeeded' : nextAttemptAtMs === null ? 'failed' : 'pending';
    await records.record(claimed, { status, attempt, request, nextAttemptAtMs });
    if (sent.isSuccess) health.noteSuccess(webhook._id);
    else health.noteFailure(webhook._id, { isGone, vehicleId });
    if (status !== 'pending') metrics.deliveries.inc({ status });
    return nextAttemptAtMs === null;
  }

  /** The message may be a repetition: what has ended meanwhile stays so, and what is planned for later does not come sooner. */
  async #putOffFirst(lane: Lane, deliveryId: string, untilMs: number): Promise<void> {
    const delivery = await this.#parts.records.find(deliveryId);
    if (delivery === null || delivery.status !== 'pending') return;
    await this.#putOff(lane, deliveryId, Math.max(untilMs, delivery.nextAttemptAtMs ?? 0), 'breaker');
  }

  async #putOff(lane: Lane, deliveryId: string, untilMs: number, reason: 'breaker' | 'slots'): Promise<void> {
    const { records, metrics } = this.#parts;
    await records.schedule({ _id: deliveryId, webhookId: lane.webhookId, dueAtMs: untilMs });
    // Who waits for a slot alone is due all the same.
    if (reason === 'breaker') await records.putOff(deliveryId, untilMs);
    metrics.putOff.inc({ reason });
  }
}

/** An attempt that could not even be begun, as with a secret that can not be opened: it counts like any other, or it would be made for as long as deliveries are kept. */
const unsent = ({ number, trigger }: Sending, startedAtMs: number): Sent => ({
  isSuccess: false,
  attempt: { number, trigger, startedAtMs, durationMs: 0, statusCode: null, errorCode: null, responseBody: null },
  request: null,
  retryAfterMs: null,
});
