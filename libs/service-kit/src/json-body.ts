import type { IncomingMessage } from 'node:http';
import { AppError } from './errors.ts';

/** A caller who goes on sending what has been refused gets this far. */
const discardLimitBytes = 1024 * 1024;
const discardLimitMs = 5_000;

/**
 * Reads a JSON body; undefined when there is none. A body above the limit is refused as soon as that is known: by its announced length, or by the byte
 * too many (Express would read it to its end first). What comes after that is thrown away for a while, so that the caller gets to read the answer.
 */
export async function readJsonBody(request: IncomingMessage, limitBytes: number): Promise<unknown> {
  checkEncoding(request);
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge(request, limitBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  await new Promise<void>((resolve, reject) => {
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= limitBytes) {
        chunks.push(chunk);
        return;
      }
      request.off('data', onData);
      reject(tooLarge(request, limitBytes));
    };
    request.on('data', onData);
    request.once('end', resolve);
    request.once('close', () => reject(new AppError('validation_failed', 'The request body broke off.')));
    request.once('error', (cause) =>
      reject(new AppError('validation_failed', 'The request body broke off.', { cause })),
    );
  });
  if (size === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))) as unknown;
  } catch (cause) {
    throw new AppError('malformed_json', 'The request body is not valid JSON.', { cause });
  }
}

function checkEncoding({ headers }: IncomingMessage): void {
  const charset = /charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  const encoding = headers['content-encoding'] ?? 'identity';
  if (!/^(utf-?8|us-ascii)$/i.test(charset) || encoding.toLowerCase() !== 'identity')
    throw new AppError('unsupported_media_type', 'The request body must be plain UTF-8.');
}

function tooLarge(request: IncomingMessage, limitBytes: number): AppError {
  discardRest(request);
  return new AppError('body_too_large', `The request body is larger than ${limitBytes} bytes.`);
}

function discardRest(request: IncomingMessage): void {
  let discarded = 0;
  const limit = setTimeout(() => {
    if (!request.complete) request.destroy();
  }, discardLimitMs);
  limit.unref();
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > discardLimitBytes) request.destroy();
  });
  request.once('close', () => clearTimeout(limit));
  request.once('error', () => clearTimeout(limit));
}
