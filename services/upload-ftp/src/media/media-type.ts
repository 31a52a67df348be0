import type { MediaStored } from '@fleet/bus';
import { detectTypeByContent, unknownType } from '../clips/content-type.ts';

type Kind = MediaStored['kind'];

/** Type of a file. `mimeType` is one of a closed list, none of which a browser would execute. */
export interface MediaType {
  readonly kind: Kind;
  readonly mimeType: string;
}

const kindByPrefix: Readonly<Record<string, Kind>> = { image: 'image', audio: 'audio', video: 'video' };
const asf = Buffer.from('3026b2758e66cf11', 'hex');

const extensionByMimeType: Readonly<Record<string, string>> = {
  'image/jpeg': '.jpg',
  'image/png': '.png',
  'image/gif': '.gif',
  'image/bmp': '.bmp',
  'image/webp': '.webp',
  'image/tiff': '.tif',
  'audio/mpeg': '.mp3',
  'audio/wav': '.wav',
  'audio/amr': '.amr',
  'audio/aac': '.aac',
  'video/mp4': '.mp4',
  'video/x-ms-wmv': '.wmv',
  'video/x-flv': '.flv',
  'video/x-msvideo': '.avi',
  'video/x-matroska': '.mkv',
  'video/mp2t': '.ts',
  'video/mpeg': '.mpg',
  'video/h264': '.h264',
  'video/h265': '.h265',
};

/** Returns the extension for a type; `.bin` if it has none. */
export const getExtension = (mimeType: string): string => extensionByMimeType[mimeType] ?? '.bin';

/** Detects the type of a file by its first bytes; falls back to the declared type. */
export function detectMediaType(beginning: Buffer, declared: MediaType): MediaType {
  const mimeType = detectMimeType(beginning);
  if (mimeType === unknownType) return declared;
  return { kind: kindByPrefix[mimeType.split('/')[0] ?? ''] ?? 'other', mimeType };
}

/** Detects the MIME type by the first bytes (`sniffedBytes` are enough). */
export function detectMimeType(bytes: Buffer): string {
  const startsWithAt = (start: number, text: string): boolean =>
    bytes.toString('latin1', start, start + text.length) === text;
  if (startsWithAt(0, '\xff\xd8\xff')) return 'image/jpeg';
  if (startsWithAt(0, '\x89PNG\r\n\x1a\n')) return 'image/png';
  if (startsWithAt(0, 'GIF87a') || startsWithAt(0, 'GIF89a')) return 'image/gif';
  if (startsWithAt(0, 'II*\0') || startsWithAt(0, 'MM\0*')) return 'image/tiff';
  if (startsWithAt(0, 'BM') && bytes.length >= 10 && bytes.readUInt32LE(6) === 0) return 'image/bmp';
  if (startsWithAt(0, 'RIFF') && startsWithAt(8, 'WEBP')) return 'image/webp';
  if (startsWithAt(0, 'RIFF') && startsWithAt(8, 'WAVE')) return 'audio/wav';
  if (startsWithAt(0, '#!AMR')) return 'audio/amr';
  if (startsWithAt(0, 'ID3')) return 'audio/mpeg';
  if (bytes.subarray(0, asf.length).equals(asf)) return 'video/x-ms-wmv';
  return detectAudioFrame(bytes) ?? detectTypeByContent(bytes);
}

/** Detects an ADTS or MPEG audio frame. Both start with eleven one bits; the layer distinguishes them. */
function detectAudioFrame(bytes: Buffer): string | undefined {
  if (bytes.length < 4) return undefined;
  const [first = 0, second = 0, third = 0] = bytes;
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  if ((second & 0xf6) === 0xf0) return 'audio/aac';
  const isFrame = (second & 0x18) !== 0x08 && (second & 0x06) !== 0 && third >> 4 !== 0x0f && (third & 0x0c) !== 0x0c;
  return isFrame ? 'audio/mpeg' : undefined;
}

/** Formats of 0x0801 (JT/T 808-2013 table 80), and kinds by its multimedia type. */
const formats = ['image/jpeg', 'image/tiff', 'audio/mpeg', 'audio/wav', 'video/x-ms-wmv'] as const;
const kinds = ['image', 'audio', 'video'] as const;

/** Returns the type that a terminal declares in 0x0801. A format that does not fit the type is ignored. */
export function toDeclaredType(type: number, format: number): MediaType {
  const kind = kinds[type];
  const mimeType = formats[format] ?? unknownType;
  const kindOfFormat = kindByPrefix[mimeType.split('/')[0] ?? ''];
  if (kind === undefined) return { kind: kindOfFormat ?? 'other', mimeType };
  return { kind, mimeType: kind === kindOfFormat ? mimeType : unknownType };
}
