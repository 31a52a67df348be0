import { createHmac, hkdfSync } from 'node:crypto';
import {
  type AttachmentsRequested,
  attachmentsRequested,
  attachmentsRequestedSubject,
  DurableConsumer,
  decodeJson,
  type JetStreamMessage,
  type MediaStored,
  mediaStored,
  mediaStoredSubject,
} from '@fleet/bus';
import { Counter, firstSecret, type Registry, type Running } from '@fleet/service-kit';
import { findClaimedIds } from '../domains/notifications/insert-notifications.ts';
import { findNotification } from '../domains/notifications/queries.ts';
import type { Deps } from '../platform/deps.ts';
import { AttachmentRequestStore } from './attachment-request-store.ts';
import { AttachmentRequester } from './attachment-requester.ts';
import { type AttachmentTimings, toAttachmentTimings } from './attachment-settings.ts';
import { startDurableConsumers } from './start-durable-consumers.ts';

/** Replacements for tests. */
interface AttachmentOptions {
  readonly registry?: Registry;
  readonly timings?: Partial<AttachmentTimings>;
}

type AttachmentDeps = Deps & { readonly timings: AttachmentTimings; readonly store: AttachmentRequestStore };

/** Starts to request the files of alarms until they have arrived. Any number of replicas share the work. */
export function startAttachmentConsumers(deps: Deps, options: AttachmentOptions = {}): Running {
  const { bus, config, log } = deps;
  const results = new Counter({
    name: 'platform_attachments_total',
    help: 'alarms whose files were requested, by result',
    labelNames: ['result'],
    registers: options.registry === undefined ? [] : [options.registry],
  });
  const timings = { ...toAttachmentTimings(config), ...options.timings };
  const store = new AttachmentRequestStore(deps);
  const requesterDeps = { ...deps, timings, store };
  const requester = new AttachmentRequester({ ...requesterDeps, countResult: (result) => results.inc({ result }) });
  const onError = (error: unknown): void => log.warn({ err: error }, 'could not handle an attachment event yet');
  const secret = deriveSecret(config.ENCRYPTION_KEY);
  const consumers = startDurableConsumers(deps, 'attachments', () => [
    new DurableConsumer(bus, {
      stream: 'ATTACHMENTS',
      durable: 'platform-attachments',
      subject: attachmentsRequestedSubject('*'),
      onError,
      handler: (message) => handleRequested(requesterDeps, requester, secret, message),
    }),
    new DurableConsumer(bus, {
      stream: 'MEDIA',
      durable: 'platform-attachments-arrived',
      subject: mediaStoredSubject('*'),
      onError,
      handler: async ({ data }) => {
        const file = parseFile(data);
        if (file?.attachment)
          await requester.onFileReceived(requestId(file.imei, file.attachment.alarmNo), file.fileId);
      },
    }),
  ]);
  return {
    stop: async () => {
      await consumers.stop();
      await requester.stop();
    },
  };
}

async function handleRequested(
  requesterDeps: AttachmentDeps,
  requester: AttachmentRequester,
  secret: Buffer,
  message: JetStreamMessage,
): Promise<void> {
  const { log, records, store, timings } = requesterDeps;
  const requested = parseRequested(message.data);
  if (requested === null) return log.warn({ subject: message.subject }, 'invalid attachment request');
  const { dedupeKey, imei, tagHex } = requested;
  if (Date.now() - requested.atMs > timings.timeoutMs) {
    log.info({ imei, dedupeKey }, 'attachment request arrived too late');
    return requesterDeps.notifications.update([{ dedupeKey, attributes: { attachments: 'unreached' } }]);
  }
  const notificationId = (await findClaimedIds(records, [dedupeKey])).get(dedupeKey);
  const notification = notificationId === undefined ? null : await findNotification(records, notificationId);
  // The notification was deleted.
  if (notification === null) return log.info({ imei, dedupeKey }, 'received attachments without a notification');
  const _id = requestId(imei, computeAlarmNo(secret, notification._id, tagHex));
  if ((await store.countReceivedFiles(_id)) >= requested.count) return;
  await requester.add({ ...requested, _id, notificationId: notification._id, asked: 0, missed: 0 });
}

const requestId = (imei: string, alarmNo: string): string => `${imei}:${alarmNo}`;

const parseRequested = (data: Uint8Array): AttachmentsRequested | null => {
  const body = readJson(data);
  return attachmentsRequested.check(body) ? (body as AttachmentsRequested) : null;
};

const parseFile = (data: Uint8Array): MediaStored | null => {
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

// The first key of the setting; alarms that were requested under another one keep their number.
const deriveSecret = (encryptionKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', firstSecret(encryptionKey), '', 'fleet numbers of alarms', 32));

// Not guessable, because it authorizes uploads; deterministic for each alarm.
const computeAlarmNo = (secret: Buffer, notificationId: number, tagHex: string): string =>
  createHmac('sha256', secret).update(`attachments/${notificationId}/${tagHex}`).digest('hex').slice(0, 32);
