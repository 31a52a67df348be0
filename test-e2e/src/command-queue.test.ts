import { textMessage } from '@fleet/jt808';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { killProcess, waitForRestart } from './testing/faults.ts';
import { type DedicatedHarness, getJson, leaseHarness, uniquePhone } from './testing/harness.ts';

let harness: DedicatedHarness;
let headers: Record<string, string>;

const password = 'correct horse battery';

interface Body {
  readonly data: Record<string, unknown>;
}

/** Sends a request to the Platform API. Returns undefined while the service restarts. */
async function request(
  path: string,
  body?: object,
): Promise<{ status: number; data: Record<string, unknown> } | undefined> {
  const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
  const response = await getJson(`${harness.product.runtime.base_url}/api${path}`, init).catch(() => undefined);
  return response && { status: response.status, data: (response.body as Partial<Body>).data ?? {} };
}

beforeAll(async () => {
  harness = await leaseHarness();
  const body = { name: 'E2E', email: `queue-${process.pid}@fleet.example`, password, account_name: 'Queue' };
  headers = { 'content-type': 'application/json' };
  const registered = await request('/auth/register', body);
  const token = String(registered?.data['access_token']);
  headers = { ...headers, authorization: `Bearer ${token}` };
  const key = await request('/api-keys', { name: 'e2e' });
  headers = { ...headers, 'x-api-key': String(key?.data['key']) };
}, 180_000);

afterAll(() => harness.stop(), 60_000);

let vehicles = 0;
async function createVehicle(imei: string): Promise<string> {
  vehicles += 1;
  const created = await request('/vehicles', { vehicle_no: `QUEUE ${vehicles}`, imei });
  expect(created?.status).toBe(201);
  return `/vehicles/${String(created?.data['id'])}/commands`;
}

async function queueCommand(path: string, type: string, params: object = {}): Promise<string> {
  const created = await request(path, { type, params });
  expect(created?.status).toBe(202);
  return `${path}/${String(created?.data['command_id'])}`;
}

const waitForStatus = (path: string, status: string): Promise<unknown> =>
  waitFor(async () => (await request(path))?.data['status'] === status, `${path} to be ${status}`, 90_000);

const frames = (terminal: SimulatedTerminal): number => terminal.receivedFrames(textMessage.id).length;

describe('the command queue', () => {
  it("stores a command until its terminal connects, and returns the terminal's reply", async () => {
    const phone = uniquePhone();
    const path = await createVehicle(phone);
    const text = await queueCommand(path, 'text', { text: 'Hello' });
    const attributesPath = await queueCommand(path, 'query_attributes');
    const where = await queueCommand(path, 'locate');
    expect((await request(text))?.data['status']).toBe('queued');
    const terminal = await harness.startTerminal({ phone });
    for (const one of [text, attributesPath, where]) await waitForStatus(one, 'acknowledged');
    expect(frames(terminal)).toBe(1);
    expect((await request(text))?.data).toMatchObject({ message_id: '0x8300', result: 'success', attempts: 1 });
    expect((await request(attributesPath))?.data).toMatchObject({ answer: { message_id: '0x0107' } });
    expect((await request(where))?.data).toMatchObject({ answer: { message_id: '0x0201' } });
  }, 120_000);

  it('sends a pending command once when platform-api is killed', async () => {
    const phone = uniquePhone();
    const path = await createVehicle(phone);
    const terminal = await harness.startTerminal({ phone });
    terminal.setBehaviour({ kind: 'slow', delayMs: 20_000 }, textMessage.id);
    const text = await queueCommand(path, 'text', { text: 'Once' });
    await terminal.waitForCommand(textMessage.id);
    await waitForStatus(text, 'sent');
    const former = killProcess(harness, 'platform-api');
    await waitForRestart(harness, 'platform-api', former);
    await waitForStatus(text, 'acknowledged');
    expect(frames(terminal)).toBe(1);
    expect((await request(text))?.data).toMatchObject({ attempts: 1, result: 'success' });
  }, 180_000);
});
