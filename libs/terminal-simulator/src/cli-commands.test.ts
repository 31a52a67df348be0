import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { decodeBody, locationReport } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type RunningCommand, runFleet, runLoad, runTerminal } from './cli-commands.ts';
import { type FleetOptions, type LoadOptions, parseCliOptions, type TerminalCommandOptions } from './cli-options.ts';
import { TestPlatform } from './testing/test-platform.ts';

jest.setTimeout(60_000);

let directory: string;
let platform: TestPlatform;
let running: RunningCommand;
let lines: string[];
const print = (line: string): void => void lines.push(line);

beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'fleet-'));
  platform = await new TestPlatform().listen();
  lines = [];
});

afterEach(async () => {
  await running.stop();
  await platform.close();
  await rm(directory, { recursive: true });
});

const args = (...more: string[]): string[] => [...more, '--port', String(platform.port)];

describe('commands', () => {
  it('fleet: creates and prints its clips, goes online, writes its report and reconnects after a lost connection', async () => {
    const file = path.join(directory, 'report', 'fleet.json');
    const fleet = args('fleet', '--phones', '013800138001,013800138002', '--channels', '1', '--report-file', file);
    running = await runFleet(parseCliOptions([...fleet, '--cache-dir', directory]) as FleetOptions, print);
    await waitFor(() => lines.includes('2 terminals online'), 'report');
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual([
      { imei: '013800138001', edition: '2013', channels: 1 },
      { imei: '013800138002', edition: '2013', channels: 1 },
    ]);
    expect(lines).toContain('creating clip 640x360 h264 013800138001-1');
    platform.dropAll();
    await waitFor(() => platform.framesWithId(0x0102).length === 4, 'both back');
  });

  it('terminal: raises alarms with their files', async () => {
    const options = args('terminal', '--phone', '013800138004', '--channels', '1', '--cache-dir', directory);
    running = await runTerminal(parseCliOptions([...options, '--alarm', 'dsm:2']) as TerminalCommandOptions, print);
    await waitFor(() => lines.includes('013800138004 raised dsm:2 with 2 files'), 'the alarm');
    const isAlarm = ({ body }: { body: Buffer }) =>
      decodeBody(locationReport, body).extras.some(({ id }) => id === 0x65);
    const alarms = () => platform.framesWithId(0x0200).filter(isAlarm);
    await waitFor(() => alarms().length > 0, 'its report');
    expect(alarms()).toHaveLength(1);
  });

  it('terminal: applies the given behaviour', async () => {
    const options = args(
      'terminal',
      '--phone',
      '013800138009',
      '--channels',
      '0',
      '--behaviour',
      'refusing',
      '--result',
      '2',
    );
    running = await runTerminal(parseCliOptions(options) as TerminalCommandOptions, print);
    await waitFor(() => platform.framesWithId(0x0102).length === 1, 'online');
    await waitFor(() => lines.some((line) => line.endsWith('online')), 'line');
    platform.sendRaw('013800138009', 0x8104, Buffer.alloc(0));
    expect((await platform.waitForFrame(0x0001)).body[4]).toBe(2);
    expect(lines.some((line) => line.includes('<- 0x8104'))).toBe(true);
  });

  it('load: connects light terminals', async () => {
    running = await runLoad(
      parseCliOptions(args('load', '--terminals', '20', '--interval', '1s')) as LoadOptions,
      print,
    );
    await waitFor(() => platform.framesWithId(0x0200).length >= 20, 'reports');
    expect(new Set(platform.framesWithId(0x0102).map((frame) => frame.phone)).size).toBe(20);
  });
});
