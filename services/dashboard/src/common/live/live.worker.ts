// Owns the websocket and the vehicles: parses, filters, sorts and clusters, so that the page only draws.
import { EventQueue } from './event-queue.ts';
import { createMarks } from './fleet-clusters.ts';
import { everything, type FleetQuery } from './fleet-query.ts';
import { FleetReader } from './fleet-reader.ts';
import { FleetTable, type LiveStatus } from './fleet-table.ts';
import { FleetViewBuilder } from './fleet-view.ts';
import { LiveSocket, type ServerMessage } from './live-socket.ts';
import type { ConnectionState, FromWorker, LiveLocation, OpenSeverity, ToWorker, Viewport } from './protocol.ts';

const batchIntervalMs = 100;
const hiddenIntervalMs = 1_000;
const viewIntervalMs = 500;
/** Names in one message, so that no task of the page is long. */
const textsPerMessage = 500;
/** Messages that arrive later are late because of the server, the network or this page. */
const slowAfterMs = 3_000;
/** Without newer positions nothing is late. */
const currentMs = 5_000;

const table = new FleetTable();
const builder = new FleetViewBuilder(table);
const events = new EventQueue();
let query: FleetQuery = everything;
let viewport: Viewport | null = null;
let matched: Uint8Array<ArrayBuffer> = new Uint8Array(0);
let isHidden = false;
let isPageBusy = false;
let isViewBusy = false;
let areMarksBusy = false;
let isViewDue = false;
let areMarksDue = false;
let lastBatchAtMs = 0;
let lastViewAtMs = 0;
let clockOffsetMs = 0;
let delayMs = 0;
let lastLocationAtMs = 0;
let isCaughtUp = false;
let hasStartedReading = false;
let hasLoaded = false;
let state: ConnectionState = { kind: 'connecting' };

const post = (message: FromWorker, transfer: Transferable[] = []): void => self.postMessage(message, { transfer });

function setState(next: ConnectionState): void {
  state = next;
  post({ kind: 'connection', state });
}

const reader = new FleetReader(table, {
  onRead: (isCurrent) => {
    const isFirst = !hasLoaded;
    hasLoaded = true;
    isViewDue = true;
    if (isCurrent && state.kind === 'catchingUp') {
      isCaughtUp = true;
      setState({ kind: 'live' });
    }
    if (isFirst) postChanges();
  },
  onFailed: () => post({ kind: 'needsToken' }),
});

const socket = new LiveSocket({
  onTokenNeeded: () => post({ kind: 'needsToken' }),
  onState: setState,
  onMessage,
  onOpen: (serverTimeMs) => {
    clockOffsetMs = serverTimeMs - Date.now();
    delayMs = 0;
    post({ kind: 'clock', offsetMs: clockOffsetMs });
    isCaughtUp = false;
    setState({ kind: 'catchingUp' });
    void reader.read();
  },
});

function onMessage({ type, ts, data }: ServerMessage): void {
  switch (type) {
    case 'location':
      delayMs = Date.now() + clockOffsetMs - ts;
      lastLocationAtMs = Date.now();
      // A vehicle that is not known yet follows with the next read.
      if (!table.setLocation(data as LiveLocation)) reader.readSoon();
      isViewDue = true;
      return;
    case 'status':
      table.setStatus(data as LiveStatus);
      isViewDue = true;
      break;
    case 'notification':
      onNotification(data as NotificationEvent);
      break;
    case 'vehicle':
      onVehicle(data as { vehicle_id: number; action: string });
      break;
    case 'subscribed':
    case 'pong':
      return;
    default:
  }
  events.add({ type, data });
}

interface NotificationEvent {
  readonly vehicle_id: number;
  readonly severity: OpenSeverity;
  readonly acknowledged_at: string | null;
}

function onNotification({ vehicle_id: vehicleId, severity, acknowledged_at: acknowledgedAt }: NotificationEvent): void {
  // Other events of the vehicle may still be open.
  if (acknowledgedAt !== null) reader.readSoon();
  else table.raiseSeverity(vehicleId, severity);
  isViewDue = true;
}

function onVehicle({ vehicle_id: vehicleId, action }: { vehicle_id: number; action: string }): void {
  if (action === 'removed' || action === 'unshared') {
    table.removeVehicle(vehicleId);
    isViewDue = true;
  } else reader.readSoon();
}

function postChanges(): void {
  const nowMs = Date.now();
  const intervalMs = isHidden ? hiddenIntervalMs : batchIntervalMs;
  if (nowMs - lastBatchAtMs >= intervalMs && !isPageBusy) postBatch(nowMs);
  if (nowMs - lastViewAtMs >= viewIntervalMs) postView(nowMs);
}

function postBatch(nowMs: number): void {
  if (table.changedCount === 0 && events.isEmpty) return;
  lastBatchAtMs = nowMs;
  isPageBusy = true;
  const texts = table.takeChangedTexts();
  for (let at = 0; at < texts.length; at += textsPerMessage)
    post({ kind: 'texts', texts: texts.slice(at, at + textsPerMessage) });
  const rows = table.takeChangedRows();
  post({ kind: 'batch', rows }, [rows.buffer]);
  const taken = events.take();
  if (taken.hasGap) post({ kind: 'gap' });
  if (taken.events.length > 0) post({ kind: 'events', events: taken.events });
}

function postView(nowMs: number): void {
  if (isHidden || isViewBusy || areMarksBusy || !(isViewDue || areMarksDue)) return;
  lastViewAtMs = nowMs;
  if (isViewDue) {
    const built = builder.build(query);
    matched = built.matched;
    isViewBusy = true;
    const { rows, counts, groupCounts } = built.view;
    post({ kind: 'view', view: built.view, hasLoaded }, [rows.buffer, counts.buffer, groupCounts.buffer]);
  }
  isViewDue = false;
  areMarksDue = false;
  areMarksBusy = true;
  const marks = createMarks(table.columns, matched, viewport);
  post({ kind: 'marks', marks }, [marks.drawn.buffer, marks.clusters.buffer]);
}

function reportDelay(): void {
  if (!isCaughtUp) return;
  const isCurrent = Date.now() - lastLocationAtMs < currentMs;
  if (isCurrent && delayMs > slowAfterMs) setState({ kind: 'slow', delayMs });
  else if (state.kind === 'slow') setState({ kind: 'live' });
}

function stop(): void {
  socket.stop();
  reader.stop();
  self.close();
}

self.onmessage = ({ data: message }: MessageEvent<ToWorker>) => {
  switch (message.kind) {
    case 'headers':
      reader.headers = message.headers;
      // The first read does not wait for the websocket; a later one returns what changed before the websocket was open.
      if (!hasStartedReading) void reader.read();
      hasStartedReading = true;
      break;
    case 'token':
      socket.connect(message.wsUrl, message.token);
      break;
    case 'tokenFailed':
      socket.retryLater();
      break;
    case 'batchDone':
      isPageBusy = false;
      break;
    case 'viewDone':
      isViewBusy = false;
      break;
    case 'marksDone':
      areMarksBusy = false;
      break;
    case 'query':
      query = message.query;
      isViewDue = true;
      lastViewAtMs = 0;
      break;
    case 'viewport':
      viewport = message.viewport;
      areMarksDue = true;
      break;
    case 'visibility':
      isHidden = message.isHidden;
      isViewDue = true;
      break;
    case 'reconnect':
      socket.reconnect();
      break;
    case 'stop':
      stop();
      break;
    default:
  }
};

setInterval(postChanges, batchIntervalMs);
setInterval(reportDelay, 1_000);
