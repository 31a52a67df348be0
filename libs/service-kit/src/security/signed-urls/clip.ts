import { type SignatureVerdict, signQuery, verifyQuery } from './query.ts';

/** Forms of a clip: as the camera sent it, or as one MP4. */
export const clipFormats = ['original', 'mp4'] as const;

/** One form of a clip. */
export type ClipFormat = (typeof clipFormats)[number];

/** Content of a signed clip URL: one upload's video in one form, with an expiry. */
export interface ClipPath {
  /** 24 hex digits. */
  readonly uploadId: string;
  readonly format: ClipFormat;
}

const signedText = (path: ClipPath): string => `clip/${path.uploadId}/${path.format}`;

/** Returns the URL of a clip on an upload-ftp pod, valid for `lifetimeMs`; an open response outlives it. */
export function signClipPath(
  secret: string,
  path: ClipPath & { readonly baseUrl: string; readonly lifetimeMs: number },
): string {
  const query = new URLSearchParams(signQuery(secret, signedText(path), path.lifetimeMs));
  return `${path.baseUrl.replace(/\/$/, '')}/clips/${path.uploadId}/${path.format}?${query.toString()}`;
}

/** Verifies `expires` (Unix seconds) and `signature` (hex) of a clip URL. */
export const verifyClipPath = (
  secret: string,
  path: ClipPath,
  query: { readonly expires?: unknown; readonly signature?: unknown },
  nowMs = Date.now(),
): SignatureVerdict => verifyQuery(secret, signedText(path), query, nowMs);
