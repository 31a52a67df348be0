import type { Outcome } from '@fleet/bus';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PendingCommand, PendingCommands } from './pending-commands.ts';
import { getResponseMatcher } from './response-matching.ts';
import { SerialCounter } from './serial-counter.ts';

let serials: SerialCounter;
let pending: PendingCommands;

beforeEach(() => {
  jest.useFakeTimers();
  serials = new SerialCounter(100);
  pending = new PendingCommands(serials);
});
afterEach(() => {
  jest.useRealTimers();
});

/** Adds a command that was sent with these serials. */
function sent(messageId: number, ids: readonly number[], timeoutMs = 90_000): PendingCommand {
  const command = new PendingCommand(`${messageId}/${ids.join()}`, messageId, getResponseMatcher(messageId, '2013'));
  pending.add(command, timeoutMs);
  pending.markSent(command, ids);
  command.isWritten = true;
  return command;
}

const general = (serial: number, messageId: number, result: number): Buffer =>
  Buffer.from([serial >> 8, serial & 0xff, messageId >> 8, messageId & 0xff, result]);

const list = (serial: number, total: number, items: number): Buffer => {
  const body = Buffer.alloc(6 + 28 * items);
  body.writeUInt16BE(serial, 0);
  body.writeUInt32BE(total, 2);
  return body;
};

/** Returns the current outcome without waiting, or null. */
async function peekOutcome(command: PendingCommand): Promise<Outcome | null> {
  return Promise.race([command.outcome, Promise.resolve(null)]);
}

describe('response matching', () => {
  it('matches an attributes response without a serial, whatever bytes are in its position', async () => {
    const command = sent(0x8107, [4]);
    const texts = Buffer.alloc(2 + 5 + 20 + 7 + 10);
    const body = Buffer.concat([texts, Buffer.from([0, 0, 3, 32])]);
    expect(pending.handleSpecificResponse(0x0107, body, '2013')).toBe('matched');
    expect(await peekOutcome(command)).toMatchObject({
      kind: 'answered',
      answer: { commandMessageId: 0x8107, commandSerialNo: 4, message: { id: 0x0107 } },
    });
  });

  it('matches responses to several commands of one kind by serial', async () => {
    sent(0x9101, [1]);
    const second = sent(0x9101, [2]);
    sent(0x9102, [3]);
    expect(pending.handleGeneralResponse(general(2, 0x9101, 3), false)).toBe('matched');
    expect(await peekOutcome(second)).toMatchObject({ answer: { commandSerialNo: 2, result: 3 } });
    expect(pending.size).toBe(2);
  });

  it('classifies responses that match no command', () => {
    const first = sent(0x9101, [1]);
    sent(0x9102, [2]);
    expect(pending.handleGeneralResponse(general(9, 0x9101, 0), false)).toBe('wrongSerial');
    expect(pending.handleGeneralResponse(general(2, 0x9101, 0), false)).toBe('wrongId');
    expect(pending.handleGeneralResponse(Buffer.from([0]), false)).toBe('malformed');
    expect(pending.handleGeneralResponse(Buffer.from([0, 9, 0x91]), false)).toBe('malformed');
    expect(pending.handleGeneralResponse(general(1, 0x9101, 0), false)).toBe('matched');
    expect(pending.handleGeneralResponse(general(1, 0x9101, 0), false)).toBe('repeated');
    pending.end(sent(0x9101, [5]), { kind: 'timedOut' });
    expect(pending.handleGeneralResponse(general(5, 0x9101, 0), false)).toBe('late');
    expect(pending.handleSpecificResponse(0x1205, list(5, 0, 0), '2013')).toBe('late');
    expect(first.isEnded).toBe(true);
  });

  it('ends a command as unreadable when its response is truncated after the serial', async () => {
    const command = sent(0x9101, [1]);
    expect(pending.handleGeneralResponse(Buffer.from([0, 1, 0x91]), false)).toBe('matched');
    expect(await peekOutcome(command)).toMatchObject({ kind: 'unreadable' });
  });

  it('reserves a serial until its command has ended', () => {
    serials.advanceTo(0xffff);
    sent(0x9101, [0]);
    expect([serials.nextSerial(), serials.nextSerial()]).toEqual([0xffff, 1]);
    pending.handleGeneralResponse(general(0, 0x9101, 0), false);
    serials.advanceTo(0);
    expect(serials.nextSerial()).toBe(0);
  });
});

