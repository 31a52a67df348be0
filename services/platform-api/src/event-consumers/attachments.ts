import { createHmac, hkdfSync } from 'node:crypto';
import {
  type AttachmentsRequested,
  attachmentsRequested,
  attachmentsRequestedSubject,
  DurableConsumer,
  decodeJson,
  ensureStreams,
  type JetStreamMessage,
  type MediaStored,
  mediaStored,
  mediaStoredSubject,
} from '@fleet/bus';
import { Counter, type Lifecycle, type Registry, retryUntilSuccess } from '@fleet/service-kit';
import { findClaimedIds } from '../domains/notifications/insert-notifications.ts';
import { findNotification } from '../domains/notifications/queries.ts';
import type { Deps } from '../platform/deps.ts';
import { AttachmentRequester } from './attachment-requester.ts';
import { AttachmentRequests } from './attachment-requests.ts';
import { type AttachmentTimes, attachmentTimes } from './attachment-settings.ts';

/** Replacements for tests. */
export interface AttachmentOptions {
  readonly registry?: Registry;
  readonly times?: Partial<AttachmentTimes>;
}

type Parts = Deps & { readonly times: AttachmentTimes; readonly requests: AttachmentRequests };

/** Requests the files of alarms until they have arrived. Any number of replicas share the work. */
export function startAttachments(deps: Deps, lifecycle: Lifecycle, options: AttachmentOptions = {}): void {
  const { bus, config, log } = deps;
  if (!config.ATTACHMENTS_ENABLED) return;
  const results = new Counter({
    name: 'platform_attachments_total',
    help: 'alarms whose files were requested, by result',
    labelNames: ['result'],
    registers: options.registry === undefined ? [] : [options.registry],
  });
  const times = { ...attachmentTimes(config), ...options.times };
  const requests = new AttachmentRequests(deps);
  const parts = { ...deps, times, requests };
  const commandClient = new AttachmentRequester({ ...parts, count: (result) => results.inc({ result }) });
  const onError = (error: unknown): void => log.warn({ err: error }, 'could not start the attachment requests yet');
  const secret = secretOf(config.ENCRYPTION_KEY);
  const consumers: DurableConsumer[] = [];
  const begun = retryUntilSuccess(
    async () => {
      await ensureStreams(await bus.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
      consumers.push(
        new DurableConsumer(bus, {
          stream: 'ATTACHMENTS',
          durable: 'platform-attachments',
          subject: attachmentsRequestedSubject('*'),
          onError,
          handler: (message) => takeWanted(parts, commandClient, secret, message),
        }),
        new DurableConsumer(bus, {
          stream: 'MEDIA',
          durable: 'platform-attachments-arrived',
          subject: mediaStoredSubject('*'),
          onError,
          handler: async ({ data }) => {
            const file = fileIn(data);
            if (file?.attachment)
              await commandClient.arrived(requestId(file.imei, file.attachment.alarmNo), file.fileId);
          },
        }),
      );
    },
    (error) => log.warn({ err: error }, 'could not consume attachment events yet'),
  );
  lifecycle.onStop('attachments', async () => {
    await begun.stop();
    await Promise.all(consumers.map((consumer) => consumer.stop()));
    await commandClient.stop();
  });
}

async function takeWanted(
  parts: Parts,
  commandClient: AttachmentRequester,
  secret: Buffer,
  message: JetStreamMessage,
): Promise<void> {
  const { log, records, requests, times } = parts;
  const wanted = wantedIn(message.data);
  if (wanted === null) return log.warn({ subject: message.subject }, 'invalid attachment request');
  const { dedupeKey, imei, tagHex } = wanted;
  if (Date.now() - wanted.atMs > times.giveUpMs) {
    log.info({ imei, dedupeKey }, 'attachment request arrived too late');
    return parts.notifications.update([{ dedupeKey, attributes: { attachments: 'unreached' } }]);
  }
  const notificationId = (await findClaimedIds(records, [dedupeKey])).get(dedupeKey);
  const notification = notificationId === undefined ? null : await findNotification(records, notificationId);
  // The notification was deleted.
  if (notification === null) return log.info({ imei, dedupeKey }, 'attachments without a notification');
  const _id = requestId(imei, alarmNoOf(secret, notification._id, tagHex));
  if ((await requests.arrivedFiles(_id)) >= wanted.count) return;
  await commandClient.take({ ...wanted, _id, notificationId: notification._id, asked: 0, missed: 0 });
}

const requestId = (imei: string, alarmNo: string): string => `${imei}:${alarmNo}`;

const wantedIn = (data: Uint8Array): AttachmentsRequested | null => {
  const body = readJson(data);
  return attachmentsRequested.check(body) ? (body as AttachmentsRequested) : null;
};

const fileIn = (data: Uint8Array): MediaStored | null => {
  const body = readJson(data);
  return mediaStored.check(body) ? (body as MediaStored) : null;
};

function readJson(data: Uint8Array): unknown {
  try {
    return decodeJson(data);
  } catch {
    return null;
  }
}

const firstOf = (keys: string): string =>
  keys
    .split(',')
    .map((key) => key.trim())
    .find((key) => key !== '') ?? '';

/** The first key of the setting; alarms that were requested under another one keep their number. */
const secretOf = (encryptionKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', firstOf(encryptionKey), '', 'fleet numbers of alarms', 32));

/** Not guessable, because it authorizes uploads; deterministic for each alarm. */
const alarmNoOf = (secret: Buffer, notificationId: number, tagHex: string): string =>
  createHmac('sha256', secret).update(`attachments/${notificationId}/${tagHex}`).digest('hex').slice(0, 32);
