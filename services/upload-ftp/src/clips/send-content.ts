import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError, type RequestContext } from '@fleet/service-kit';
import { type ByteRange, parseByteRange } from './byte-range.ts';
import type { ClipContent } from './clip-content.ts';

/**
 * Responds to a GET or HEAD with a clip or another file, or with the requested range of it. Reads only as fast as the
 * client does, and stops when it disconnects.
 */
export async function sendContent(content: ClipContent, { request, response, log }: RequestContext): Promise<void> {
  const range = resolveRange(content, request.get('range'), request.get('if-range'));
  const sentRange = range === 'whole' ? { start: 0, end: content.sizeBytes - 1 } : range;
  // The first stream is opened before the status is sent, so that an unreadable file is an error and not a truncated
  // response.
  const [first, ...others] = request.method === 'HEAD' ? [] : content.open(sentRange);
  const opened = await first?.();
  response.attachment(content.fileName);
  response.status(range === 'whole' ? 200 : 206).set({
    'Content-Type': content.contentType,
    'Content-Length': String(sentRange.end - sentRange.start + 1),
    'Accept-Ranges': 'bytes',
    ETag: content.etag,
    'Cache-Control': 'private, no-cache',
    // A file from a terminal is never rendered as a page, whatever its content.
    'Content-Security-Policy': "default-src 'none'; sandbox",
    ...(range === 'whole' ? {} : { 'Content-Range': `bytes ${sentRange.start}-${sentRange.end}/${content.sizeBytes}` }),
  });
  try {
    if (opened === undefined) response.end();
    else await pipeline(concatStreams(opened, others), response);
  } catch (error) {
    // The client disconnected or the disk failed. A response that has started can only be aborted.
    log.info({ err: error }, 'a response was aborted');
    response.destroy();
  }
}

/** Concatenates streams. Each is opened only when it is needed. */
async function* concatStreams(first: Readable, others: readonly (() => Promise<Readable>)[]): AsyncGenerator<Buffer> {
  yield* first;
  for (const open of others) yield* await open();
}

/** Resolves Range and If-Range (RFC 9110 section 13.1.5). A range of another version gets the whole content. */
function resolveRange(
  content: ClipContent,
  header: string | undefined,
  ifRange: string | undefined,
): ByteRange | 'whole' {
  if (ifRange !== undefined && ifRange !== content.etag) return 'whole';
  const range = parseByteRange(header, content.sizeBytes);
  if (range === 'unsatisfiable')
    throw new AppError(
      'range_not_satisfiable',
      `The file has ${content.sizeBytes} bytes. The requested range lies outside.`,
      {
        headers: { 'Content-Range': `bytes */${content.sizeBytes}`, 'Accept-Ranges': 'bytes' },
      },
    );
  return range;
}
