import { type JetStreamMessage, type NotificationRaised, notificationRaised, RetryLater } from '@fleet/bus';
import { hourMs } from '@fleet/service-kit';
import type { NotificationResponse } from '../domains/notifications/schema.ts';
import type { Deps } from '../platform/deps.ts';
import type { MessageTarget, SenderChannel } from './channels.ts';
import { isFinished, markFinished } from './delivery-log.ts';
import { PermanentSendError, TransientSendError } from './provider-client.ts';
import type { Recipient, RecipientResolver } from './recipient-resolver.ts';
import { isChannelEnabled, shouldNotify } from './should-notify.ts';

/** Older notifications are not sent; they stay in the history. */
const maxAgeMs = 6 * hourMs;
const firstRetryMs = 5_000;
const maxRetryMs = 120_000;
/** Longest delay that a provider can request. */
const maxProviderDelayMs = hourMs;
/** Concurrent messages of one notification. */
const concurrency = 16;

/** Result of a message. */
type SendResult = 'sent' | 'skipped' | 'unregistered' | 'refused' | 'failed';

/** Sends notifications to users over one channel. */
export class ChannelSender {
  readonly #deps: Pick<Deps, 'database' | 'log'>;
  readonly #channel: SenderChannel;
  readonly #resolver: Pick<RecipientResolver, 'accountConfig' | 'findRecipients'>;
  readonly #countResult: (result: SendResult) => void;

  constructor(
    deps: Pick<Deps, 'database' | 'log'>,
    channel: SenderChannel,
    resolver: Pick<RecipientResolver, 'accountConfig' | 'findRecipients'>,
    countResult: (result: SendResult) => void,
  ) {
    this.#deps = deps;
    this.#channel = channel;
    this.#resolver = resolver;
    this.#countResult = countResult;
  }

  /** Resolves once all recipients were served; throws RetryLater while the provider accepts no messages. */
  async handle({
    data,
    subject,
    deliveryCount,
  }: Pick<JetStreamMessage, 'data' | 'subject' | 'deliveryCount'>): Promise<void> {
    const event = parseEvent(data);
    if (event === null) {
      this.#deps.log.error({ subject }, 'invalid notification');
      return;
    }
    const nowMs = Date.now();
    if (nowMs - event.notification.server_timestamp > maxAgeMs) return;
    const messages = await this.#findMessages(event, nowMs);
    const failures: TransientSendError[] = [];
    const errors: unknown[] = [];
    // All end before the redelivery: a pending one would be sent twice.
    for (let at = 0; at < messages.length; at += concurrency)
      await Promise.all(
        messages.slice(at, at + concurrency).map(async (message) => {
          try {
            await this.#send(message);
          } catch (error) {
            if (error instanceof TransientSendError) failures.push(error);
            else errors.push(error);
          }
        }),
      );
    const [error, ...others] = errors;
    for (const err of others) this.#deps.log.error({ err, subject }, 'could not send a message about a notification');
    if (error !== undefined) throw error;
    if (failures.length === 0) return;
    const requested = Math.max(...failures.map(({ retryAfterMs }) => retryAfterMs ?? 0));
    const usual = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(10, deliveryCount - 1));
    throw new RetryLater(Math.max(Math.min(requested, maxProviderDelayMs), usual));
  }

  async #findMessages(event: NotificationRaised, nowMs: number): Promise<{ id: string; target: MessageTarget }[]> {
    const { accountId, ownerUserId } = event;
    const notification = event.notification as NotificationResponse;
    const { notification_type: type, severity, vehicle_id: vehicleId } = notification;
    const channel = this.#channel.name;
    const config = await this.#resolver.accountConfig(accountId);
    if (!isChannelEnabled(config, channel, type)) return [];
    const candidates = await this.#resolver.findRecipients({ accountId, vehicleId, ownerUserId });
    const recipients = candidates.filter(({ vehiclePreference: preference, preferences }) =>
      shouldNotify({ channel, type, severity, config, vehiclePreference: preference, preferences, nowMs }),
    );
    const targets = await Promise.all(
      recipients.map(async (recipient) => {
        const response = toRecipientResponse(recipient, event);
        const found = await this.#channel.findTargets({
          accountId,
          notification: response,
          recipient,
          config,
        });
        return found.map((target) => ({
          id: `${notification.id}:${recipient.user._id}:${channel}:${target.key}`,
          target,
        }));
      }),
    );
    return targets.flat();
  }

  /** Throws TransientSendError for a retry. */
  async #send({ id, target }: { id: string; target: MessageTarget }): Promise<void> {
    const { database, log } = this.#deps;
    if (await isFinished(database, id)) return;
    let result: SendResult;
    try {
      result = await target.send();
    } catch (error) {
      if (error instanceof TransientSendError) {
        log.warn({ err: error, message: id }, 'could not send a message about a notification, retrying');
        this.#countResult('failed');
        throw error;
      }
      if (!(error instanceof PermanentSendError)) throw error;
      log.warn({ err: error, message: id }, 'a provider rejected a message about a notification');
      result = 'refused';
    }
    await markFinished(database, id, result);
    this.#countResult(result);
  }
}

// Names of geofences are visible to users of the account, except its drivers.
function toRecipientResponse({ user }: Recipient, { accountId, addressForOthers, notification }: NotificationRaised) {
  const response = notification as NotificationResponse;
  const isOwn = user.accountId === accountId && user.role !== 'driver';
  return isOwn || addressForOthers === undefined ? response : { ...response, address: addressForOthers };
}

function parseEvent(data: Uint8Array): NotificationRaised | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(data));
    return notificationRaised.check(value) ? (value as NotificationRaised) : null;
  } catch {
    // The caller handles it.
    return null;
  }
}
