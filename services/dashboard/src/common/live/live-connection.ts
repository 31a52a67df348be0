import type { PlatformClient } from '@fleet/api-client';
import type { LiveStore } from './live-store.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

/**
 * Starts the worker that owns the websocket and applies its batches to the store. Returns a function that stops it.
 */
export function startLiveConnection(api: PlatformClient, store: LiveStore, onGap: () => void): () => void {
  const worker = new Worker(new URL('./live.worker.ts', import.meta.url), { type: 'module' });
  const send = (message: ToWorker): void => worker.postMessage(message);
  const sendToken = async (): Promise<void> => {
    try {
      const { data } = await api.GET('/api/user/generate-websocket-token');
      if (data === undefined) throw new Error('The server returned no token.');
      send({ kind: 'token', wsUrl: data.ws_url, token: data.token });
    } catch {
      // The worker retries with growing delays; the connection state shows it.
      send({ kind: 'tokenFailed' });
    }
  };
  worker.onmessage = ({ data: message }: MessageEvent<FromWorker>) => {
    if (message.kind === 'needsToken') void sendToken();
    else if (message.kind === 'connection') store.setConnection(message.state);
    else if (message.kind === 'events') for (const event of message.events) store.publish(event);
    else if (message.kind === 'gap') onGap();
    else {
      store.applyBatch(message.rows);
      send({ kind: 'batchDone' });
    }
  };
  const reconnect = (): void => {
    if (document.visibilityState === 'visible') send({ kind: 'reconnect' });
  };
  window.addEventListener('online', reconnect);
  document.addEventListener('visibilitychange', reconnect);
  return () => {
    window.removeEventListener('online', reconnect);
    document.removeEventListener('visibilitychange', reconnect);
    send({ kind: 'stop' });
  };
}
