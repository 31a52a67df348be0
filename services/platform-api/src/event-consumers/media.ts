import { multimediaEvent } from '@fleet/jt808';
import { findClaimedIds } from '../domains/notifications/insert-notifications.ts';
import { notificationDedupeKey } from '../domains/notifications/to-notification.ts';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import { hadTerminalAt } from '../domains/vehicles/rules.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { type EventParts, type Happening, raisedFor, raiseHappenings } from './parts.ts';
import { firstToldMs } from './picture-dedupe.ts';
import type { TerminalHandler } from './terminal-messages.ts';

const kinds = ['image', 'audio', 'video'] as const;
/** Event codes of JT/T 808-2013 table 80: the reason for a picture. */
const sources = ['capture', 'timer'] as const;

/** Data of a picture that a camera has taken. */
export interface Picture {
  readonly multimediaId: number;
  readonly channel: number;
  readonly kind: string;
  readonly source: string;
  /** After it has arrived. */
  readonly sizeBytes?: number;
  readonly place?: Happening['place'] | undefined;
}

/** Handles 0x0800: the terminal has taken a picture, which may stay on the terminal. MEDIA reports its arrival. */
export const keepMediaEvents: TerminalHandler<typeof multimediaEvent> = {
  definition: multimediaEvent,
  durable: 'platform-media-events',
  handle: async (parts, { imei, body, receivedAtMs }) => {
    const vehicle = await findVehicleByImei(parts.records, imei);
    if (vehicle === null || !hadTerminalAt(vehicle, receivedAtMs)) return;
    const { multimediaId, channel, type, eventCode } = body;
    const picture = {
      multimediaId,
      channel,
      kind: kinds[type] ?? 'image',
      source: sources[eventCode] ?? 'alarm',
    };
    await raiseCaptured(
      parts,
      vehicle,
      picture,
      await firstToldMs(parts.redis, imei, picture, { by: 'event', receivedAtMs }),
    );
  },
};

/** Creates `media_captured` once for a picture; returns the id of the notification. */
export async function raiseCaptured(
  parts: Pick<EventParts, 'log' | 'notifications' | 'records' | 'redis'>,
  vehicle: Vehicle,
  picture: Picture,
  atMs: number,
): Promise<number | null> {
  const { multimediaId, channel, kind, source, sizeBytes, place } = picture;
  const attributes = {
    channel_id: channel,
    kind,
    source,
    multimedia_id: multimediaId,
    ...(sizeBytes === undefined ? {} : { size_bytes: sizeBytes }),
  };
  const happening: Happening = {
    type: 'media_captured',
    subject: String(multimediaId),
    atMs,
    attributes,
    ...(place === undefined ? {} : { place }),
  };
  return raisedOne(parts, vehicle, happening);
}

/** Creates a notification; returns its id, or null if it was deleted. */
export async function raisedOne(
  parts: Pick<EventParts, 'log' | 'notifications' | 'records' | 'redis'>,
  vehicle: Vehicle,
  happening: Happening,
): Promise<number | null> {
  await raiseHappenings(parts, [{ vehicle, happening }]);
  const key = notificationDedupeKey(raisedFor(vehicle), happening);
  return (await findClaimedIds(parts.records, [key])).get(key) ?? null;
}
