import { createInbox, ErrorCode, headers, type Msg, type MsgHdrs, NatsError } from 'nats';
import type { Bus } from './connection.ts';
import { headerNames } from './header-names.ts';

/** Interval of the heartbeats that a service sends while it handles a request. */
const heartbeatIntervalMs = 1_000;

/** A request whose service must send heartbeats. */
interface WatchedRequest {
  readonly data: Uint8Array;
  readonly head: MsgHdrs;
  readonly timeoutMs: number;
  /** Time without a heartbeat after which the service counts as dead. */
  readonly lostAfterMs: number;
}

/** Thrown when a service has sent neither a reply nor a heartbeat. */
export class HeartbeatLostError extends Error {
  override readonly name = 'HeartbeatLostError';
}

/**
 * Sends a request and returns its reply. Throws a `NatsError` like `nc.request`, and a `HeartbeatLostError` if the
 * service, or the connection to it, has died.
 */
export function requestWithHeartbeats(
  { nc }: Bus,
  subject: string,
  { data, head, timeoutMs, lostAfterMs }: WatchedRequest,
): Promise<Msg> {
  const inbox = createInbox();
  head.set(headerNames.heartbeat, '1');
  return new Promise((resolve, reject) => {
    const subscription = nc.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null) return end(() => reject(error));
        if (message.headers?.has(headerNames.heartbeat) === true) return void lostTimer.refresh();
        if (message.data.length === 0 && message.headers?.code === 503)
          return end(() => reject(NatsError.errorForCode(ErrorCode.NoResponders)));
        end(() => resolve(message));
      },
    });
    const end = (settle: () => void): void => {
      clearTimeout(lostTimer);
      clearTimeout(timer);
      subscription.unsubscribe();
      settle();
    };
    const timer = setTimeout(() => end(() => reject(NatsError.errorForCode(ErrorCode.Timeout))), timeoutMs);
    const lostTimer = setTimeout(
      () => end(() => reject(new HeartbeatLostError('the service sent no heartbeat'))),
      lostAfterMs,
    );
    try {
      nc.publish(subject, data, { reply: inbox, headers: head });
    } catch (error) {
      end(() => reject(error));
    }
  });
}

/** Sends heartbeats to the caller of a request, if it wants them. Returns a function that ends them. */
export function sendHeartbeats(message: Msg): () => void {
  if (message.headers?.has(headerNames.heartbeat) !== true) return () => undefined;
  const head = headers();
  head.set(headerNames.heartbeat, '1');
  const timer = setInterval(() => {
    try {
      message.respond(new Uint8Array(), { headers: head });
    } catch {
      // The connection was closed: the caller notices it.
      clearInterval(timer);
    }
  }, heartbeatIntervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
