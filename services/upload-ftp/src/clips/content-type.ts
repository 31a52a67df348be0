import { posix } from 'node:path';
import { videoMimeType } from '@fleet/service-kit';

/** Content type of unrecognized bytes; never a type that a browser would execute. */
export const unknownType = 'application/octet-stream';

/** Number of leading bytes that `detectTypeByContent` needs. */
export const sniffedBytes = 600;

/** Detects the content type of a file by its name, or by its first bytes if the extension is unknown. */
export function detectContentType(path: string, readFirstBytes: () => Promise<Buffer>): Promise<string> {
  const knownType = videoMimeType(path);
  return knownType === undefined ? readFirstBytes().then(detectTypeByContent) : Promise.resolve(knownType);
}

/** Detects the content type by magic numbers. */
export function detectTypeByContent(bytes: Buffer): string {
  const text = (start: number, end: number): string => bytes.toString('latin1', start, end);
  if (text(4, 8) === 'ftyp') return 'video/mp4';
  if (text(0, 3) === 'FLV') return 'video/x-flv';
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'AVI ') return 'video/x-msvideo';
  if (text(0, 4) === '\x1a\x45\xdf\xa3') return 'video/x-matroska';
  if ([0, 188, 376].every((at) => bytes[at] === 0x47)) return 'video/mp2t';
  // A start code: 00 00 01, or 00 00 00 01.
  const one = bytes.subarray(0, 4).indexOf(1);
  if (one < 2 || bytes.readUIntBE(0, one) !== 0) return unknownType;
  return detectTypeByStartCode(bytes[one + 1] ?? 0, bytes[one + 2] ?? 0);
}

/**
 * Detects an MPEG program stream (pack header 0xBA), or a parameter set, delimiter or SEI of H.264 (7, 9, 6) or H.265
 * (32 to 35, 39).
 */
function detectTypeByStartCode(first: number, second: number): string {
  if (first === 0xba) return 'video/mpeg';
  const hevcType = (first >> 1) & 0x3f;
  if ((first & 0x81) === 0 && (second & 0xf8) === 0 && [32, 33, 34, 35, 39].includes(hevcType)) return 'video/h265';
  return (first & 0x80) === 0 && [6, 7, 9].includes(first & 0x1f) ? 'video/h264' : unknownType;
}

/**
 * Returns the download name of a clip: the camera's file name without directories and without characters that a file
 * system or a header cannot handle.
 */
export function toDownloadName(path: string, extension?: string): string {
  const base = posix.basename(path.replaceAll('\\', '/'));
  const clean = base.replace(/[\p{Cc}\p{Cf}\p{Cs}"*/:<>?\\|]/gu, '_').replace(/^[. ]+|[. ]+$/g, '');
  const named = Array.from(clean).slice(-120).join('') || 'clip';
  return extension === undefined ? named : `${named.replace(/\.[^.]{1,5}$/, '')}${extension}`;
}
