import { multimediaEvent } from '@fleet/jt808';
import { findClaimedIds } from '../domains/notifications/insert-notifications.ts';
import { notificationDedupeKey } from '../domains/notifications/to-notification.ts';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import { hadTerminalAt } from '../domains/vehicles/rules.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { recordPictureSighting } from './picture-sightings.ts';
import type { TerminalHandler } from './terminal-messages.ts';
import {
  type EventConsumerDeps,
  raiseVehicleEvents,
  toNotificationVehicle,
  type VehicleEvent,
} from './vehicle-events.ts';

const mediaKinds = ['image', 'audio', 'video'] as const;
/** Event codes of JT/T 808-2013 table 80: the reason for a picture. */
const captureSources = ['capture', 'timer'] as const;

/** Data of a picture that a camera has taken. */
export interface Picture {
  readonly multimediaId: number;
  readonly channel: number;
  readonly kind: string;
  readonly source: string;
  /** After it has arrived. */
  readonly sizeBytes?: number;
  readonly position?: VehicleEvent['position'] | undefined;
}

/** Handles 0x0800: the terminal has taken a picture, which may stay on the terminal. MEDIA reports its arrival. */
export const multimediaEventHandler: TerminalHandler<typeof multimediaEvent> = {
  definition: multimediaEvent,
  durable: 'platform-media-events',
  handle: async (deps, { imei, body, receivedAtMs }) => {
    const vehicle = await findVehicleByImei(deps.records, imei);
    if (vehicle === null || !hadTerminalAt(vehicle, receivedAtMs)) return;
    const { multimediaId, channel, type, eventCode } = body;
    const picture = {
      multimediaId,
      channel,
      kind: mediaKinds[type] ?? 'image',
      source: captureSources[eventCode] ?? 'alarm',
    };
    await raiseMediaCaptured(
      deps,
      vehicle,
      picture,
      await recordPictureSighting(deps.redis, imei, picture, { by: 'event', receivedAtMs }),
    );
  },
};

/** Creates `media_captured` once for a picture; returns the id of the notification. */
export async function raiseMediaCaptured(
  deps: Pick<EventConsumerDeps, 'log' | 'notifications' | 'records' | 'redis' | 'config'>,
  vehicle: Vehicle,
  picture: Picture,
  atMs: number,
): Promise<number | null> {
  const { multimediaId, channel, kind, source, sizeBytes, position } = picture;
  const attributes = {
    channel_id: channel,
    kind,
    source,
    multimedia_id: multimediaId,
    ...(sizeBytes === undefined ? {} : { size_bytes: sizeBytes }),
  };
  const event: VehicleEvent = {
    type: 'media_captured',
    subject: String(multimediaId),
    atMs,
    attributes,
    ...(position === undefined ? {} : { position }),
  };
  return raiseVehicleEvent(deps, vehicle, event);
}

/** Creates a notification; returns its id, or null if it was deleted. */
export async function raiseVehicleEvent(
  deps: Pick<EventConsumerDeps, 'log' | 'notifications' | 'records' | 'redis' | 'config'>,
  vehicle: Vehicle,
  event: VehicleEvent,
): Promise<number | null> {
  await raiseVehicleEvents(deps, [{ vehicle, event }]);
  const key = notificationDedupeKey(toNotificationVehicle(vehicle), event);
  return (await findClaimedIds(deps.records, [key])).get(key) ?? null;
}