describe('command deadline', () => {
  it('ends a command after 90 seconds, once', async () => {
    const command = sent(0x9205, [1]);
    await jest.advanceTimersByTimeAsync(89_999);
    expect(await peekOutcome(command)).toBeNull();
    await jest.advanceTimersByTimeAsync(1);
    expect(await peekOutcome(command)).toEqual({ kind: 'timedOut' });
    expect(pending.handleSpecificResponse(0x1205, list(1, 0, 0), '2013')).toBe('late');
  });

  it('is not extended by a terminal that only reports that it is working', async () => {
    const command = sent(0x9205, [1]);
    expect(pending.handleGeneralResponse(general(1, 0x9205, 0), false)).toBe('matched');
    await jest.advanceTimersByTimeAsync(90_000);
    expect(await peekOutcome(command)).toEqual({ kind: 'timedOut' });
  });
});

describe('reply serial 0', () => {
  it('matches no command unless the terminal is listed', () => {
    sent(0x9101, [7]);
    expect(pending.handleGeneralResponse(general(0, 0x9101, 0), false)).toBe('wrongSerial');
  });

  it('matches the only command of that id for a listed terminal', async () => {
    const command = sent(0x9101, [7]);
    sent(0x9102, [8]);
    expect(pending.handleGeneralResponse(general(0, 0x9101, 0), true)).toBe('matched');
    expect(await peekOutcome(command)).toMatchObject({ kind: 'answered' });
  });

  it('matches neither of two commands for a listed terminal, nor any other wrong serial', () => {
    sent(0x9101, [7]);
    sent(0x9101, [8]);
    expect(pending.handleGeneralResponse(general(0, 0x9101, 0), true)).toBe('wrongSerial');
    expect(pending.handleGeneralResponse(general(9, 0x9101, 0), true)).toBe('wrongSerial');
  });

  it('matches nothing for 120 s after a command of that id ended without a response', async () => {
    sent(0x9101, [7], 1_000);
    await jest.advanceTimersByTimeAsync(1_000);
    const next = sent(0x9101, [8], 300_000);
    expect(pending.handleGeneralResponse(general(0, 0x9101, 0), true)).toBe('wrongSerial');
    await jest.advanceTimersByTimeAsync(120_001);
    expect(pending.handleGeneralResponse(general(0, 0x9101, 0), true)).toBe('matched');
    expect(next.isEnded).toBe(true);
  });
});

describe('list in several messages', () => {
  it('completes when its total is reached', async () => {
    const command = sent(0x9205, [1]);
    pending.handleSpecificResponse(0x1205, list(1, 3, 2), '2013');
    expect(await peekOutcome(command)).toBeNull();
    pending.handleSpecificResponse(0x1205, list(1, 3, 1), '2013');
    const outcome = await peekOutcome(command);
    const body = outcome?.kind === 'answered' ? Buffer.from(outcome.answer.message?.bodyBase64 ?? '', 'base64') : null;
    expect(body?.readUInt32BE(2)).toBe(3);
    expect(body).toHaveLength(6 + 3 * 28);
  });

  it('below its total ends after a quiet period, with the received items and the reported total', async () => {
    const command = sent(0x9205, [1]);
    pending.handleSpecificResponse(0x1205, list(1, 9, 2), '2013');
    await jest.advanceTimersByTimeAsync(2_999);
    pending.handleSpecificResponse(0x1205, list(1, 9, 1), '2013');
    await jest.advanceTimersByTimeAsync(2_999);
    expect(await peekOutcome(command)).toBeNull();
    await jest.advanceTimersByTimeAsync(1);
    const outcome = await peekOutcome(command);
    expect(outcome).toMatchObject({ kind: 'answered', answer: { message: { id: 0x1205 } } });
    const body = outcome?.kind === 'answered' ? Buffer.from(outcome.answer.message?.bodyBase64 ?? '', 'base64') : null;
    expect(body?.readUInt32BE(2)).toBe(9);
    expect(body).toHaveLength(6 + 3 * 28);
  });
});

