import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError, type RequestContext } from '@fleet/service-kit';
import { type ByteRange, parseByteRange } from './byte-range.ts';
import type { ClipContent } from './clip-content.ts';

/** Answers a GET or HEAD with a clip or another file, or with the range of it that was asked for; no faster than the caller reads, and no longer than it stays. */
export async function sendContent(content: ClipContent, { request, response, log }: RequestContext): Promise<void> {
  const range = resolveRange(content, request.get('range'), request.get('if-range'));
  const sentRange = range === 'whole' ? { start: 0, end: content.sizeBytes - 1 } : range;
  // The first bytes are opened before the status is said: what cannot be read is an error, and no cut answer.
  const [first, ...others] = request.method === 'HEAD' ? [] : content.open(sentRange);
  const opened = await first?.();
  response.attachment(content.fileName);
  response.status(range === 'whole' ? 200 : 206).set({
    'Content-Type': content.contentType,
    'Content-Length': String(sentRange.end - sentRange.start + 1),
    'Accept-Ranges': 'bytes',
    ETag: content.etag,
    'Cache-Control': 'private, no-cache',
    // A file of a terminal is never a page, whatever its bytes say.
    'Content-Security-Policy': "default-src 'none'; sandbox",
    ...(range === 'whole' ? {} : { 'Content-Range': `bytes ${sentRange.start}-${sentRange.end}/${content.sizeBytes}` }),
  });
  try {
    if (opened === undefined) response.end();
    else await pipeline(concatStreams(opened, others), response);
  } catch (error) {
    // The caller went, or the disk failed: an answer that has begun can only be cut.
    log.info({ err: error }, 'an answer was cut');
    response.destroy();
  }
}

/** The bytes of one stream after the other; each is opened when it is its turn. */
async function* concatStreams(first: Readable, others: readonly (() => Promise<Readable>)[]): AsyncGenerator<Buffer> {
  yield* first;
  for (const open of others) yield* await open();
}

/** If-Range (RFC 9110 section 13.1.5): a range of another version is no help, so it gets the whole. */
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
      `The file has ${content.sizeBytes} bytes: none of the range is there.`,
      {
        headers: { 'Content-Range': `bytes */${content.sizeBytes}`, 'Accept-Ranges': 'bytes' },
      },
    );
  return range;
}
