import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createCameraClips, createRecordings, SimulatedTerminal } from '@fleet/terminal-simulator';
import { repoRoot } from '../paths.ts';
import { type Check, type Finding, failed, ok, skipped } from './check.ts';
import type { DoctorOptions } from './doctor-options.ts';
import { LiveEvents } from './live-events.ts';
import { ApiError, PlatformSession } from './platform-session.ts';

const pollMs = 250;
const longTimeoutMs = 90_000;
const recordingSeconds = 5;
/** More than the headers of a stream: at least one picture. */
const flvBytes = 20_000;
const cacheDir = join(repoRoot, '.cache', 'clips');

/** Polls until `check` returns a value other than undefined and false. */
async function poll<Value>(check: () => Promise<Value | undefined | false>, signal: AbortSignal): Promise<Value> {
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    await delay(pollMs, undefined, { signal });
  }
}

/** What the earlier checks have created. A check is skipped if it needs something that does not exist. */
interface Created {
  session?: PlatformSession;
  vehicleId?: number;
  terminal?: SimulatedTerminal;
  events?: LiveEvents;
}

/** Leads a simulated terminal through the whole product, with a vehicle that exists only for the trial. */
export class TerminalTrial {
  readonly #options: DoctorOptions;
  readonly #created: Created = {};
  /** No other terminal has a number of this kind. */
  readonly #imei = `0199${String(randomInt(10 ** 8)).padStart(8, '0')}`;
  readonly #recordedUntilMs = Math.floor(Date.now() / 1000) * 1000 - 60_000;

  constructor(options: DoctorOptions) {
    this.#options = options;
  }

