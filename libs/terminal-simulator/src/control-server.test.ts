import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeBody, locationReport } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createControlServer } from './control-server.ts';
import { SimulatedTerminal } from './terminal.ts';
import { TestPlatform } from './testing/test-platform.ts';

jest.setTimeout(60_000);

const phone = '013800138001';
let platform: TestPlatform;
let terminal: SimulatedTerminal;
let server: Server;
let base: string;

beforeEach(async () => {
  platform = await new TestPlatform().listen();
  const { port } = platform;
  terminal = new SimulatedTerminal({ host: '127.0.0.1', port, phone, channels: 0, reportIntervalMs: 0 });
  server = createControlServer([terminal]).listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await terminal.stop();
  await platform.close();
});

async function startOnline(): Promise<void> {
  terminal.start();
  await terminal.waitUntilOnline();
}

const post = (path: string) => fetch(`${base}/terminals/${path}`, { method: 'POST' });

describe('the control server', () => {
  it('lists the terminals with their state', async () => {
    await startOnline();
    const response = await fetch(`${base}/terminals`);
    expect(await response.json()).toEqual({ terminals: [{ imei: phone, is_online: true, behaviour: 'normal' }] });
  });

  it('raises an SOS that the terminal reports at once', async () => {
    await startOnline();
    expect((await post(`${phone}/sos`)).status).toBe(200);
    const isSos = ({ body }: { body: Buffer }) => (decodeBody(locationReport, body).alarm & 1) === 1;
    await waitFor(() => platform.framesWithId(0x0200).some(isSos), 'the report with the alarm');
    expect(platform.framesWithId(0x0200).filter(isSos)).toHaveLength(1);
  });

  it('puts a terminal to sleep and wakes it', async () => {
    await startOnline();
    expect(await (await post(`${phone}/sleep`)).json()).toMatchObject({ behaviour: 'sleeping' });
    expect(await (await post(`${phone}/wake`)).json()).toMatchObject({ behaviour: 'normal' });
  });

  it('refuses an unknown terminal, an unknown action, another path and a terminal without a connection', async () => {
    expect((await post('013800138999/sos')).status).toBe(404);
    expect(await (await post(`${phone}/fly`)).json()).toMatchObject({ error: expect.stringContaining('sos') });
    expect((await fetch(`${base}/other`)).status).toBe(404);
    expect((await post(`${phone}/sos`)).status).toBe(409);
  });
});
