import { setClockOffset } from '../format/clock.ts';
import type { Session } from '../session/session.ts';
import type { FleetQuery } from './fleet-query.ts';
import type { LiveStore } from './live-store.ts';
import type { FromWorker, ToWorker, Viewport } from './protocol.ts';

/** The worker that owns the websocket and the vehicles, as the page uses it. */
export interface LiveConnection {
  /** Sets filters and order of the list and the map. */
  setQuery(query: FleetQuery): void;
  /** Sets the part of the map on screen; null without a map. */
  setViewport(viewport: Viewport | null): void;
  /** Connects at once instead of later. */
  reconnect(): void;
  stop(): void;
}

const createWorker = (): Worker => new Worker(new URL('./live.worker.ts', import.meta.url), { type: 'module' });

/** A worker that no connection uses yet. */
let preparedWorker: Worker | undefined;

/** Loads the worker of the next connection. It does nothing until it has credentials. */
export function prepareLiveConnection(): void {
  preparedWorker ??= createWorker();
}

/** Starts the worker and applies its messages to the store. */
export function startLiveConnection(session: Session, store: LiveStore, onGap: () => void): LiveConnection {
  const worker = preparedWorker ?? createWorker();
  preparedWorker = undefined;
  const send = (message: ToWorker): void => worker.postMessage(message);
  const sendToken = async (): Promise<void> => {
    try {
      // The worker reads the vehicles before it has a websocket.
      send({ kind: 'headers', headers: await session.getHeaders() });
      const { data } = await session.api.GET('/api/user/generate-websocket-token');
      if (data === undefined) throw new Error('The server returned no token.');
      send({ kind: 'token', wsUrl: data.ws_url, token: data.token });
    } catch {
      // The worker retries with growing delays; the connection state shows it.
      send({ kind: 'tokenFailed' });
    }
  };
  worker.onmessage = ({ data: message }: MessageEvent<FromWorker>) => {
    if (message.kind === 'needsToken') void sendToken();
    else apply(store, message, { send, onGap });
  };
  void sendToken();
  const onVisibility = (): void => {
    const isHidden = document.visibilityState === 'hidden';
    send({ kind: 'visibility', isHidden });
    if (!isHidden) send({ kind: 'reconnect' });
  };
  const reconnect = (): void => send({ kind: 'reconnect' });
  window.addEventListener('online', reconnect);
  document.addEventListener('visibilitychange', onVisibility);
  return {
    setQuery: (query) => send({ kind: 'query', query }),
    setViewport: (viewport) => send({ kind: 'viewport', viewport }),
    reconnect,
    stop: () => {
      window.removeEventListener('online', reconnect);
      document.removeEventListener('visibilitychange', onVisibility);
      send({ kind: 'stop' });
    },
  };
}

function apply(
  store: LiveStore,
  message: Exclude<FromWorker, { kind: 'needsToken' }>,
  { send, onGap }: { readonly send: (message: ToWorker) => void; readonly onGap: () => void },
): void {
  switch (message.kind) {
    case 'connection':
      store.setConnection(message.state);
      break;
    case 'clock':
      setClockOffset(message.offsetMs);
      break;
    case 'texts':
      store.setTexts(message.texts);
      break;
    case 'batch':
      store.applyBatch(message.rows);
      send({ kind: 'batchDone' });
      break;
    case 'view':
      store.setView(message.view, message.hasLoaded);
      send({ kind: 'viewDone' });
      break;
    case 'marks':
      store.setMarks(message.marks);
      send({ kind: 'marksDone' });
      break;
    case 'events':
      for (const event of message.events) store.publish(event);
      break;
    case 'gap':
      onGap();
      break;
    default:
  }
}