  /** Returns the checks in their order. */
  get checks(): Check[] {
    const advice = 'Read the log of the service that the check names, and docs/operations.md, Incidents.';
    const check = (name: string, run: Check['run'], more: Partial<Check> = {}): Check => ({
      name,
      run,
      advice,
      ...more,
    });
    const long = { timeoutMs: longTimeoutMs };
    return [
      check('Log-in', (signal) => this.#logIn(signal)),
      check('Vehicle', (signal) => this.#createVehicle(signal)),
      check('Websocket', (signal) => this.#openWebsocket(signal), {
        advice: 'Check that the reverse proxy forwards websocket upgrades of /ws to platform-api, and WS_URL.',
      }),
      check('Terminal: registration', (signal) => this.#connect(signal), {
        ...long,
        advice: 'Check the port of jt808-gateway, REGISTRATION_POLICY and its log.',
      }),
      check('Terminal: location', (signal) => this.#report(signal), {
        ...long,
        advice:
          'Check NATS (streams, disk) and the process platform-telemetry: reports are stored before they are acknowledged.',
      }),
      check('Terminal: command', (signal) => this.#sendCommand(signal), long),
      check('Terminal: event', (signal) => this.#raiseAlarm(signal), {
        ...long,
        advice: 'Check the process platform-telemetry and the consumers of NOTIFICATIONS.',
      }),
      check('Webhook', (signal) => this.#testWebhook(signal), long),
      check('Video: first picture', (signal) => this.#watch(signal), {
        ...long,
        advice: 'Check MEDIA_PUBLIC_HOST and the ports of jt1078-media, which cameras must reach.',
      }),
      check('Clip by FTP', (signal) => this.#uploadClip(signal), {
        ...long,
        advice:
          'Check FTP_PUBLIC_HOST and the passive ports of upload-ftp, which cameras must reach, and free disk space.',
      }),
    ];
  }

  /** Stops the terminal and deletes the vehicle. */
  async end(): Promise<void> {
    const { session, vehicleId, terminal, events } = this.#created;
    events?.close();
    await terminal?.stop();
    const signal = AbortSignal.timeout(longTimeoutMs);
    if (vehicleId !== undefined) await session?.request('DELETE', `/vehicles/${vehicleId}`, signal);
  }

  async #logIn(signal: AbortSignal): Promise<Finding> {
    const { email, password, apiKey } = this.#options;
    if (email === undefined || password === undefined || apiKey === undefined)
      return skipped('no --email, --password and --api-key');
    try {
      const session = await PlatformSession.open(this.#options, signal);
      await session.request('GET', '/vehicles?limit=1', signal);
      this.#created.session = session;
      return ok(`as ${email}`);
    } catch (error) {
      if (!(error instanceof ApiError) || ![401, 403].includes(error.status)) throw error;
      return failed(error.message, 'Correct --email, --password and --api-key: key and user must be of one account.');
    }
  }

  async #createVehicle(signal: AbortSignal): Promise<Finding> {
    const { session } = this.#created;
    if (session === undefined) return skipped('needs a log-in');
    const vehicle = { vehicle_no: `DOCTOR ${this.#imei.slice(-8)}`, imei: this.#imei };
    this.#created.vehicleId = Number((await session.request('POST', '/vehicles', signal, vehicle))['id']);
    return ok(`${vehicle.vehicle_no}, deleted at the end`);
  }

  async #openWebsocket(signal: AbortSignal): Promise<Finding> {
    const { session, vehicleId } = this.#created;
    if (session === undefined || vehicleId === undefined) return skipped('needs a vehicle');
    const { token, ws_url: url } = await session.request('GET', '/user/generate-websocket-token', signal);
    const events = await LiveEvents.open(`${String(url)}?token=${String(token)}`, vehicleId);
    this.#created.events = events;
    await events.next('hello', signal);
    return ok('accepted');
  }

  async #connect(signal: AbortSignal): Promise<Finding> {
    const { session, vehicleId } = this.#created;
    const gateway = this.#options.ports.find(({ name }) => name === 'gateway');
    if (session === undefined || vehicleId === undefined || gateway === undefined)
      return skipped(gateway === undefined ? 'no --gateway' : 'needs a vehicle');
    const { host, port } = gateway;
    const until = new Date(this.#recordedUntilMs);
    const recordings = createRecordings({
      channels: [1],
      count: 2,
      seconds: recordingSeconds,
      until,
      bitrateKbps: 500,
    });
    const clips = createCameraClips(this.#imei, { cacheDir }, {});
    const terminal = new SimulatedTerminal({
      host,
      port,
      phone: this.#imei,
      channels: 1,
      reportIntervalMs: 0,
      clips,
      recordings,
    });
    this.#created.terminal = terminal;
    terminal.start();
    await terminal.waitUntilOnline(longTimeoutMs);
    // The gateway publishes a terminal a moment after its log-in.
    await poll(() => this.#isConnected(session, signal), signal);
    return ok(`${this.#imei} is registered and connected`);
  }

  async #isConnected(session: PlatformSession, signal: AbortSignal): Promise<boolean> {
    try {
      await session.getFromDeviceApi(`/health/device?imei=${this.#imei}`, signal);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    }
  }

  async #report(signal: AbortSignal): Promise<Finding> {
    const { terminal, events } = this.#created;
    if (terminal?.isOnline !== true || events === undefined)
      return skipped('needs a connected terminal and a websocket');
    const report = terminal.report();
    await poll(async () => report.acknowledgedAtMs !== null, signal);
    await events.next('location', signal);
    return ok('acknowledged, and received from the websocket');
  }

  async #sendCommand(signal: AbortSignal): Promise<Finding> {
    const { session, terminal } = this.#created;
    if (session === undefined || terminal?.isOnline !== true) return skipped('needs a connected terminal');
    const { result } = await session.getFromDeviceApi(`/wakeup?imei=${this.#imei}`, signal);
    return ok(`the terminal responded${typeof result === 'string' ? `: ${result}` : ''}`);
  }

  async #raiseAlarm(signal: AbortSignal): Promise<Finding> {
    const { terminal, events } = this.#created;
    if (terminal?.isOnline !== true || events === undefined)
      return skipped('needs a connected terminal and a websocket');
    terminal.raiseAlarm('emergency');
    await events.next('notification', signal);
    return ok('an SOS became a notification of the websocket');
  }

  async #testWebhook(signal: AbortSignal): Promise<Finding> {
    const { session } = this.#created;
    const { webhookUrl: url } = this.#options;
    if (session === undefined || url === undefined)
      return skipped(url === undefined ? 'no --webhook-url' : 'needs a log-in');
    const { id } = await session.request('POST', '/user-webhooks', signal, { url });
    const path = `/user-webhooks/${String(id)}`;
    let attempt: Readonly<Record<string, unknown>>;
    try {
      attempt = await session.request('POST', `${path}/test`, signal, {});
    } finally {
      await session.request('DELETE', path, signal);
    }
    const { status_code: status, error_code: error } = attempt;
    if (typeof status === 'number' && status >= 200 && status < 300) return ok(`the receiver responded with ${status}`);
    return failed(
      `The test was not accepted (${String(status ?? error)}).`,
      'Check the receiver, and the egress of webhook-dispatcher.',
    );
  }

  async #watch(signal: AbortSignal): Promise<Finding> {
    const { session, terminal } = this.#created;
    if (session === undefined || terminal?.isOnline !== true) return skipped('needs a connected terminal');
    const startedAtMs = performance.now();
    const channel = `imei=${this.#imei}&channel=1`;
    await session.getFromDeviceApi(`/realtime/start-stream?${channel}`, signal);
    const response = await session.openStream(`/realtime/stream.flv?${channel}`, signal);
    if (response.status !== 200 || response.body === null)
      throw new Error(`${response.status} ${await response.text()}`);
    let bytes = 0;
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes >= flvBytes) break;
    }
    if (bytes < flvBytes) throw new Error(`The stream ended after ${bytes} bytes.`);
    const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
    await session.getFromDeviceApi(`/realtime/control-stream?${channel}&ctrl_instruction=0`, signal);
    return ok(`FLV after ${seconds} s`);
  }

  async #uploadClip(signal: AbortSignal): Promise<Finding> {
    const { session, terminal } = this.#created;
    if (session === undefined || terminal?.isOnline !== true) return skipped('needs a connected terminal');
    const end = new Date(this.#recordedUntilMs);
    const start = new Date(this.#recordedUntilMs - recordingSeconds * 1000);
    const range = `start_time=${start.toISOString()}&end_time=${end.toISOString()}`;
    const { video_id: id } = await session.getFromDeviceApi(
      `/videos/upload?imei=${this.#imei}&channel=1&${range}`,
      signal,
    );
    const upload = await poll(async () => {
      const found = await session.getFromDeviceApi(`/videos?video_id=${String(id)}`, signal);
      return ['completed', 'failed', 'cancelled'].includes(String(found['status'])) && found;
    }, signal);
    if (upload['status'] !== 'completed') throw new Error(`The upload is ${String(upload['status'])}.`);
    return ok(`${String(upload['filesize'])} bytes received`);
  }
}
