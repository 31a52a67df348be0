import type { ClientRequest, IncomingMessage } from 'node:http';
import { errorCode } from './start-error.ts';

/** Methods that can be repeated without further effect (RFC 9110, section 9.2.2). */
const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);
/** Errors of a connection that the service closed while the request was in flight. */
const resetCodes = new Set(['ECONNRESET', 'EPIPE']);
const maxStoredBytes = 64 * 1024;

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

const isRepeatable = (request: IncomingMessage): boolean =>
  idempotentMethods.has(request.method ?? '') &&
  (!hasBody(request) || Number(request.headers['content-length']) <= maxStoredBytes);

/** Records idempotent requests with their bodies, to be retried once if their pooled connection was closed. */
export class RepeatableRequests {
  readonly #bodies = new WeakMap<IncomingMessage, Buffer | null>();
  readonly #sent = new WeakMap<IncomingMessage, ClientRequest>();

  /**
   * Stores the body of a request that may be repeated. Returns false if the client closed the connection before its
   * end.
   */
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
      // The client is disconnected, so no response is needed.
      return false;
    }
    this.#bodies.set(request, Buffer.concat(chunks));
    return true;
  }

  /** Returns the stored body; null without one. */
  body(request: IncomingMessage): Buffer | null {
    return this.#bodies.get(request) ?? null;
  }

  /** Records the request to the service by which a request was forwarded. */
  onForwarded(request: IncomingMessage, sent: ClientRequest): void {
    this.#sent.set(request, sent);
  }

  /** Returns true if the request failed because its reused connection was closed. */
  isRepeated(request: IncomingMessage, error: Error): boolean {
    const wasReused = this.#sent.get(request)?.reusedSocket === true;
    return wasReused && this.#bodies.has(request) && resetCodes.has(errorCode(error) ?? '');
  }
}
