import type { DeviceCommand } from '@fleet/bus';
import { readTerminalProfile } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { listCommands, setUpCommandHarness } from './testing/command-harness.ts';
import { startLive } from './testing/harness.ts';
import { canonicalNumber, uniquePhone } from './testing/raw-terminal.ts';

const harness = setUpCommandHarness();
const { login } = harness;

describe('commands with specific responses', () => {
  it('completes a playback command with the first response, general or specific', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const playback: DeviceCommand = {
      ...startLive,
      kind: 'startPlayback',
      mediaType: 0,
      storageType: 0,
      playbackMode: 0,
      speed: 0,
      startTime: '261121000000',
      endTime: null,
    };
    const first = harness.caller.sendCommand(canonicalNumber(phone), playback);
    terminal.sendGeneralResponse(await terminal.waitForFrame(0x9201), 0);
    expect(await first).toMatchObject({ kind: 'answered', answer: { result: 0, message: null } });
    const second = harness.caller.sendCommand(canonicalNumber(phone), playback);
    const { serial } = await terminal.waitForFrame(0x9201);
    // The list has no items.
    terminal.send(0x1205, Buffer.from([serial >> 8, serial & 0xff, 0, 0, 0, 0]));
    expect(await second).toMatchObject({ kind: 'answered', answer: { result: null, message: { id: 0x1205 } } });
  });

  it('sends attribute queries, whose responses have no reply serial, one at a time', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = [1, 2].map(() =>
      harness.caller.sendCommand(canonicalNumber(phone), { kind: 'queryAvAttributes' }),
    );
    await terminal.waitForFrame(0x9003);
    const serial = terminal.send(0x0002);
    await terminal.waitForResult(serial, 0x0002);
    expect(listCommands(terminal)).toEqual([]);
    const attributes = Buffer.from('060100010140016204 08'.replace(' ', ''), 'hex');
    terminal.send(0x1003, attributes);
    await terminal.waitForFrame(0x9003);
    terminal.send(0x1003, attributes);
    for (const outcome of await Promise.all(outcomePromise))
      expect(outcome).toMatchObject({ kind: 'answered', answer: { message: { id: 0x1003 } } });
  });

  it('stores the model at login and the audio attributes before the command ends, for other services', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const profile = () => readTerminalProfile(harness.caller.redis, canonicalNumber(phone));
    await waitFor(async () => (await profile()).model !== null, 'the model is stored');
    const outcome = harness.caller.sendCommand(canonicalNumber(phone), { kind: 'queryAvAttributes' });
    await terminal.waitForFrame(0x9003);
    terminal.send(0x1003, Buffer.from('13020201040001620408', 'hex'));
    expect(await outcome).toMatchObject({ kind: 'answered' });
    expect((await profile()).audio).toEqual({ codec: 19, sampleRate: 44_100, channels: 2 });
  });

  it.each([
    ['2019', 0x8204],
    ['2013', 0x8201],
    ['2011', 0x8201],
  ] as const)('repeats a %s wake-up with new serials until the terminal responds', async (edition, messageId) => {
    const phone = uniquePhone(edition);
    const terminal = await login(phone, edition);
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), { kind: 'wakeUp' });
    const first = await terminal.waitForFrame(messageId);
    const second = await terminal.waitForFrame(messageId);
    expect(second.serial).not.toBe(first.serial);
    const serial = Buffer.from([first.serial >> 8, first.serial & 0xff]);
    if (edition === '2019') terminal.sendGeneralResponse(first);
    else
      terminal.send(0x0201, Buffer.concat([edition === '2011' ? Buffer.alloc(0) : serial, terminal.buildLocation()]));
    expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { commandMessageId: messageId } });
  });
});
