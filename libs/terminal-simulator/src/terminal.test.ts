import {
  decodeBody,
  type Edition,
  liveStreamRequest,
  locationReport,
  queryAttributes,
  queryLocation,
  terminalControl,
  terminalGeneralResponse,
  textMessage,
} from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SimulatedTerminal } from './terminal.ts';
import type { TerminalOptions } from './terminal-options.ts';
import { TestPlatform } from './testing/test-platform.ts';

const terminalPhone = '013800138001';
let platform: TestPlatform;
const terminals: SimulatedTerminal[] = [];

function terminalFor(options: Partial<TerminalOptions> = {}): SimulatedTerminal {
  const terminal = new SimulatedTerminal({
    host: '127.0.0.1',
    port: platform.port,
    phone: terminalPhone,
    reportIntervalMs: 0,
    reconnect: { minMs: 10, maxMs: 50 },
    replyTimeoutMs: 2000,
    restartMs: 20,
    ...options,
  });
  terminals.push(terminal);
  return terminal;
}

async function startOnline(options: Partial<TerminalOptions> = {}): Promise<SimulatedTerminal> {
  const terminal = terminalFor(options);
  terminal.start();
  await terminal.waitUntilOnline();
  return terminal;
}

beforeEach(async () => {
  platform = await new TestPlatform().listen();
});

afterEach(async () => {
  await Promise.all(terminals.splice(0).map((terminal) => terminal.stop()));
  await platform.close();
});

describe('session', () => {
  it('registers, authenticates and reports its location', async () => {
    const terminal = await startOnline();
    const report = terminal.report();
    const frame = await platform.waitForFrame(0x0200);
    const location = decodeBody(locationReport, frame.body);
    expect(frame.phone).toBe(terminalPhone);
    expect(location.time).toBe(report.time);
    expect(location.latitudeDeg).toBeGreaterThan(22);
    expect(platform.framesWithId(0x0100)).toHaveLength(1);
    await waitFor(() => report.acknowledgedAtMs !== null, 'acknowledgement');
    expect(terminal.acknowledgedReports).toEqual([report]);
  });

  it.each<Edition>(['2011', '2013', '2019'])('supports edition %s', async (edition) => {
    await platform.close();
    platform = await new TestPlatform(edition).listen();
    const phone = edition === '2019' ? '00000000013800138003' : terminalPhone;
    const terminal = await startOnline({ edition, phone });
    const serial = platform.sendCommand(phone, queryLocation, {});
    const response = await platform.waitForFrame(0x0201);
    expect(response.phone).toBe(phone);
    expect(edition === '2011' ? response.body.length : response.body.readUInt16BE(0)).toBe(
      edition === '2011' ? terminal.sentFrames(0x0201)[0]?.body.length : serial,
    );
  });

  it('authenticates a second connection with its stored code, without registering', async () => {
    const terminal = await startOnline();
    platform.dropAll();
    await platform.waitForFrame(0x0102, platform.received.length);
    await terminal.waitUntilOnline();
    expect(platform.framesWithId(0x0100)).toHaveLength(1);
    expect(platform.framesWithId(0x0102)).toHaveLength(2);
  });

  it('registers again if its code is refused', async () => {
    const terminal = await startOnline({ authCode: 'OLD' });
    expect(platform.framesWithId(0x0102)).toHaveLength(2);
    expect(terminal.authCode).toBe('CODE-1');
  });

  it('retries with growing delays while registration is refused', async () => {
    platform.registrationResult = 2;
    const terminal = terminalFor();
    terminal.start();
    await waitFor(() => platform.framesWithId(0x0100).length >= 3, 'three attempts');
    platform.registrationResult = 0;
    await terminal.waitUntilOnline();
    expect(terminal.isOnline).toBe(true);
  });

  it('drops the connection if the platform no longer responds', async () => {
    platform.isAcknowledging = false;
    await startOnline({ heartbeatMs: 20 });
    await waitFor(() => platform.connections === 2, 'second connection');
    expect(platform.framesWithId(0x0002).length).toBeGreaterThanOrEqual(2);
  });

  it('survives invalid messages from the platform', async () => {
    const terminal = await startOnline();
    platform.sendRaw(terminalPhone, 0x8001, Buffer.from([1]));
    platform.sendRaw(terminalPhone, 0x8100, Buffer.from([1]));
    platform.sendCommand(terminalPhone, queryLocation, {});
    await platform.waitForFrame(0x0201);
    expect(terminal.isOnline).toBe(true);
  });

  it('stays offline if reconnection is disabled', async () => {
    const terminal = await startOnline({ reconnect: false });
    platform.dropAll();
    await waitFor(() => terminal.state === 'stopped', 'stopped');
    expect(platform.connections).toBe(1);
  });
});

