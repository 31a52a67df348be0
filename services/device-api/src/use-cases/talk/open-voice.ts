import type { IncomingMessage } from 'node:http';
import { AppError, signMediaPath } from '@fleet/service-kit';
import { keepWebsocketAlive } from '@fleet/service-kit/websocket';
import type { StreamClaim, StreamId } from '@fleet/storage';
import { WebSocket } from 'ws';
import type { Deps } from '../../deps.ts';

const urlLifetimeMs = 60_000;
/** Longer than the query of the audio attributes by the media pod. */
const handshakeTimeoutMs = 10_000;
const maxPayloadBytes = 64 * 1024;
const pingIntervalMs = 10_000;
const maxErrorBytes = 4_096;

/** Opens the websocket of a talk stream at its media pod; throws 409 or 502. */
export async function openVoice(
  { config }: Pick<Deps, 'config'>,
  id: StreamId,
  claim: StreamClaim,
  signal: AbortSignal,
): Promise<WebSocket> {
  const url = signMediaPath(config.MEDIA_SIGNING_SECRET, {
    ...id,
    baseUrl: claim.url.replace(/^http/, 'ws'),
    lifetimeMs: urlLifetimeMs,
    suffix: '',
  });
  const websocket = new WebSocket(url, {
    handshakeTimeout: handshakeTimeoutMs,
    maxPayload: maxPayloadBytes,
    perMessageDeflate: false,
  });
  const onAbort = (): void => websocket.terminate();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await waitForOpen(websocket);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  // Errors close the websocket, and `close` follows.
  websocket.on('error', () => undefined);
  keepWebsocketAlive(websocket, pingIntervalMs);
  return websocket;
}

function waitForOpen(websocket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    websocket.once('open', resolve);
    websocket.once('unexpected-response', (request, response) => {
      readMessage(response).then(
        (message) => {
          request.destroy();
          reject(toError(response.statusCode ?? 0, message));
        },
        (cause: unknown) => reject(new AppError('upstream_error', 'The media server did not respond.', { cause })),
      );
    });
    websocket.once('error', (cause) =>
      reject(new AppError('upstream_error', 'The media server cannot be reached.', { cause })),
    );
  });
}

function toError(status: number, message: string): AppError {
  if (status === 409) return new AppError('camera_busy', 'Another user talks to this device.');
  return new AppError('upstream_error', message === '' ? `The media server returned ${status}.` : message);
}

/** Returns the message of an error of the media pod, or an empty text. */
async function readMessage(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) {
    text += String(part);
    if (text.length > maxErrorBytes) return '';
  }
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? error : '';
  } catch {
    // A proxy in between has its own body.
    return '';
  }
}
