import { readDevice } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import type { Gateway } from './service.ts';
import { Caller, startGateway } from './testing/harness.ts';
import { canonicalNumber, RawTerminal, uniquePhone } from './testing/raw-terminal.ts';

// Tests wait for conditions, which takes longer on a busy machine.
jest.setTimeout(60_000);

let caller: Caller;
let gateway: Gateway;
beforeAll(async () => {
  caller = await Caller.open();
  gateway = await startGateway({ PROXY_PROTOCOL_NETWORKS: '127.0.0.0/8' });
});
afterAll(async () => {
  await gateway.stop();
  await caller.close();
});

it('records the address of the terminal, not that of the load balancer', async () => {
  const phone = uniquePhone();
  const terminal = await RawTerminal.connect(gateway.jt808Port, phone, '2013');
  terminal.socket.write('PROXY TCP4 203.0.113.9 10.0.0.1 50000 7808\r\n');
  await terminal.authenticate(await terminal.register());
  const findAddress = async () => (await readDevice(caller.redis, canonicalNumber(phone)))?.remoteAddress;
  await waitFor(async () => (await findAddress()) !== undefined);
  expect(await findAddress()).toBe('203.0.113.9');
  terminal.close();
});