describe('locations', () => {
  it('resends unacknowledged reports of a lost connection in a blind-area batch', async () => {
    const terminal = await startOnline();
    platform.isAcknowledging = false;
    const reports = [terminal.report(), terminal.report(), terminal.report()];
    await waitFor(() => platform.framesWithId(0x0200).length === 3, 'three reports');
    platform.isAcknowledging = true;
    platform.dropAll();
    const batch = await platform.waitForFrame(0x0704);
    await waitFor(() => terminal.acknowledgedReports.length === 3, 'acknowledgement');
    expect(batch.body.readUInt16BE(0)).toBe(3);
    expect(batch.body[2]).toBe(1);
    const [first] = reports;
    expect(batch.body.subarray(5, 5 + batch.body.readUInt16BE(3))).toEqual(first?.body);
  });

  it('sends a normal batch on demand', async () => {
    const terminal = await startOnline();
    const reports = terminal.reportBatch(5);
    const batch = await platform.waitForFrame(0x0704);
    expect([batch.body.readUInt16BE(0), batch.body[2]]).toEqual([5, 0]);
    await waitFor(() => reports.every((report) => report.acknowledgedAtMs !== null), 'acknowledgement');
  });

  it('stores reports while offline and sends them later', async () => {
    const terminal = terminalFor();
    const report = terminal.report();
    terminal.start();
    await waitFor(() => report.acknowledgedAtMs !== null, 'acknowledgement');
    expect(report.sends.map((send) => send.messageId)).toEqual([0x0704]);
  });

  it('resends a report if no acknowledgement arrives', async () => {
    const terminal = await startOnline({ replyTimeoutMs: 300 });
    platform.isAcknowledging = false;
    const report = terminal.report();
    await waitFor(() => platform.framesWithId(0x0200).length >= 2, 'repetition');
    platform.isAcknowledging = true;
    await waitFor(() => report.acknowledgedAtMs !== null, 'acknowledgement');
    expect(new Set(platform.framesWithId(0x0200).map((frame) => frame.body.toString('hex'))).size).toBe(1);
  });

  it('never creates two identical reports', async () => {
    const terminal = await startOnline();
    const hashes = Array.from({ length: 50 }, () => terminal.report().sha256);
    expect(new Set(hashes).size).toBe(50);
  });

  it('raises an alarm, and clears one that an acknowledgement ends', async () => {
    const terminal = await startOnline();
    const report = terminal.raiseAlarm('emergency');
    terminal.raiseAlarm('overspeed');
    await waitFor(() => report.acknowledgedAtMs !== null, 'acknowledgement');
    expect(report.alarm).toBe(1);
    expect(terminal.report().alarm).toBe(2);
    expect(terminal.clearAlarm('overspeed').alarm).toBe(0);
  });
});

describe('commands', () => {
  it('responds to a text, a query of attributes, and an unknown message', async () => {
    const terminal = await startOnline();
    const text = platform.sendCommand(terminalPhone, textMessage, { flags: 4, text: '你好' });
    platform.sendCommand(terminalPhone, queryAttributes, {});
    const unknown = platform.sendRaw(terminalPhone, 0x8f00, Buffer.from([1, 2]));
    await platform.waitForFrame(0x0107);
    await waitFor(() => platform.framesWithId(0x0001).length === 2, 'two responses');
    const parseResponses = platform
      .framesWithId(0x0001)
      .map((frame) => decodeBody(terminalGeneralResponse, frame.body));
    expect(parseResponses).toEqual([
      { replySerial: text, replyId: 0x8300, result: 0 },
      { replySerial: unknown, replyId: 0x8f00, result: 3 },
    ]);
    expect(terminal.receivedFrames(0x8300)).toHaveLength(1);
  });

  it('joins a text that arrives in two parts', async () => {
    const terminal = await startOnline();
    const whole = Buffer.from(`\u0004${'a'.repeat(1024)}`, 'latin1');
    platform.sendRaw(terminalPhone, 0x8300, whole.subarray(0, 1000), { total: 2, no: 1 });
    platform.sendRaw(terminalPhone, 0x8300, whole.subarray(1000), { total: 2, no: 2 });
    const message = await terminal.waitForCommand(0x8300);
    expect(message.body).toEqual(whole);
    expect(await platform.waitForFrame(0x0001)).toBeDefined();
  });

  it('refuses a stream without cameras, and rejects a truncated body', async () => {
    await startOnline();
    const request = { serverIp: '127.0.0.1', tcpPort: 1, udpPort: 0, channel: 1, dataType: 0, streamType: 0 };
    platform.sendCommand(terminalPhone, liveStreamRequest, request);
    await waitFor(() => platform.framesWithId(0x0001).length === 1, 'refusal');
    platform.sendRaw(terminalPhone, 0x9101, Buffer.from([9, 1]));
    await waitFor(() => platform.framesWithId(0x0001).length === 2, 'refusal');
    expect(platform.framesWithId(0x0001).map((frame) => frame.body[4])).toEqual([1, 2]);
  });

  it('acknowledges a restart, disconnects and reconnects', async () => {
    const terminal = await startOnline();
    platform.sendCommand(terminalPhone, terminalControl, { command: 4, parameters: '' });
    await waitFor(() => platform.connections === 2, 'second connection');
    await terminal.waitUntilOnline();
    expect(platform.framesWithId(0x0001)[0]?.body[4]).toBe(0);
    expect(platform.framesWithId(0x0100)).toHaveLength(1);
  });

  it('delivers each command to one waiter only', async () => {
    const terminal = await startOnline();
    platform.sendCommand(terminalPhone, textMessage, { flags: 4, text: 'one' });
    platform.sendCommand(terminalPhone, textMessage, { flags: 4, text: 'two' });
    const first = await terminal.waitForCommand(0x8300);
    const second = await terminal.waitForCommand(0x8300, (message) => message.body.includes('two'));
    expect([first, second].map((message) => message.body.toString('latin1', 1))).toEqual(['one', 'two']);
    await expect(terminal.waitForCommand(0x8300, undefined, 20)).rejects.toThrow(/0x8300/);
  });
});
