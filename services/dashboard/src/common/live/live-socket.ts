import type { ConnectionState } from './protocol.ts';
import { reconnectDelayMs } from './reconnect-delay.ts';

/** Pages do not see ping frames, so the worker sends messages of its own. */
const pingIntervalMs = 20_000;
const silenceLimitMs = 45_000;
const closeCodes = { restart: 1012, tooManyWindows: 4429 };
/** Delay that the server names when it restarts. */
const serverDelay = /come back after (\d+) s/;
/** The interval of the server's batches. */
const batchMs = 100;
const subscribedEvents = [
  'location',
  'status',
  'notification',
  'vehicle',
  'command',
  'upload',
  'media',
  'stream',
  'delivery',
  'device',
];

export interface ServerMessage {
  readonly type: string;
  /** Time of the server, in milliseconds since 1970. */
  readonly ts: number;
  readonly data: unknown;
}

interface SocketListener {
  /** A connection requires a token. */
  onTokenNeeded(): void;
  /** The server has accepted the connection; live events follow. */
  onOpen(serverTimeMs: number): void;
  onMessage(message: ServerMessage): void;
  onState(state: ConnectionState): void;
}

/**
 * Manages the websocket of this page: connects again after every loss, and detects a dead connection by its silence.
 */
export class LiveSocket {
  readonly #listener: SocketListener;
  #socket: WebSocket | null = null;
  #attempt = 0;
  #lastMessageAtMs = 0;
  #disconnectedAtMs: number | null = null;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #pingTimer: ReturnType<typeof setInterval>;
  #lastNotificationId: number | null = null;
  #isStopped = false;

  constructor(listener: SocketListener) {
    this.#listener = listener;
    this.#pingTimer = setInterval(() => this.#check(), pingIntervalMs);
  }

  /** Requests a token, and so begins to connect. */
  start(): void {
    clearTimeout(this.#retryTimer);
    if (this.#disconnectedAtMs === null) this.#listener.onState({ kind: 'connecting' });
    this.#listener.onTokenNeeded();
  }

  connect(wsUrl: string, token: string): void {
    if (this.#isStopped) return;
    this.#socket?.close();
    const socket = new WebSocket(`${wsUrl}?token=${encodeURIComponent(token)}&snapshot=none`);
    this.#socket = socket;
    this.#lastMessageAtMs = Date.now();
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      if (this.#socket !== socket) return;
      this.#lastMessageAtMs = Date.now();
      this.#onMessage(socket, JSON.parse(data) as ServerMessage);
    };
    socket.onclose = ({ code, reason }) => {
      if (this.#socket === socket) this.#onClose(code, reason);
    };
  }

  /** Connects again later, with growing delays. */
  retryLater(delayMs = reconnectDelayMs(this.#attempt)): void {
    clearTimeout(this.#retryTimer);
    this.#disconnectedAtMs ??= Date.now();
    this.#attempt += 1;
    const retryAtMs = Date.now() + delayMs;
    this.#listener.onState({ kind: 'disconnected', sinceMs: this.#disconnectedAtMs, retryAtMs });
    this.#retryTimer = setTimeout(() => this.start(), delayMs);
  }

  /** Connects at once unless the connection is alive: the network or the page is back. */
  reconnect(): void {
    const isSilent = Date.now() - this.#lastMessageAtMs > silenceLimitMs;
    if (this.#socket !== null && !isSilent) return;
    this.#drop();
    this.start();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#retryTimer);
    clearInterval(this.#pingTimer);
    this.#drop();
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #onMessage(socket: WebSocket, message: ServerMessage): void {
    if (message.type === 'hello') this.#onHello(socket, message);
    else if (message.type === 'batch')
      for (const each of (message.data as { messages: readonly ServerMessage[] }).messages) this.#dispatch(each);
    else this.#dispatch(message);
  }

  #onHello(socket: WebSocket, { data }: ServerMessage): void {
    this.#attempt = 0;
    this.#disconnectedAtMs = null;
    socket.send(JSON.stringify({ type: 'subscribe', vehicles: 'all', events: subscribedEvents, batch_ms: batchMs }));
    const since = this.#lastNotificationId;
    if (since !== null) socket.send(JSON.stringify({ type: 'resume', since }));
    this.#listener.onOpen(Date.parse((data as { server_time: string }).server_time));
  }

  #dispatch(message: ServerMessage): void {
    if (message.type === 'notification') this.#lastNotificationId = (message.data as { id: number }).id;
    this.#listener.onMessage(message);
  }

  #onClose(code: number, reason: string): void {
    this.#socket = null;
    if (code === closeCodes.tooManyWindows) {
      this.#listener.onState({ kind: 'tooManyWindows' });
      return;
    }
    const seconds = code === closeCodes.restart ? serverDelay.exec(reason)?.[1] : undefined;
    this.retryLater(seconds === undefined ? undefined : Number(seconds) * 1_000);
  }

  #check(): void {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return;
    if (Date.now() - this.#lastMessageAtMs <= silenceLimitMs) socket.send(JSON.stringify({ type: 'ping' }));
    else {
      this.#drop();
      this.retryLater();
    }
  }
}
