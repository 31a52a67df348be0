import { type SignatureVerdict, signQuery, verifyQuery } from './query.ts';

/** The forms in which a clip is handed out: as the camera sent it, or as one MP4. */
export const clipFormats = ['original', 'mp4'] as const;

/** A form in which a clip is handed out. */
export type ClipFormat = (typeof clipFormats)[number];

/** What a signed clip URL opens: one upload's video in one form, until a moment. */
export interface ClipPath {
  /** 24 hex digits. */
  readonly uploadId: string;
  readonly format: ClipFormat;
}

const signedText = (path: ClipPath): string => `clip/${path.uploadId}/${path.format}`;

/** The URL of a clip on an upload-ftp pod, open for `lifetimeMs` from now; an open response outlives it. */
export function signClipPath(
  secret: string,
  path: ClipPath & { readonly baseUrl: string; readonly lifetimeMs: number },
): string {
  const query = new URLSearchParams(signQuery(secret, signedText(path), path.lifetimeMs));
  return `${path.baseUrl.replace(/\/$/, '')}/clips/${path.uploadId}/${path.format}?${query.toString()}`;
}

/** Judges `expires` (Unix seconds) and `signature` (hex) of a clip URL. */
export const verifyClipPath = (
  secret: string,
  path: ClipPath,
  query: { readonly expires?: unknown; readonly signature?: unknown },
  nowMs = Date.now(),
): SignatureVerdict => verifyQuery(secret, signedText(path), query, nowMs);
