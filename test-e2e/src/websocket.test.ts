import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { WebSocket } from 'ws';
import { killProcess, waitForRestart } from './testing/faults.ts';
import { type DedicatedHarness, getJson, leaseHarness, uniquePhone } from './testing/harness.ts';

interface Message {
  readonly type: string;
  readonly ts: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A client that stores its messages. */
class Client {
  readonly ws: WebSocket;
  readonly messages: Message[] = [];
  code: number | undefined;

  constructor(url: string) {
    this.ws = new WebSocket(url);
    clients.push(this);
    this.ws.on('message', (data: Buffer) => this.messages.push(JSON.parse(data.toString()) as Message));
    this.ws.on('close', (code) => {
      this.code = code;
    });
    // The close code describes the end.
    this.ws.on('error', () => this.ws.terminate());
  }

  of = (type: string): Message[] => this.messages.filter((message) => message.type === type);

  next = (type: string, isRight: (data: Message['data']) => boolean = () => true): Promise<Message> =>
    waitFor(() => this.of(type).find(({ data }) => isRight(data)), `a ${type}`, 60_000);
}

const clients: Client[] = [];
const password = 'correct horse battery';
let harness: DedicatedHarness;

/** A user with a separate account. */
class Customer {
  headers: Record<string, string> = { 'content-type': 'application/json' };
  #vehicles = 0;

  static async register(name: string): Promise<Customer> {
    const customer = new Customer();
    const email = `${name}-${process.pid}@fleet.example`;
    const registered = await customer.request('/auth/register', { name, email, password, account_name: name });
    customer.headers['authorization'] = `Bearer ${String(registered['access_token'])}`;
    customer.headers['x-api-key'] = String((await customer.request('/api-keys', { name }))['key']);
    return customer;
  }

  async request(path: string, body?: object): Promise<Record<string, unknown>> {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await getJson(`${harness.product.runtime.base_url}/api${path}`, {
      headers: this.headers,
      ...init,
    });
    expect([200, 201]).toContain(response.status);
    const all = response.body as Record<string, unknown>;
    return (all['data'] as Record<string, unknown> | undefined) ?? all;
  }

  async vehicle(imei: string): Promise<number> {
    this.#vehicles += 1;
    return Number((await this.request('/vehicles', { vehicle_no: `LIVE ${this.#vehicles}`, imei }))['id']);
  }

