import type { notifyWebhookOwner } from '@fleet/bus';
import type { Static } from 'typebox';
import type { Deps } from '../../platform/deps.ts';
import { MessageRefusedError } from '../../providers/message-sender.ts';
import { findLastLocations } from '../last-positions/queries.ts';
import { findUser } from '../users/use-cases.ts';
import { vehiclesById } from '../vehicles/use-cases.ts';
import type { Webhook } from './schema.ts';
import { findWebhook } from './store.ts';

/** Dependencies of notifying the owner of a webhook. */
export type NoticeDeps = Pick<Deps, 'records' | 'notifications' | 'redis' | 'config' | 'log'> & {
  readonly messages: Pick<Deps['messages'], 'send'>;
};

/** The notice to send. */
type Notice = Static<typeof notifyWebhookOwner.request>;

/**
 * Notifies the owner that a webhook is failing: by a notification of the vehicle, and by e-mail. Returns false if no
 * mail can be sent because the owner was removed, has no address, or the address is refused.
 */
export async function notifyOwner(deps: NoticeDeps, notice: Notice): Promise<boolean> {
  const webhook = await findWebhook(deps.records, notice.webhookId);
  if (webhook === null) return false;
  const description = toDescription(webhook, notice);
  await createNotification(deps, webhook, notice, description);
  const owner = await findUser(deps.records, webhook, webhook.userId);
  if (owner === null || owner.email === null) return false;
  const mail = { kind: 'mail', to: owner.email, subject: toSubject(notice), text: description } as const;
  try {
    await deps.messages.send(mail);
  } catch (error) {
    if (!(error instanceof MessageRefusedError)) throw error;
    // A retry would be refused too.
    deps.log.warn({ err: error, webhookId: notice.webhookId }, 'could not notify the owner of a webhook by mail');
    return false;
  }
  return true;
}

async function createNotification(
  deps: NoticeDeps,
  webhook: Webhook,
  notice: Notice,
  description: string,
): Promise<void> {
  const vehicle = (await vehiclesById(deps.records, webhook, [notice.vehicleId])).get(notice.vehicleId);
  // A vehicle that was deleted, or is of another account now, gets no notification.
  if (vehicle === undefined) return;
  const { _id: id, imei } = vehicle;
  const location = imei === null ? undefined : (await findLastLocations(deps, [imei])).get(imei);
  const { percent, reason, failingSinceMs } = notice;
  await deps.notifications.raise([
    {
      vehicle: { ...vehicle, id },
      raised: {
        type: 'webhook_disabled',
        subject: `${webhook._id}:${percent}`,
        atMs: notice.atMs,
        latitude: location?.latitude ?? 0,
        longitude: location?.longitude ?? 0,
        gpsValid: location?.gpsValid ?? false,
        description,
        attributes: {
          webhook_id: webhook._id,
          disabled: percent === 100,
          percent,
          reason,
          failing_since: new Date(failingSinceMs).toISOString(),
        },
        backfilled: false,
      },
    },
  ]);
}

const toSubject = ({ percent }: Notice): string =>
  percent === 100 ? 'A webhook was disabled' : 'A webhook is failing';

function toDescription({ _id, url, name }: Webhook, { percent, reason, failingSinceMs }: Notice): string {
  // The part of the URL after the host may contain a secret.
  const webhookText = `The webhook ${name ?? _id} (${new URL(url).host})`;
  if (reason === 'gone') return `${webhookText} was disabled: its receiver returned 410 Gone.`;
  const since = new Date(failingSinceMs).toISOString();
  if (percent === 100)
    return `${webhookText} was disabled: it has been failing since ${since}. Enable it to resume deliveries.`;
  return `${webhookText} has been failing since ${since}: ${percent} % of the time after which it is disabled.`;
}
