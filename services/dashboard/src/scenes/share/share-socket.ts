import { reconnectDelayMs } from '../../common/live/reconnect-delay.ts';

/** Position of the vehicle of a share link. */
interface SharedLocation {
  readonly latitude: number;
  readonly longitude: number;
  readonly speed: number;
  readonly course: number;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** State of the vehicle of a share link. */
interface SharedStatus {
  readonly state: 'moving' | 'idle' | 'stopped' | 'offline' | 'never_connected';
  readonly state_since: number | null;
}

interface ShareHandlers {
  readonly onLocation: (location: SharedLocation) => void;
  readonly onStatus: (status: SharedStatus) => void;
  /** Called once, when the link has expired or was revoked. */
  readonly onEnd: () => void;
}

interface Message {
  readonly type: string;
  readonly data: object & { readonly locations?: readonly SharedLocation[] };
}

/** Close code of an ended link. */
const shareEnded = 4408;

/**
 * Receives the events of a share link from its websocket, which counts no view. Connects again after a loss. Returns a
 * function that stops it.
 */
export function followShareLink(wsUrl: string, handlers: ShareHandlers): () => void {
  let attempt = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let socket: WebSocket | undefined;
  const connect = (): void => {
    socket = new WebSocket(wsUrl);
    socket.onopen = () => {
      attempt = 0;
    };
    socket.onmessage = ({ data }: MessageEvent<string>) => apply(JSON.parse(data) as Message, handlers);
    socket.onclose = ({ code }) => {
      if (code === shareEnded) return handlers.onEnd();
      timer = setTimeout(connect, reconnectDelayMs(attempt));
      attempt += 1;
    };
  };
  connect();
  return () => {
    clearTimeout(timer);
    if (socket === undefined) return;
    socket.onclose = null;
    socket.close();
  };
}

function apply({ type, data }: Message, { onLocation, onStatus }: ShareHandlers): void {
  if (type === 'location') onLocation(data as SharedLocation);
  else if (type === 'status') onStatus(data as SharedStatus);
  else if (type === 'snapshot') for (const location of data.locations ?? []) onLocation(location);
}
