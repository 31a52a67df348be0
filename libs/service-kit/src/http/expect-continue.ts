import type { IncomingMessage, ServerResponse } from 'node:http';

const pendingContinues = new WeakMap<IncomingMessage, () => void>();

/**
 * Leaves `100 Continue` to the reader of the body, so that a rejection reaches the client before it sends the body. A
 * client that received a final response may omit the body, so that response ends the connection.
 */
export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  const { shouldKeepAlive } = response;
  response.shouldKeepAlive = false;
  pendingContinues.set(request, () => {
    response.shouldKeepAlive = shouldKeepAlive;
    response.writeContinue();
  });
}

/** Returns true while the client waits for `100 Continue`. */
export const isContinueDue = (request: IncomingMessage): boolean => pendingContinues.has(request);

/** Sends `100 Continue` if the client waits for it. */
export function sendContinue(request: IncomingMessage): void {
  const send = pendingContinues.get(request);
  pendingContinues.delete(request);
  send?.();
}