  /** Opens a connection with the token and the address that the API returns. */
  async connect(): Promise<Client> {
    const { token, ws_url: url } = await this.request('/user/generate-websocket-token');
    return new Client(`${String(url)}?token=${String(token)}`);
  }
}

let ours: Customer;
let theirs: Customer;
let terminal: SimulatedTerminal;
let vehicleId: number;

beforeAll(async () => {
  harness = await leaseHarness();
  [ours, theirs] = [await Customer.register('ours'), await Customer.register('theirs')];
  const phone = uniquePhone();
  vehicleId = await ours.vehicle(phone);
  terminal = await harness.startTerminal({ phone, reportIntervalMs: 500 });
}, 180_000);
afterAll(() => harness.stop(), 60_000);
afterEach(() => {
  for (const { ws } of clients.splice(0)) ws.terminate();
});

const ofVehicle = (data: Message['data']): boolean => data['vehicle_id'] === vehicleId;

describe('the websocket', () => {
  it('sends the reports of terminals only to their own account', async () => {
    const [client, stranger] = [await ours.connect(), await theirs.connect()];
    expect((await client.next('hello')).data).toMatchObject({ heartbeat_seconds: 30 });
    await client.next('snapshot', ({ final }) => final === true);
    const { data } = await client.next('location', ofVehicle);
    expect(data).toMatchObject({ imei: terminal.phone, latitude: expect.any(Number), longitude: expect.any(Number) });
    // Reports arrive twice a second, faster than locations are pushed. Uses the server's clock, because a busy machine
    // may deliver several together.
    const before = client.of('location').length;
    await waitFor(() => client.of('location').length >= before + 6, 'six more', 60_000);
    const [first, , , , , last] = client.of('location').slice(before);
    expect((last?.ts ?? 0) - (first?.ts ?? 0)).toBeGreaterThan(3_500);
    terminal.raiseAlarm('emergency');
    const { data: notification } = await client.next('notification', (each) => each['notification_type'] === 'sos');
    expect(notification).toMatchObject({ vehicle_id: vehicleId, imei: terminal.phone, user: expect.any(Number) });
    const late = await ours.connect();
    const snapshot = await late.next('snapshot');
    expect(snapshot.data['locations']).toMatchObject([{ vehicle_id: vehicleId }]);
    stranger.ws.send(JSON.stringify({ type: 'ping', id: 1 }));
    await stranger.next('pong');
    expect(stranger.messages.map(({ type }) => type)).toEqual(['hello', 'snapshot', 'pong']);
    expect(stranger.of('snapshot')[0]?.data['locations']).toEqual([]);
  }, 120_000);

  it('serves a share page without credentials', async () => {
    const link = await ours.request('/share-links', { vehicle_id: vehicleId, password: 'open sesame' });
    const url = `${harness.product.runtime.base_url}/api/public/share-links/${String(link['slug'])}`;
    const { body } = await getJson(url, { headers: { 'x-share-password': 'open sesame' } });
    const page = new Client(String((body as { data: Record<string, unknown> }).data['ws_url']));
    const { data } = await page.next('location');
    expect(Object.keys(data)).toEqual(['latitude', 'longitude', 'speed', 'course', 'timestamp']);
    expect(JSON.stringify(page.messages)).not.toContain(terminal.phone);
  }, 120_000);

  it('reports the state of a live stream to its subscribers', async () => {
    const [client, other] = [await ours.connect(), await ours.connect()];
    await other.next('hello');
    client.ws.send(JSON.stringify({ type: 'subscribe', vehicles: [vehicleId], events: ['stream'] }));
    await client.next('subscribed');
    const query = `imei=${terminal.phone}&channel=1`;
    expect(await harness.get(`/realtime/start-stream?${query}`)).toMatchObject({ status: 200 });
    const { data } = await client.next('stream', ({ status, width }) => status === 'streaming' && width !== null);
    expect(data).toMatchObject({ vehicle_id: vehicleId, imei: terminal.phone, channel_id: 1, stream_type: 'HIGH' });
    expect(data).toMatchObject({ video_codec: 'h264', viewers: 0, started_at: expect.stringMatching(/Z$/) });
    const url = `${harness.product.runtime.video_url}/${terminal.phone}/1/stream.flv`;
    // With a token of the receiving user.
    expect(String(data['stream_url']).split('?token=', 1)).toEqual([url]);
    const { body } = await fetch(url);
    await client.next('stream', ({ viewers }) => viewers === 1);
    await body?.cancel();
    await waitFor(() => client.of('stream').at(-1)?.data['viewers'] === 0, 'no viewer to remain');
    expect(await harness.get(`/realtime/control-stream?${query}&ctrl_instruction=0`)).toMatchObject({ status: 200 });
    await client.next('stream', ({ status }) => status === 'stopped');
    expect(other.of('stream')).toEqual([]);
  }, 120_000);

  it('delivers missed notifications after a kill of platform-api, and continues', async () => {
    const client = await ours.connect();
    await client.next('snapshot', ({ final }) => final === true);
    terminal.raiseAlarm('fatigueDriving');
    const { data: last } = await client.next('notification', (each) => each['notification_type'] === 'fatigue_driving');
    const former = killProcess(harness, 'platform-api');
    await waitFor(() => client.code !== undefined, 'the end of the connection', 60_000);
    terminal.raiseAlarm('collision');
    await waitForRestart(harness, 'platform-api', former);
    const back = await waitFor(
      async () => {
        const next = await ours.connect().catch(() => undefined);
        if (next === undefined) return undefined;
        await waitFor(
          () => next.ws.readyState === WebSocket.OPEN || next.code !== undefined,
          'the connection to open or close',
          60_000,
        );
        return next.code === undefined ? next : undefined;
      },
      'a new connection',
      90_000,
    );
    await back.next('snapshot', ({ final }) => final === true);
    back.ws.send(JSON.stringify({ type: 'resume', since: last['id'] }));
    const { data: missed } = await back.next('notification', (each) => each['notification_type'] === 'collision');
    expect(missed).toMatchObject({ vehicle_id: vehicleId, user: last['user'] });
    expect(back.of('notification').filter(({ data }) => data['id'] === last['id'])).toEqual([]);
    await back.next('location', ofVehicle);
  }, 240_000);
});
