import type { TerminalEvent } from '@fleet/bus';
import { type BodyOf, multimediaData, tryDecodeBody } from '@fleet/jt808';
import { hourMs } from '@fleet/service-kit';
import { sniffedBytes, unknownType } from '../clips/content-type.ts';
import type { MediaMetadata } from '../media/media-files.ts';
import { detectMediaType, detectMimeType, toDeclaredType } from '../media/media-type.ts';

/** The content of a 0x0801: a file with its metadata, or the reason why there is none. */
export type Picture = { readonly data: Buffer; readonly metadata: MediaMetadata } | 'unreadable' | 'empty';

type Body = BodyOf<typeof multimediaData>;

/**
 * Length of the 0x0801 header before location and data (JT/T 808-2013 table 81). In the 2011 edition two counters
 * follow it.
 */
const headerBytes = 8;

/** Parses a 0x0801 of any edition. */
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

/**
 * Removes a location that is none, as older terminals send no location. The decoder recognizes that only by a JPEG at
 * its offset. This function does so by any known file signature, unless the data itself starts with one.
 */
function dropFalseLocation(body: Body, bytes: Buffer): Body {
  if (body.location === undefined || detectMimeType(body.data.subarray(0, sniffedBytes)) !== unknownType) return body;
  const data = bytes.subarray(headerBytes);
  if (detectMimeType(data.subarray(0, sniffedBytes)) === unknownType) return body;
  const { location: _location, ...head } = body;
  return { ...head, data };
}

/** Maps the event codes of JT/T 808-2013 table 80: 0 is a platform command, 1 a timer, all others are alarms. */
const getSource = (eventCode: number): MediaMetadata['source'] =>
  eventCode === 0 ? 'capture' : eventCode === 1 ? 'timer' : 'alarm';

const getTakenAt = ({ location }: Body): string | null => (typeof location?.time === 'string' ? location.time : null);

/** Returns the position. A terminal without a fix sends zeros. */
function getPosition({ location }: Body): MediaMetadata['place'] {
  if (location === undefined) return null;
  const { latitudeDeg: latitude, longitudeDeg: longitude } = location;
  if (latitude === 0 && longitude === 0) return null;
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude } : null;
}

/**
 * Returns the text that identifies a picture, so that a retransmission after a lost response gets the same file id.
 * Terminals restart their multimedia ids, so the time of the picture is included. Without that time, equal bytes with
 * one id count as one picture only within an hour: a covered lens produces identical pictures.
 */
const buildFileIdSeed = (body: Body, takenAt: string | null, receivedAtMs: number): string =>
  [body.multimediaId, body.channel, body.eventCode, takenAt ?? Math.floor(receivedAtMs / hourMs)].join('/');
