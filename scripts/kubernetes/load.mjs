// Load on a cluster: terminals that report, commands, alarms with webhooks, and streams that are watched. Counts what is
// lost.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readTelemetryBatch } from '../../libs/bus/dist/index.js';
import { createCameraClips, SimulatedTerminal } from '../../libs/terminal-simulator/dist/index.js';
import { waitUntil } from '../processes.mjs';
import { root } from '../steps.mjs';
import { Api } from './api.mjs';

const { connect } = createRequire(new URL('../../test-e2e/package.json', import.meta.url))('nats');
const cacheDir = join(root, '.cache', 'clips');
const reportIntervalMs = 2_000;
const commandIntervalMs = 250;
const alarmIntervalMs = 4_000;
const settleTimeoutMs = 120_000;
const importSize = 200;
const messageIdOfReport = 0x0200;
const messageIdOfStreamControl = 0x9102;
const watchedChannel = 1;

/** Receives webhooks. Counts each event once. */
class WebhookReceiver {
  #server;
  #ids = new Set();
  /** SOS events that were received, each once. */
  alarms = 0;

  async start(host) {
    this.#server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        this.#count(request.headers['webhook-id'], body);
        response.end();
      });
    }).listen(0, host);
    await once(this.#server, 'listening');
    return `http://${host}:${this.#server.address().port}/`;
  }

  /** Counts an SOS once: a repeated delivery has the id of the first one. */
  #count(id, body) {
    if (!this.#ids.has(id) && /notification_type[\\": ]+sos/.test(body)) this.alarms += 1;
    this.#ids.add(id);
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Watches a stream until it is stopped. Counts ends that the viewer did not cause. */
class Viewer {
  ends = 0;
  bytes = 0;
  /** Longest time without a byte. */
  longestPauseMs = 0;
  #lastByteAtMs = 0;
  /** Why the last attempt to watch ended. */
  lastError = '';
  #isStopped = false;
  #aborter = new AbortController();

  async watch(api, imei) {
    while (!this.#isStopped) {
      await this.#watchOnce(api, imei).catch((error) => (this.lastError = error.message));
      if (!this.#isStopped) this.ends += 1;
      await sleep(1_000);
    }
  }

  async #watchOnce(api, imei) {
    const query = `imei=${imei}&channel=${watchedChannel}`;
    const started = await api.send('GET', `/api/v1/realtime/start-stream?${query}`);
    if (started.status !== 200) throw new Error(`The start responded with ${started.status}.`);
    const response = await api.openStream(`/api/v1/realtime/stream.flv?${query}`);
    if (response.status !== 200) throw new Error(`The stream responded with ${response.status}.`);
    await this.#read(response);
  }

  async #read(response) {
    const reader = response.body.getReader();
    this.#aborter.signal.addEventListener('abort', () => reader.cancel().catch(() => {}));
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) this.#count(part.value.length);
    } catch {
      // The end of a stream is counted by the caller.
    }
  }

  #count(bytes) {
    const nowMs = performance.now();
    if (this.bytes > 0) this.longestPauseMs = Math.max(this.longestPauseMs, nowMs - this.#lastByteAtMs);
    this.bytes += bytes;
    this.#lastByteAtMs = nowMs;
  }

  stop() {
    this.#isStopped = true;
    this.#aborter.abort();
  }
}

/** Returns the SHA-256 of each report that JetStream has stored. */
async function readStoredReports(nats) {
  const connection = await connect(nats);
  try {
    const stream = await connection.jetstream().streams.get('TELEMETRY');
    const { first_seq: first, last_seq: last } = (await stream.info()).state;
    const stored = new Set();
    for (let seq = first; seq <= last; seq += 1)
      for (const body of [...readTelemetryBatch((await stream.getMessage({ seq })).data)].flatMap(toBodies))
        stored.add(createHash('sha256').update(body).digest('hex'));
    return stored;
  } finally {
    await connection.close();
  }
}

/** Returns the reports of a message: a batch has several, each after its length (JT/T 808-2013 table 77). */
function toBodies({ messageId, body }) {
  if (messageId === messageIdOfReport) return [body];
  const bodies = [];
  for (let offset = 3; offset + 2 <= body.length; offset += 2 + body.readUInt16BE(offset))
    bodies.push(body.subarray(offset + 2, offset + 2 + body.readUInt16BE(offset)));
  return bodies;
}

/** Runs the load. `start` resolves when all terminals are online. */
export class Load {
  #options;
  #api;
  #terminals = [];
  #receiver = new WebhookReceiver();
  #viewers = [];
  #loops = [];
  #isStopped = false;
  #statuses = new Map();
  #alarmsRaised = 0;

  /** @param {{ baseUrl: string, apiKey: string, owner: { email: string, password: string }, gateway: string, gatewayPort?: number, nats: { servers: string, user?: string, pass?: string }, webhookHost: string, terminals: number, viewers: number }} options */
  constructor(options) {
    this.#options = options;
    this.#api = new Api(options.baseUrl, options.apiKey);
  }

