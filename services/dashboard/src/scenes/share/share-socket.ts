import { reconnectDelayMs } from '../../common/live/reconnect-delay.ts';
import type { Arrival } from './share-state.ts';
import type { SharedView, StreamChange } from './shared-view.ts';

type Location = NonNullable<SharedView['location']>;
type Status = Pick<SharedView, 'state' | 'state_since'>;

interface ShareListener {
  readonly onLocation: (location: Location) => void;
  readonly onStatus: (status: Status) => void;
  readonly onArrival: (arrival: Arrival) => void;
  readonly onStream: (change: StreamChange) => void;
  /** Since when the connection is lost; null once it is open. */
  readonly onConnection: (lostSinceMs: number | null) => void;
  /** The link has expired or was revoked. */
  readonly onEnd: () => void;
  /** The ticket is too old, and the link has a password. */
  readonly onLocked: () => void;
}

interface Message {
  readonly type: string;
  readonly data: unknown;
}

const closeCodes = { locked: 4401, ended: 4408 };
/** Pages do not see ping frames, so the page sends messages of its own. */
const pingIntervalMs = 20_000;
const silenceLimitMs = 45_000;
/** A ticket is valid for twelve hours; a new connection returns another one. */
const renewIntervalMs = 6 * 3_600_000;

/**
 * Follows a share link by its websocket, which counts no view. Connects again after a loss and detects a dead connection
 * by its silence.
 */
export class ShareSocket {
  readonly #address: URL;
  readonly #listener: ShareListener;
  readonly #timers: readonly ReturnType<typeof setInterval>[];
  #ticket: string;
  #socket: WebSocket | null = null;
  #attempt = 0;
  #lostSinceMs: number | null = null;
  #lastMessageAtMs = 0;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(wsUrl: string, listener: ShareListener) {
    this.#address = new URL(wsUrl);
    this.#ticket = this.#address.searchParams.get('ticket') ?? '';
    this.#listener = listener;
    this.#timers = [
      setInterval(() => this.#check(), pingIntervalMs),
      setInterval(() => this.#connect(), renewIntervalMs),
    ];
    window.addEventListener('online', this.#onReturn);
    document.addEventListener('visibilitychange', this.#onReturn);
    this.#connect();
  }

  /** Proves that the view was counted and the password verified. */
  get ticket(): string {
    return this.#ticket;
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    clearTimeout(this.#retryTimer);
    window.removeEventListener('online', this.#onReturn);
    document.removeEventListener('visibilitychange', this.#onReturn);
    this.#drop();
  }

  #connect(): void {
    clearTimeout(this.#retryTimer);
    this.#drop();
    this.#address.searchParams.set('ticket', this.#ticket);
    const socket = new WebSocket(this.#address);
    this.#socket = socket;
    this.#lastMessageAtMs = Date.now();
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      if (this.#socket === socket) this.#onMessage(JSON.parse(data) as Message);
    };
    socket.onclose = ({ code }) => {
      if (this.#socket === socket) this.#onClose(code);
    };
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #onMessage({ type, data }: Message): void {
    this.#lastMessageAtMs = Date.now();
    if (type === 'hello') this.#onHello((data as { ticket: string }).ticket);
    else if (type === 'location') this.#listener.onLocation(data as Location);
    else if (type === 'status') this.#listener.onStatus(data as Status);
    else if (type === 'arrival') this.#listener.onArrival(data as Arrival);
    else if (type === 'stream') this.#listener.onStream(data as StreamChange);
    else if (type === 'snapshot')
      for (const location of (data as { locations: readonly Location[] }).locations)
        this.#listener.onLocation(location);
  }

  #onHello(ticket: string): void {
    this.#ticket = ticket;
    this.#attempt = 0;
    this.#lostSinceMs = null;
    this.#listener.onConnection(null);
  }

  #onClose(code: number): void {
    this.#socket = null;
    if (code === closeCodes.ended) return this.#listener.onEnd();
    if (code === closeCodes.locked) return this.#listener.onLocked();
    this.#retryLater();
  }

  #retryLater(): void {
    this.#lostSinceMs ??= Date.now();
    this.#listener.onConnection(this.#lostSinceMs);
    clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => this.#connect(), reconnectDelayMs(this.#attempt));
    this.#attempt += 1;
  }

  /** Connects at once when the network or the page is back, unless the connection is alive. */
  readonly #onReturn = (): void => {
    if (!document.hidden && this.#lostSinceMs !== null && this.#socket === null) this.#connect();
    else this.#check();
  };

  #check(): void {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return;
    if (Date.now() - this.#lastMessageAtMs <= silenceLimitMs) socket.send(JSON.stringify({ type: 'ping' }));
    else {
      this.#drop();
      this.#retryLater();
    }
  }
}
