import { type JetStreamMessage, type NotificationRaised, notificationRaised, RetryLater } from '@fleet/bus';
import type { NotificationResponse } from '../domains/notifications/schema.ts';
import type { Deps } from '../platform/deps.ts';
import type { Audience, Listener } from './audience.ts';
import type { SenderChannel, Target } from './channels.ts';
import { isOffered, shouldNotify } from './rules.ts';
import { SendingFailed, SendingRefused } from './sending.ts';
import { isSettled, settle } from './sent-log.ts';

/** Older notifications are not sent; they stay in the history. */
const maxAgeMs = 6 * 3_600_000;
const firstRetryMs = 5_000;
const maxRetryMs = 120_000;
/** Longest delay that a provider can request. */
const maxProviderDelayMs = 3_600_000;
/** Concurrent messages of one notification. */
const atOnce = 16;

/** Result of a message. */
export type SendResult = 'sent' | 'skipped' | 'unregistered' | 'refused' | 'failed';

/** Sends notifications to users over one channel. */
export class ChannelSender {
  readonly #parts: Pick<Deps, 'database' | 'log'>;
  readonly #channel: SenderChannel;
  readonly #audience: Pick<Audience, 'configOf' | 'of'>;
  readonly #count: (result: SendResult) => void;

  constructor(
    parts: Pick<Deps, 'database' | 'log'>,
    channel: SenderChannel,
    audience: Pick<Audience, 'configOf' | 'of'>,
    count: (result: SendResult) => void,
  ) {
    this.#parts = parts;
    this.#channel = channel;
    this.#audience = audience;
    this.#count = count;
  }

  /** Resolves once all recipients were served; throws RetryLater while the provider accepts no messages. */
  async handle({
    data,
    subject,
    deliveryCount,
  }: Pick<JetStreamMessage, 'data' | 'subject' | 'deliveryCount'>): Promise<void> {
    const raised = readRaised(data);
    if (raised === null) {
      this.#parts.log.error({ subject }, 'invalid notification');
      return;
    }
    const nowMs = Date.now();
    if (nowMs - raised.notification.server_timestamp > maxAgeMs) return;
    const letters = await this.#lettersOf(raised, nowMs);
    const failures: SendingFailed[] = [];
    const faults: unknown[] = [];
    // All end before the redelivery: a pending one would be sent twice.
    for (let at = 0; at < letters.length; at += atOnce)
      await Promise.all(
        letters.slice(at, at + atOnce).map(async (letter) => {
          try {
            await this.#send(letter);
          } catch (error) {
            if (error instanceof SendingFailed) failures.push(error);
            else faults.push(error);
          }
        }),
      );
    const [fault, ...others] = faults;
    for (const err of others) this.#parts.log.error({ err, subject }, 'message about a notification failed');
    if (fault !== undefined) throw fault;
    if (failures.length === 0) return;
    const requested = Math.max(...failures.map(({ retryAfterMs }) => retryAfterMs ?? 0));
    const usual = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(10, deliveryCount - 1));
    throw new RetryLater(Math.max(Math.min(requested, maxProviderDelayMs), usual));
  }

  async #lettersOf(raised: NotificationRaised, nowMs: number): Promise<{ id: string; target: Target }[]> {
    const { accountId, ownerUserId } = raised;
    const notification = raised.notification as NotificationResponse;
    const { notification_type: type, severity, vehicle_id: vehicleId } = notification;
    const channel = this.#channel.name;
    const config = await this.#audience.configOf(accountId);
    if (!isOffered(config, channel, type)) return [];
    const listeners = await this.#audience.of({ accountId, vehicleId, ownerUserId });
    const recipients = listeners.filter(({ vehiclePreference: preference, preferences }) =>
      shouldNotify({ channel, type, severity, config, vehiclePreference: preference, preferences, nowMs }),
    );
    const targets = await Promise.all(
      recipients.map(async (listener) => {
        const response = toRecipientMessage(listener, raised);
        const found = await this.#channel.targetsOf({ accountId, notification: response, listener, config });
        return found.map((target) => ({
          id: `${notification.id}:${listener.user._id}:${channel}:${target.key}`,
          target,
        }));
      }),
    );
    return targets.flat();
  }

  /** Throws SendingFailed for a retry. */
  async #send({ id, target }: { id: string; target: Target }): Promise<void> {
    const { database, log } = this.#parts;
    if (await isSettled(database, id)) return;
    let result: SendResult;
    try {
      result = await target.send();
    } catch (error) {
      if (error instanceof SendingFailed) {
        log.warn({ err: error, message: id }, 'message about a notification deferred');
        this.#count('failed');
        throw error;
      }
      if (!(error instanceof SendingRefused)) throw error;
      log.warn({ err: error, message: id }, 'message about a notification rejected');
      result = 'refused';
    }
    await settle(database, id, result);
    this.#count(result);
  }
}

/** Names of geofences are visible to users of the account, except its drivers. */
function toRecipientMessage({ user }: Listener, { accountId, addressForOthers, notification }: NotificationRaised) {
  const response = notification as NotificationResponse;
  const isOwn = user.accountId === accountId && user.role !== 'driver';
  return isOwn || addressForOthers === undefined ? response : { ...response, address: addressForOthers };
}

function readRaised(data: Uint8Array): NotificationRaised | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(data));
    return notificationRaised.check(value) ? (value as NotificationRaised) : null;
  } catch {
    // The caller handles it.
    return null;
  }
}
