import { type SignatureVerdict, signQuery, verifyQuery } from './query.ts';

/** Content of a signed media file URL, with an expiry: a picture or an alarm attachment. */
export interface FilePath {
  /** Canonical terminal number. */
  readonly imei: string;
  /** 24 hex digits. */
  readonly fileId: string;
}

const signedText = ({ imei, fileId }: FilePath): string => `file/${imei}/${fileId}`;

/** Returns the URL of a media file on an upload-ftp pod, valid for `lifetimeMs`; an open response outlives it. */
export function signFilePath(
  secret: string,
  path: FilePath & { readonly baseUrl: string; readonly lifetimeMs: number },
): string {
  const query = new URLSearchParams(signQuery(secret, signedText(path), path.lifetimeMs));
  return `${path.baseUrl.replace(/\/$/, '')}/files/${path.imei}/${path.fileId}?${query.toString()}`;
}

/** Verifies `expires` (Unix seconds) and `signature` (hex) of a media file's URL. */
export const verifyFilePath = (
  secret: string,
  path: FilePath,
  query: { readonly expires?: unknown; readonly signature?: unknown },
  nowMs = Date.now(),
): SignatureVerdict => verifyQuery(secret, signedText(path), query, nowMs);
