import { decodeBody, type Edition, locationReport, textMessage } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { addToPhone, LoadFleet } from './load-fleet.ts';
import { TestPlatform } from './testing/test-platform.ts';

let platform: TestPlatform;
let fleet: LoadFleet;

async function start(
  edition: Edition,
  options: { terminals: number; intervalMs: number; firstPhone?: string },
): Promise<void> {
  platform = await new TestPlatform(edition).listen();
  fleet = new LoadFleet({ host: '127.0.0.1', port: platform.port, connectRate: 5000, edition, ...options });
  fleet.start();
  await waitFor(() => fleet.counters.online === options.terminals, 'all online');
}

afterEach(async () => {
  await fleet.stop();
  await platform.close();
});

describe('LoadFleet', () => {
  it('connects many terminals with different numbers, and reports from each in order', async () => {
    await start('2013', { terminals: 200, intervalMs: 1000 });
    expect(new Set(platform.framesWithId(0x0102).map((frame) => frame.phone)).size).toBe(200);
    await waitFor(
      () => new Set(platform.framesWithId(0x0200).map((frame) => frame.phone)).size === 200,
      'a report of each terminal',
    );
    const location = decodeBody(locationReport, platform.framesWithId(0x0200)[0]?.body ?? Buffer.alloc(0));
    expect(location.latitudeDeg).toBeGreaterThanOrEqual(22.5);
    expect(location.time).toMatch(/^20\d\d-\d\d-\d\dT/);
    await waitFor(() => fleet.counters.reportsAcknowledged >= 200, 'acknowledgements');
  });

  it('uses edition 2019 and responds to commands', async () => {
    await start('2019', { terminals: 2, intervalMs: 60_000, firstPhone: '00000000019000000000' });
    const serial = platform.sendCommand('00000000019000000001', textMessage, { flags: 4, textType: 1, text: 'x' });
    const response = await platform.waitForFrame(0x0001);
    expect(response).toMatchObject({ phone: '00000000019000000001' });
    expect([response.body.readUInt16BE(0), response.body[4]]).toEqual([serial, 0]);
  });

  it('reconnects with its auth code after the platform drops the connection', async () => {
    await start('2013', { terminals: 3, intervalMs: 60_000 });
    platform.dropAll();
    await waitFor(() => fleet.counters.online === 0, 'lost');
    await waitFor(() => fleet.counters.online === 3, 'back');
    expect(fleet.counters.reconnects).toBe(3);
    expect(platform.framesWithId(0x0100)).toHaveLength(3);
  });
});

describe('addToPhone', () => {
  it('adds to the number and preserves its width', () => {
    expect(addToPhone('019000000009', 1)).toBe('019000000010');
    expect(addToPhone('00000000019000000000', 5000)).toBe('00000000019000005000');
  });
});
