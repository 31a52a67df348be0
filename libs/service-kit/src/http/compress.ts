import { constants } from 'node:zlib';
import compression from 'compression';
import type { Request, RequestHandler, Response } from 'express';

/** A smaller response fits into one packet, so compression gains nothing. */
const minBytes = 1024;
/** Far below the libraries' maximum: sizes differ by a few percent, times by factors. */
const gzipLevel = 4;
const brotliQuality = 4;

/**
 * Compresses responses of 1 KiB or more with Brotli or gzip if the client accepts it. Excludes media, event streams and
 * content that clients fetch in ranges.
 */
export const compressResponses = (): RequestHandler =>
  compression({
    threshold: minBytes,
    level: gzipLevel,
    brotli: { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } },
    filter: isCompressible,
  });

function isCompressible(request: Request, response: Response): boolean {
  const isRange =
    response.statusCode === 206 || response.hasHeader('Content-Range') || response.hasHeader('Accept-Ranges');
  const isEventStream = String(response.getHeader('Content-Type')).startsWith('text/event-stream');
  return !isRange && !isEventStream && compression.filter(request, response);
}
