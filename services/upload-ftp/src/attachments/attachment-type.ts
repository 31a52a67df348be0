import { open } from 'node:fs/promises';
import { extname } from 'node:path/posix';
import { sniffedBytes, unknownType } from '../clips/content-type.ts';
import { detectMediaType, type MediaType } from '../media/media-type.ts';

const kinds = ['image', 'audio', 'video'] as const;
const mimeTypeByExtension: Readonly<Record<string, string>> = {
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.png': 'image/png',
  '.bmp': 'image/bmp',
  '.mp3': 'audio/mpeg',
  '.wav': 'audio/wav',
  '.amr': 'audio/amr',
  '.aac': 'audio/aac',
  '.mp4': 'video/mp4',
  '.h264': 'video/h264',
  '.264': 'video/h264',
  '.h265': 'video/h265',
  '.265': 'video/h265',
  '.avi': 'video/x-msvideo',
  '.flv': 'video/x-flv',
  '.wmv': 'video/x-ms-wmv',
};

/**
 * Returns the type that a terminal declares for an attachment: by its type field (T/JSATL 12-2017 table 4-25) and the
 * extension of its name.
 */
export function getDeclaredType(name: string, type: number | null): MediaType {
  const mimeType = mimeTypeByExtension[extname(name).toLowerCase()] ?? unknownType;
  const kindByName = kinds.find((kind) => mimeType.startsWith(`${kind}/`));
  const declaredKind = type === null ? kindByName : kinds[type];
  if (declaredKind === undefined) return { kind: 'other', mimeType: unknownType };
  return { kind: declaredKind, mimeType: declaredKind === kindByName ? mimeType : unknownType };
}

/** Detects the type of an attachment by its first bytes; falls back to the declared type. */
export async function detectAttachmentType(path: string, name: string, type: number | null): Promise<MediaType> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(sniffedBytes), 0, sniffedBytes, 0);
    return detectMediaType(buffer.subarray(0, bytesRead), getDeclaredType(name, type));
  } finally {
    await file.close();
  }
}
