import { constants } from 'node:zlib';
import compression from 'compression';
import type { Request, RequestHandler, Response } from 'express';

/** A smaller response gains nothing: it fits into one packet. */
const minBytes = 1024;
/** Much below the libraries' highest: these sizes differ by a few percent, the times by factors. */
const gzipLevel = 4;
const brotliQuality = 4;

/**
 * Compresses responses of 1 KiB or more with Brotli or gzip, where the client accepts it. Media, event streams and what clients fetch in ranges stay as they
 * are.
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
