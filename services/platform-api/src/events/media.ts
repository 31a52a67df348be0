import { multimediaData, multimediaEvent } from '@fleet/jt808';
import type { Redis } from '@fleet/storage';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { findVehicleByImei } from '../domains/vehicles/store.ts';
import { tellLive } from './live.ts';
import { type EventParts, type Happening, raiseHappenings } from './parts.ts';
import type { TerminalHandler } from './terminal-messages.ts';

const kinds = ['image', 'audio', 'video'] as const;
const mimeTypes = ['image/jpeg', 'image/tiff', 'audio/mpeg', 'audio/wav', 'video/x-ms-wmv'] as const;
/** Event codes of JT/T 808-2013 table 80: what made the terminal take it. */
const sources = ['capture', 'timer'] as const;

/** 0x0800 and 0x0801 tell of the same picture: within this time one id of a terminal is one picture. */
const samePictureMs = 600_000;

interface Head {
  readonly multimediaId: number;
  readonly type: number;
  readonly format: number;
  readonly eventCode: number;
  readonly channel: number;
}

/** 0x0800: the terminal has taken a picture, which may stay there. */
export const keepMediaEvents: TerminalHandler<typeof multimediaEvent> = {
  definition: multimediaEvent,
  durable: 'platform-media-events',
  handle: async (parts, { imei, body, receivedAtMs }) => {
    const vehicle = await findVehicleByImei(parts.records, imei);
    if (vehicle !== null) await captured(parts, vehicle, imei, { head: body, receivedAtMs });
  },
};

/** 0x0801: the picture itself. */
export const keepMedia: TerminalHandler<typeof multimediaData> = {
  definition: multimediaData,
  durable: 'platform-media',
  handle: async (parts, { imei, body, receivedAtMs }) => {
    const vehicle = await findVehicleByImei(parts.records, imei);
    if (vehicle === null) return;
    const { location, data } = body;
    const hasPlace = location !== undefined && (location.latitudeDeg !== 0 || location.longitudeDeg !== 0);
    const place = hasPlace ? { latitude: location.latitudeDeg, longitude: location.longitudeDeg } : undefined;
    await captured(parts, vehicle, imei, { head: body, receivedAtMs, sizeBytes: data.length, place });
  },
};

interface Picture {
  readonly head: Head;
  readonly receivedAtMs: number;
  readonly sizeBytes?: number;
  readonly place?: Happening['place'] | undefined;
}

async function captured(parts: EventParts, vehicle: Vehicle, imei: string, picture: Picture): Promise<void> {
  const { head, receivedAtMs, sizeBytes, place } = picture;
  const kind = kinds[head.type] ?? 'image';
  const source = sources[head.eventCode] ?? 'alarm';
  const about = { channel_id: head.channel, kind, source, multimedia_id: head.multimediaId };
  const happening: Happening = {
    type: 'media_captured',
    subject: String(head.multimediaId),
    atMs: await firstToldMs(parts.redis, imei, head, receivedAtMs),
    attributes: { ...about, ...(sizeBytes === undefined ? {} : { size_bytes: sizeBytes }) },
    ...(place === undefined ? {} : { place }),
  };
  await raiseHappenings(parts, [{ vehicle, happening }]);
  if (sizeBytes === undefined) return;
  tellLive(parts.bus, vehicle.accountId, [
    {
      type: 'media',
      vehicleId: vehicle._id,
      data: {
        vehicle_id: vehicle._id,
        imei: vehicle.recordedImei ?? imei,
        ...about,
        mime_type: mimeTypes[head.format] ?? 'application/octet-stream',
        size_bytes: sizeBytes,
        received_at: new Date(receivedAtMs).toISOString(),
        latitude: place?.latitude ?? null,
        longitude: place?.longitude ?? null,
      },
    },
  ]);
}

/** When the picture was first told of, so that both messages are one notification. Ids begin anew with the terminal. */
async function firstToldMs(redis: Redis, imei: string, head: Head, receivedAtMs: number): Promise<number> {
  const key = `media-told:${imei}:${head.multimediaId}:${head.channel}`;
  const expiration = { type: 'PX', value: samePictureMs } as const;
  const known = await redis.set(key, String(receivedAtMs), { condition: 'NX', GET: true, expiration });
  return known === null ? receivedAtMs : Number(known);
}
