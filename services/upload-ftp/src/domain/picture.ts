import type { TerminalEvent } from '@fleet/bus';
import { type BodyOf, multimediaData, tryDecodeBody } from '@fleet/jt808';
import { sniffedBytes, unknownType } from '../clips/content-type.ts';
import type { MediaMetadata } from '../media/media-files.ts';
import { detectMediaType, detectMimeType, toDeclaredType } from '../media/media-type.ts';

/** What a 0x0801 carries: a file and what is known of it, or why there is none. */
export type Picture = { readonly data: Buffer; readonly metadata: MediaMetadata } | 'unreadable' | 'empty';

type Body = BodyOf<typeof multimediaData>;

/** The head of 0x0801 in front of location and data, JT/T 808-2013 table 81; 2011 has two counters behind it. */
const headerBytes = 8;
const hourMs = 3_600_000;

/** Reads a 0x0801 of any edition. */
export function parsePicture(event: TerminalEvent): Picture {
  const decoded = tryDecodeBody(multimediaData, event.body, event.edition);
  if (!decoded.ok) return 'unreadable';
  const body = dropFalseLocation(decoded.body, event.body);
  const { data } = body;
  if (data.length === 0) return 'empty';
  const takenAt = getTakenAt(body);
  return {
    data,
    metadata: {
      ...detectMediaType(data.subarray(0, sniffedBytes), toDeclaredType(body.type, body.format)),
      imei: event.imei,
      channel: body.channel,
      source: getSource(body.eventCode),
      multimediaId: body.multimediaId,
      takenAt,
      receivedAtMs: event.receivedAtMs,
      place: getPosition(body),
      attachment: null,
      fileIdSeed: buildFileIdSeed(body, takenAt, event.receivedAtMs),
    },
  };
}

/** Older units send no location. The reader sees that by a JPEG in its place; here whatever has a known beginning shows it, unless the data itself begins so. */
function dropFalseLocation(body: Body, bytes: Buffer): Body {
  if (body.location === undefined || detectMimeType(body.data.subarray(0, sniffedBytes)) !== unknownType) return body;
  const data = bytes.subarray(headerBytes);
  if (detectMimeType(data.subarray(0, sniffedBytes)) === unknownType) return body;
  const { location: _location, ...head } = body;
  return { ...head, data };
}

/** Event codes of JT/T 808-2013 table 80: 0 the platform's command, 1 a timer, the others alarms. */
const getSource = (eventCode: number): MediaMetadata['source'] =>
  eventCode === 0 ? 'capture' : eventCode === 1 ? 'timer' : 'alarm';

const getTakenAt = ({ location }: Body): string | null => (typeof location?.time === 'string' ? location.time : null);

/** A unit without a fix sends zeros. */
function getPosition({ location }: Body): MediaMetadata['place'] {
  if (location === undefined) return null;
  const { latitudeDeg: latitude, longitudeDeg: longitude } = location;
  if (latitude === 0 && longitude === 0) return null;
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude } : null;
}

/**
 * A picture that is sent again (the answer was lost) is the same one. Ids begin again with the terminal, so the time at which it was taken belongs to it; where that
 * is not told, equal bytes under one id are one picture within an hour: a covered lens gives the same ones forever.
 */
const buildFileIdSeed = (body: Body, takenAt: string | null, receivedAtMs: number): string =>
  [body.multimediaId, body.channel, body.eventCode, takenAt ?? Math.floor(receivedAtMs / hourMs)].join('/');
