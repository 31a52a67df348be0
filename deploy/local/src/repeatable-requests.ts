import type { ClientRequest, IncomingMessage } from 'node:http';
import { errorCode } from './start-error.ts';

/** Methods of which a second request does no more than the first (RFC 9110, section 9.2.2). */
const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);
/** Errors of a connection that the service closed while the request was on its way. */
const resetCodes = new Set(['ECONNRESET', 'EPIPE']);
const maxStoredBytes = 64 * 1024;

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

const isRepeatable = (request: IncomingMessage): boolean =>
  idempotentMethods.has(request.method ?? '') &&
  (!hasBody(request) || Number(request.headers['content-length']) <= maxStoredBytes);

/** Idempotent requests with their bodies, to be sent once more where a connection of the pool was closed under them. */
export class RepeatableRequests {
  readonly #bodies = new WeakMap<IncomingMessage, Buffer | null>();
  readonly #sent = new WeakMap<IncomingMessage, ClientRequest>();

  /** Stores the body of a request that may be repeated. Returns false where its client closed the connection meanwhile. */
  async store(request: IncomingMessage): Promise<boolean> {
    if (!isRepeatable(request)) return true;
    if (!hasBody(request)) {
      this.#bodies.set(request, null);
      return true;
    }
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch {
      // The client is gone: nobody waits for a response.
      return false;
    }
    this.#bodies.set(request, Buffer.concat(chunks));
    return true;
  }

  /** Returns the stored body; null without one. */
  body(request: IncomingMessage): Buffer | null {
    return this.#bodies.get(request) ?? null;
  }

  /** Records with which request to the service a request was forwarded. */
  onForwarded(request: IncomingMessage, sent: ClientRequest): void {
    this.#sent.set(request, sent);
  }

  /** Returns true where the request failed because its reused connection was closed. */
  isRepeated(request: IncomingMessage, error: Error): boolean {
    const wasReused = this.#sent.get(request)?.reusedSocket === true;
    return wasReused && this.#bodies.has(request) && resetCodes.has(errorCode(error) ?? '');
  }
}
