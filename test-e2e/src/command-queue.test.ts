import { textMessage } from '@fleet/jt808';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { kill, restarted } from './testing/faults.ts';
import { until } from './testing/until.ts';
import { borrowWorld, getJson, newPhone, type OwnWorld } from './testing/world.ts';

let world: OwnWorld;
let headers: Record<string, string>;

const password = 'correct horse battery';

interface Body {
  readonly data: Record<string, unknown>;
}

/** Asks the Platform API; while it starts anew there is no answer. */
async function ask(
  path: string,
  body?: object,
): Promise<{ status: number; data: Record<string, unknown> } | undefined> {
  const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
  const answer = await getJson(`${world.product.runtime.base_url}/api${path}`, init).catch(() => undefined);
  return answer && { status: answer.status, data: (answer.body as Partial<Body>).data ?? {} };
}

beforeAll(async () => {
  world = await borrowWorld();
  const body = { name: 'E2E', email: `queue-${process.pid}@fleet.example`, password, account_name: 'Queue' };
  headers = { 'content-type': 'application/json' };
  const registered = await ask('/auth/register', body);
  const token = String(registered?.data['access_token']);
  headers = { ...headers, authorization: `Bearer ${token}` };
  const key = await ask('/api-keys', { name: 'e2e' });
  headers = { ...headers, 'x-api-key': String(key?.data['key']) };
}, 180_000);

afterAll(() => world.stop(), 60_000);

let vehicles = 0;
async function vehicle(imei: string): Promise<string> {
  vehicles += 1;
  const made = await ask('/vehicles', { vehicle_no: `QUEUE ${vehicles}`, imei });
  expect(made?.status).toBe(201);
  return `/vehicles/${String(made?.data['id'])}/commands`;
}

async function queue(path: string, type: string, params: object = {}): Promise<string> {
  const made = await ask(path, { type, params });
  expect(made?.status).toBe(202);
  return `${path}/${String(made?.data['command_id'])}`;
}

const becomes = (path: string, status: string): Promise<unknown> =>
  until(`${path} to be ${status}`, async () => (await ask(path))?.data['status'] === status, 90_000);

const frames = (terminal: SimulatedTerminal): number => terminal.received(textMessage.id).length;

describe('the command queue', () => {
  it('holds a command until its terminal comes, and shows what it answers', async () => {
    const phone = newPhone();
    const path = await vehicle(phone);
    const text = await queue(path, 'text', { text: 'Hello' });
    const asked = await queue(path, 'query_attributes');
    const where = await queue(path, 'locate');
    expect((await ask(text))?.data['status']).toBe('queued');
    const terminal = await world.terminal({ phone });
    for (const one of [text, asked, where]) await becomes(one, 'acknowledged');
    expect(frames(terminal)).toBe(1);
    expect((await ask(text))?.data).toMatchObject({ message_id: '0x8300', result: 'success', attempts: 1 });
    expect((await ask(asked))?.data).toMatchObject({ answer: { message_id: '0x0107' } });
    expect((await ask(where))?.data).toMatchObject({ answer: { message_id: '0x0201' } });
  }, 120_000);

  it('sends once what is under way when platform-api dies', async () => {
    const phone = newPhone();
    const path = await vehicle(phone);
    const terminal = await world.terminal({ phone });
    terminal.behave({ kind: 'slow', delayMs: 20_000 }, textMessage.id);
    const text = await queue(path, 'text', { text: 'Once' });
    await terminal.waitForCommand(textMessage.id);
    await becomes(text, 'sent');
    const former = kill(world, 'platform-api');
    await restarted(world, 'platform-api', former);
    await becomes(text, 'acknowledged');
    expect(frames(terminal)).toBe(1);
    expect((await ask(text))?.data).toMatchObject({ attempts: 1, result: 'success' });
  }, 180_000);
});
