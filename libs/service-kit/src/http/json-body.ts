import type { IncomingMessage } from 'node:http';
import { parseBigInt } from '../runtime/bigint-json.ts';
import { AppError } from './errors.ts';
import { sendContinue } from './expect-continue.ts';

const maxQuotedKeyLength = 100;
/** Deeper than every body of the APIs; recursive code uses a stack frame for each level. */
const defaultMaxDepth = 64;

/** Reads the bytes of a JSON body, for `parseJsonBody`. */
export async function readJsonBytes(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const charset = /charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  if (!/^(utf-?8|us-ascii)$/i.test(charset)) throw unsupportedEncodingError();
  return readBytes(request, limitBytes);
}

/**
 * Reads a body. Rejects one above the limit as soon as that is known: by its announced length, or at the first byte too
 * many (Express would read it to its end first). The sender of the response handles the rest.
 */
export async function readBytes(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
    throw unsupportedEncodingError();
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw bodyTooLargeError(limitBytes);
  // Its end was already emitted.
  if (request.destroyed) throw new AppError('validation_failed', 'The request body is incomplete.');
  sendContinue(request);
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
      reject(bodyTooLargeError(limitBytes));
    };
    request.on('data', onData);
    request.once('end', resolve);
    request.once('close', () => reject(new AppError('validation_failed', 'The request body is incomplete.')));
    request.once('error', (cause) =>
      reject(new AppError('validation_failed', 'The request body is incomplete.', { cause })),
    );
  });
  return Buffer.concat(chunks);
}

/**
 * Parses the bytes of a JSON text. Rejects duplicate keys, and more levels than any body of the APIs has. `hasBigInts`:
 * large integers become bigints.
 */
export function parseJsonBody(bytes: Buffer, maxDepth = defaultMaxDepth, hasBigInts = false): unknown {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (isTooDeep(text, maxDepth))
      throw new AppError('validation_failed', `The request body is nested more than ${maxDepth} levels deep.`);
    value = JSON.parse(text);
    if (hasBigInts) value = parseBigInt(text);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('malformed_json', 'The request body is not valid JSON.', { cause });
  }
  const duplicateKey = findDuplicateKey(text);
  if (duplicateKey === undefined) return value;
  const displayedKey =
    duplicateKey.length > maxQuotedKeyLength ? `${duplicateKey.slice(0, maxQuotedKeyLength)}…` : duplicateKey;
  throw new AppError('validation_failed', `The body field ${displayedKey} is given more than once.`);
}

/** Runs before the parser: millions of levels are as many objects. */
function isTooDeep(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    switch (text[i]) {
      case '{':
      case '[':
        depth += 1;
        if (depth > maxDepth) return true;
        break;
      case '}':
      case ']':
        depth -= 1;
        break;
      case '"':
        i = findStringEnd(text, i);
        break;
    }
  }
  return false;
}

interface OpenContainer {
  /** Of an object; null in an array. */
  readonly keys: Set<string> | null;
  isKeyNext: boolean;
  position: string;
}

/**
 * Returns the path of the first duplicate key of a valid JSON text: parsers keep either value, so the caller may have
 * meant the other.
 */
function findDuplicateKey(text: string): string | undefined {
  const open: OpenContainer[] = [];
  for (let i = 0; i < text.length; i += 1) {
    const top = open.at(-1);
    switch (text[i]) {
      case '{':
        open.push({ keys: new Set(), isKeyNext: true, position: '' });
        break;
      case '[':
        open.push({ keys: null, isKeyNext: false, position: '0' });
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case ',':
        if (top?.keys === null) top.position = String(Number(top.position) + 1);
        else if (top !== undefined) top.isKeyNext = true;
        break;
      case '"': {
        const end = findStringEnd(text, i);
        if (top?.isKeyNext === true && top.keys !== null) {
          top.position = JSON.parse(text.slice(i, end + 1)) as string;
          top.isKeyNext = false;
          if (top.keys.has(top.position)) return open.map(({ position: at }) => at).join('.');
          top.keys.add(top.position);
        }
        i = end;
        break;
      }
    }
  }
  return undefined;
}

/** Returns the end of a string; beyond the text for an unterminated one. */
function findStringEnd(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end;
}

const unsupportedEncodingError = (): AppError =>
  new AppError('unsupported_media_type', 'The request body must be plain UTF-8.');

const bodyTooLargeError = (limitBytes: number): AppError =>
  new AppError('body_too_large', `The request body is larger than ${limitBytes} bytes.`);
