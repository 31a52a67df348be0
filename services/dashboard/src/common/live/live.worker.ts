// Owns the websocket: parses its messages and posts batches, so that a busy page gets fewer and newer rows.
import { BatchQueue } from './batch-queue.ts';
import type { ConnectionState, FromWorker, LiveLocation, ToWorker, VehicleState } from './protocol.ts';
import { reconnectDelayMs } from './reconnect-delay.ts';

const batchIntervalMs = 100;
/** Pages do not see ping frames, so the worker sends messages of its own. */
const pingIntervalMs = 20_000;
const silenceLimitMs = 45_000;
const subscribedEvents = ['location', 'status', 'notification', 'vehicle', 'command', 'upload', 'media', 'stream'];

const closeCodes = { tooManyWindows: 4429 };

interface ServerMessage {
  readonly type: string;
  readonly data: unknown;
}

const queue = new BatchQueue();
let socket: WebSocket | null = null;
let isPageBusy = false;
let attempt = 0;
let lastMessageAtMs = 0;
let lastNotificationId: number | null = null;
let retryTimer: ReturnType<typeof setTimeout> | undefined;
let disconnectedAtMs: number | null = null;

const post = (message: FromWorker, transfer: Transferable[] = []): void => self.postMessage(message, { transfer });
const report = (state: ConnectionState): void => post({ kind: 'connection', state });

function requestToken(): void {
  clearTimeout(retryTimer);
  report({ kind: 'connecting' });
  post({ kind: 'needsToken' });
}

function retryLater(): void {
  clearTimeout(retryTimer);
  disconnectedAtMs ??= Date.now();
  const delayMs = reconnectDelayMs(attempt);
  attempt += 1;
  report({ kind: 'disconnected', sinceMs: disconnectedAtMs, retryAtMs: Date.now() + delayMs });
  retryTimer = setTimeout(requestToken, delayMs);
}

function connect(wsUrl: string, token: string): void {
  socket?.close();
  const opened = new WebSocket(`${wsUrl}?token=${encodeURIComponent(token)}`);
  socket = opened;
  lastMessageAtMs = Date.now();
  opened.onmessage = ({ data }: MessageEvent<string>) => {
    lastMessageAtMs = Date.now();
    onMessage(opened, JSON.parse(data) as ServerMessage);
  };
  opened.onclose = ({ code }) => {
    if (socket !== opened) return;
    socket = null;
    if (code === closeCodes.tooManyWindows) report({ kind: 'tooManyWindows' });
    else retryLater();
  };
}

function onMessage(opened: WebSocket, { type, data }: ServerMessage): void {
  switch (type) {
    case 'hello':
      onHello(opened);
      break;
    case 'snapshot':
      for (const location of (data as { locations: readonly LiveLocation[] }).locations) queue.addLocation(location);
      break;
    case 'location':
      queue.addLocation(data as LiveLocation);
      break;
    case 'status':
      onStatus(data as { vehicle_id: number; state: VehicleState });
      break;
    case 'notification':
      lastNotificationId = (data as { id: number }).id;
      queue.addEvent({ type, data });
      break;
    case 'subscribed':
    case 'pong':
      break;
    default:
      queue.addEvent({ type, data });
  }
}

function onHello(opened: WebSocket): void {
  attempt = 0;
  disconnectedAtMs = null;
  opened.send(JSON.stringify({ type: 'subscribe', vehicles: 'all', events: subscribedEvents }));
  if (lastNotificationId !== null) opened.send(JSON.stringify({ type: 'resume', since: lastNotificationId }));
  report({ kind: 'live' });
}

function onStatus(status: { vehicle_id: number; state: VehicleState }): void {
  queue.setState(status.vehicle_id, status.state);
  queue.addEvent({ type: 'status', data: status });
}

function postBatch(): void {
  if (isPageBusy || queue.isEmpty) return;
  const { rows, events, hasGap } = queue.take();
  isPageBusy = true;
  if (hasGap) post({ kind: 'gap' });
  if (events.length > 0) post({ kind: 'events', events });
  post({ kind: 'batch', rows }, [rows.buffer]);
}

function checkConnection(): void {
  if (socket?.readyState !== WebSocket.OPEN) return;
  if (Date.now() - lastMessageAtMs > silenceLimitMs) socket.close();
  else socket.send(JSON.stringify({ type: 'ping' }));
}

self.onmessage = ({ data: message }: MessageEvent<ToWorker>) => {
  if (message.kind === 'token') connect(message.wsUrl, message.token);
  else if (message.kind === 'tokenFailed') retryLater();
  else if (message.kind === 'batchDone') isPageBusy = false;
  else if (message.kind === 'reconnect') {
    if (socket === null) requestToken();
  } else {
    const closing = socket;
    socket = null;
    clearTimeout(retryTimer);
    closing?.close();
    self.close();
  }
};

setInterval(postBatch, batchIntervalMs);
setInterval(checkConnection, pingIntervalMs);
requestToken();