describe('split command', () => {
  it('completes immediately with the response to its last part', async () => {
    const command = sent(0x8300, [1, 2, 3]);
    pending.handleGeneralResponse(general(1, 0x8300, 0), false);
    expect(await peekOutcome(command)).toBeNull();
    pending.handleGeneralResponse(general(3, 0x8300, 0), false);
    expect(await peekOutcome(command)).toMatchObject({ answer: { commandSerialNo: 1, result: 0 } });
  });

  it('waits 300 ms for the first terminal that acknowledges with the serial of the first part, then completes immediately', async () => {
    const first = sent(0x8300, [1, 2]);
    pending.handleGeneralResponse(general(1, 0x8300, 0), false);
    await jest.advanceTimersByTimeAsync(299);
    expect(await peekOutcome(first)).toBeNull();
    await jest.advanceTimersByTimeAsync(1);
    expect(await peekOutcome(first)).toMatchObject({ kind: 'answered', answer: { commandSerialNo: 1, result: 0 } });
    const next = sent(0x8300, [3, 4]);
    pending.handleGeneralResponse(general(3, 0x8300, 0), false);
    expect(await peekOutcome(next)).toMatchObject({ kind: 'answered', answer: { commandSerialNo: 3, result: 0 } });
  });

  it('completes immediately when the terminal acknowledges with the serial of the last part', async () => {
    const command = sent(0x8300, [1, 2]);
    pending.handleGeneralResponse(general(2, 0x8300, 0), false);
    expect(await peekOutcome(command)).toMatchObject({ answer: { commandSerialNo: 1, result: 0 } });
  });

  it('waits for the last part of a terminal that acknowledges each part, and returns that result', async () => {
    sent(0x8300, [1, 2]);
    pending.handleGeneralResponse(general(1, 0x8300, 0), false);
    pending.handleGeneralResponse(general(2, 0x8300, 0), false);
    const slow = sent(0x8300, [3, 4]);
    pending.handleGeneralResponse(general(3, 0x8300, 0), false);
    await jest.advanceTimersByTimeAsync(2_999);
    expect(await peekOutcome(slow)).toBeNull();
    pending.handleGeneralResponse(general(4, 0x8300, 1), false);
    expect(await peekOutcome(slow)).toMatchObject({ answer: { commandSerialNo: 3, result: 1 } });
  });

  it('detects from a late reply to the last part that the terminal acknowledges each part', async () => {
    sent(0x8300, [1, 2]);
    pending.handleGeneralResponse(general(1, 0x8300, 0), false);
    await jest.advanceTimersByTimeAsync(300);
    expect(pending.handleGeneralResponse(general(2, 0x8300, 0), false)).toBe('repeated');
    const next = sent(0x8300, [3, 4]);
    pending.handleGeneralResponse(general(3, 0x8300, 0), false);
    expect(await peekOutcome(next)).toBeNull();
    pending.handleGeneralResponse(general(4, 0x8300, 1), false);
    expect(await peekOutcome(next)).toMatchObject({ answer: { result: 1 } });
  });

  it('stays pending while the terminal requests a part again', async () => {
    const command = sent(0x8300, [1, 2]);
    pending.handleGeneralResponse(general(1, 0x8300, 0), false);
    pending.onPartsRequested(1);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(await peekOutcome(command)).toBeNull();
    pending.handleGeneralResponse(general(2, 0x8300, 0), false);
    expect(await peekOutcome(command)).toMatchObject({ answer: { commandSerialNo: 1, result: 0 } });
  });

  it('fails when any part fails', async () => {
    const command = sent(0x8300, [1, 2]);
    pending.handleGeneralResponse(general(1, 0x8300, 1), false);
    expect(await peekOutcome(command)).toMatchObject({ answer: { result: 1 } });
  });
});

describe('lost session', () => {
  it('ends unwritten commands as notConnected and leaves written ones to the next session', async () => {
    const written = sent(0x9101, [1]);
    const waiting = new PendingCommand('waiting', 0x9102, getResponseMatcher(0x9102, '2013'));
    pending.add(waiting, 90_000);
    pending.onSessionLost();
    expect(await peekOutcome(waiting)).toEqual({ kind: 'notConnected' });
    expect(await peekOutcome(written)).toBeNull();
    pending.handleGeneralResponse(general(1, 0x9101, 0), false);
    expect(await peekOutcome(written)).toMatchObject({ kind: 'answered' });
  });
});
