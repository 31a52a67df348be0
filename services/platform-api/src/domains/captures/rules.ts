import type { CaptureOptions } from '@fleet/bus';
import type { Edition } from '@fleet/jt808';
import { dayMs } from '@fleet/service-kit';
import type { Capture } from './schema.ts';

/** A pending capture expires after this time. */
export const captureTimeoutMs = 600_000;

/** Size and quality of pictures in 0x8801 (JT/T 808-2013 table 83), and the largest size of a frame of live video. */
interface PictureFormat {
  readonly resolution: number;
  readonly quality: number;
  readonly box: { readonly width: number; readonly height: number } | null;
}

const formats: Readonly<Record<CaptureOptions['quality'], PictureFormat>> = {
  LOW: { resolution: 1, quality: 8, box: { width: 320, height: 240 } },
  MEDIUM: { resolution: 2, quality: 5, box: { width: 640, height: 480 } },
  HIGH: { resolution: 4, quality: 2, box: { width: 1024, height: 768 } },
  MAX: { resolution: 4, quality: 1, box: null },
};

/** The 2019 edition has a value for the highest resolution. */
const highestResolution = 0xff;

export function pictureFormat(quality: CaptureOptions['quality'], edition: Edition): PictureFormat {
  const format = formats[quality];
  return quality === 'MAX' && edition === '2019' ? { ...format, resolution: highestResolution } : format;
}

/** Returns the number of files that complete a capture. */
export function expectedFiles({ kind, count, method, multimediaIds }: Capture): number {
  if (kind === 'clip' || method === 'stream') return 1;
  return multimediaIds === null ? count : multimediaIds.length;
}

/** A picture that a terminal has sent because of a platform command. */
export interface ArrivedPicture {
  readonly mediaKey: string;
  readonly multimediaId: number | null;
  readonly receivedAtMs: number;
  /** By the clock of the terminal; null if unknown or implausible. */
  readonly takenAtMs: number | null;
}

/** Result of the search: a capture, none, or a later decision. */
type PictureMatch = Capture | 'none' | 'later';

/** Clocks of the services may differ. */
const serviceSkewMs = 5_000;
/** Clocks of terminals may be wrong by minutes. */
const terminalSkewMs = 300_000;
/** Without ids, a later picture has probably another cause. */
const maxLateMs = dayMs;
/** A process that waits for the response of a terminal may have died. */
const maxDeferMs = 20_000;

/**
 * Returns the capture that caused a picture. The ids in the 0x0805 decide if there were any. Otherwise pictures go to
 * the captures of the channel in the order of their requests. Pending captures come first, because a terminal may lose
 * a picture. `captures` are in the order of their requests.
 */
export function matchPicture(captures: readonly Capture[], picture: ArrivedPicture, nowMs: number): PictureMatch {
  const known = captures.find(({ files }) => files.some(({ mediaKey }) => mediaKey === picture.mediaKey));
  if (known !== undefined) return known;
  const possible = captures.filter(
    ({ kind, requestedAt }) => kind === 'photo' && requestedAt.getTime() <= picture.receivedAtMs + serviceSkewMs,
  );
  const listed = possible.filter((capture) => isListed(capture, picture));
  const byId = newestBefore(listed, picture) ?? listed.at(-1);
  if (byId !== undefined) return byId;
  // The response with the ids may be on its way.
  const isShooting = possible.some(({ status, step }) => status === 'pending' && step === 'shooting');
  if (isShooting && nowMs - picture.receivedAtMs < maxDeferMs) return 'later';
  const open = possible.filter((capture) => hasRoom(capture, picture));
  const pending = open.filter(({ status }) => status === 'pending');
  return pending.find((capture) => isBefore(capture, picture)) ?? newestBefore(open, picture) ?? pending[0] ?? 'none';
}

const isListed = ({ multimediaIds, files }: Capture, { multimediaId }: ArrivedPicture): boolean =>
  multimediaId !== null &&
  multimediaIds?.includes(multimediaId) === true &&
  !files.some((file) => file.multimediaId === multimediaId);

/** Captures without a list of ids take as many pictures as were requested. */
const hasRoom = (
  { status, multimediaIds, files, count, step, requestedAt }: Capture,
  picture: ArrivedPicture,
): boolean =>
  status !== 'failed' &&
  step !== 'waking' &&
  multimediaIds === null &&
  files.filter(isFromTerminal).length < count &&
  picture.receivedAtMs - requestedAt.getTime() <= maxLateMs;

const isFromTerminal = ({ multimediaId }: Capture['files'][number]): boolean => multimediaId !== null;

const isBefore = ({ requestedAt }: Capture, { takenAtMs, receivedAtMs }: ArrivedPicture): boolean =>
  requestedAt.getTime() <= (takenAtMs ?? receivedAtMs) + terminalSkewMs;

const newestBefore = (captures: readonly Capture[], picture: ArrivedPicture): Capture | undefined =>
  captures.findLast((capture) => isBefore(capture, picture));