  async start() {
    const { terminals, viewers } = this.#options;
    const first = 139_000_000_000 + (randomBytes(3).readUIntBE(0, 3) % 900_000) * 1_000;
    const imeis = Array.from({ length: terminals }, (_, index) => String(first + index));
    await this.#api.logIn(this.#options.owner);
    await this.#createVehicles(imeis);
    const url = await this.#receiver.start(this.#options.webhookHost);
    const { status, body } = await this.#api.send('POST', '/api/user-webhooks', { url, name: 'Load' });
    if (status !== 201) throw new Error(`The webhook was not created: ${JSON.stringify(body)}`);
    for (const phone of imeis) this.#startTerminal(phone);
    await waitUntil('the connection of all terminals', () => this.#terminals.every(({ isOnline }) => isOnline));
    this.#loops = [
      this.#repeat(commandIntervalMs, () => this.#sendCommand()),
      this.#repeat(alarmIntervalMs, () => this.#raiseAlarm()),
    ];
    for (const phone of imeis.slice(0, viewers)) {
      const viewer = new Viewer();
      this.#viewers.push(viewer);
      this.#loops.push(viewer.watch(this.#api, phone));
    }
    await waitUntil('the first picture of all viewers', () => {
      const failed = this.#viewers.find(({ bytes }) => bytes === 0);
      if (failed?.lastError) throw new Error(failed.lastError);
      return failed === undefined;
    });
  }

  async #createVehicles(imeis) {
    for (let from = 0; from < imeis.length; from += importSize) {
      const rows = imeis.slice(from, from + importSize).map((imei) => ({ vehicle_no: imei, name: imei, imei }));
      const { status, body } = await this.#api.send('POST', '/api/vehicles/import', { rows });
      if (status !== 200) throw new Error(`The vehicles were not created: ${JSON.stringify(body).slice(0, 500)}`);
    }
  }

  #startTerminal(phone) {
    const terminal = new SimulatedTerminal({
      host: this.#options.gateway,
      port: this.#options.gatewayPort ?? 7_808,
      phone,
      channels: 1,
      clips: createCameraClips('cluster', { cacheDir }, { main: { stamp: '' } }),
      reportIntervalMs,
      reconnect: { minMs: 500, maxMs: 3_000 },
      logLimit: 1_000_000,
    });
    this.#terminals.push(terminal);
    terminal.start();
  }

  async #repeat(intervalMs, run) {
    const pending = new Set();
    while (!this.#isStopped) {
      const one = Promise.resolve(run()).finally(() => pending.delete(one));
      pending.add(one);
      await sleep(intervalMs);
    }
    await Promise.all(pending);
  }

  #pickTerminal() {
    return this.#terminals[Math.floor(Math.random() * this.#terminals.length)];
  }

  /** Sends a text to a terminal, and counts the status of its response. */
  async #sendCommand() {
    const path = `/api/v1/realtime/control-stream?imei=${this.#pickTerminal().phone}&channel=9&ctrl_instruction=2`;
    const { status } = await this.#api.send('GET', path).catch(() => ({ status: 0 }));
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
  }

  /** Raises an SOS on the next terminal: each raises one, which is one event. */
  #raiseAlarm() {
    const terminal = this.#terminals[this.#alarmsRaised];
    if (terminal === undefined) return;
    terminal.raiseAlarm('emergency');
    this.#alarmsRaised += 1;
  }

  /** Counts the requests to stop the watched channel: a camera receives none while somebody watches. */
  #countStreamStops() {
    const stops = this.#terminals.flatMap((terminal) => terminal.receivedFrames(messageIdOfStreamControl));
    return stops.filter(({ body }) => body[0] === watchedChannel).length;
  }

  async #stopLoops() {
    this.#isStopped = true;
    for (const viewer of this.#viewers) viewer.stop();
    await Promise.all(this.#loops);
  }

  /** Stops the load at once. */
  async stop() {
    await this.#stopLoops();
    await Promise.all(this.#terminals.map((terminal) => terminal.stop()));
    this.#receiver.stop();
  }

  /** Stops the load, waits until everything has arrived, and returns the counts. */
  async finish() {
    const streamEnds = this.#viewers.reduce((sum, { ends }) => sum + ends, 0);
    const streamStops = this.#countStreamStops();
    await this.#stopLoops();
    const reports = this.#terminals.flatMap((terminal) => terminal.reports.slice());
    await waitUntil(
      'the acknowledgement of all reports',
      () => reports.every(({ acknowledgedAtMs }) => acknowledgedAtMs !== null),
      { timeoutMs: settleTimeoutMs },
    );
    await Promise.all(this.#terminals.map((terminal) => terminal.stop()));
    const arrived = () => this.#receiver.alarms >= this.#alarmsRaised;
    await waitUntil('the webhooks of all alarms', arrived, { timeoutMs: settleTimeoutMs }).catch(() => {});
    this.#receiver.stop();
    const stored = await readStoredReports(this.#options.nats);
    return {
      reports: reports.length,
      reportsLost: reports.filter(({ sha256 }) => !stored.has(sha256)).length,
      commands: Object.fromEntries(this.#statuses),
      commandsFailed: [...this.#statuses].reduce((sum, [status, count]) => sum + (status === 200 ? 0 : count), 0),
      alarms: this.#alarmsRaised,
      alarmsLost: this.#alarmsRaised - this.#receiver.alarms,
      streams: this.#viewers.length,
      streamEnds,
      streamStops,
      longestPausesMs: this.#viewers.map(({ longestPauseMs }) => Math.round(longestPauseMs)),
      streamErrors: this.#viewers.map(({ lastError }) => lastError).filter((each) => each !== ''),
    };
  }
}
