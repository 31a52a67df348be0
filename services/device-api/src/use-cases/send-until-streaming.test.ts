import type { Outcome } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { createOutcome } from '../testing/harness.ts';
import { sendUntilStreaming } from './send-until-streaming.ts';

const pollIntervalMs = 1;
const refused = createOutcome(0x9101, 1);

/** A response that the test sends. */
function createResponse() {
  let respond!: (outcome: Outcome) => void;
  let fail!: (error: Error) => void;
  const outcome = new Promise<Outcome>((resolve, reject) => {
    [respond, fail] = [resolve, reject];
  });
  return { outcome, respond, fail };
}

/** A state that the test changes, and the number of its reads. */
function createState(isStreaming: boolean) {
  const state = {
    isStreaming,
    readCount: 0,
    check: async () => {
      state.readCount += 1;
      return state.isStreaming;
    },
  };
  return state;
}

describe('a start whose response is lost', () => {
  it('ends when the camera streams', async () => {
    const state = createState(false);
    const start = sendUntilStreaming(createResponse().outcome, {
      isStreaming: state.check,
      pollIntervalMs,
      responseGraceMs: 5,
    });
    await waitFor(() => state.readCount > 3);
    state.isStreaming = true;
    expect(await start).toBe('streaming');
  });

  it('waits for the response while the camera does not stay connected', async () => {
    const state = createState(false);
    const { outcome, respond } = createResponse();
    const start = sendUntilStreaming(outcome, {
      isStreaming: async () => (await state.check()) || state.readCount % 2 === 0,
      pollIntervalMs,
      responseGraceMs: 0,
    });
    await waitFor(() => state.readCount > 10);
    respond({ kind: 'timedOut' });
    expect(await start).toEqual({ kind: 'timedOut' });
  });

  it('reads the state no more after its end', async () => {
    const state = createState(true);
    expect(
      await sendUntilStreaming(createResponse().outcome, {
        isStreaming: state.check,
        pollIntervalMs,
        responseGraceMs: 0,
      }),
    ).toBe('streaming');
    const { readCount } = state;
    const other = createState(false);
    const { outcome, respond } = createResponse();
    const start = sendUntilStreaming(outcome, { isStreaming: other.check, pollIntervalMs });
    await waitFor(() => other.readCount > 10);
    respond(refused);
    await start;
    expect(state.readCount).toBe(readCount);
  });
});

describe('a camera that connects before its response', () => {
  it('refuses with its response', async () => {
    const state = createState(true);
    const { outcome, respond } = createResponse();
    const start = sendUntilStreaming(outcome, { isStreaming: state.check, pollIntervalMs, responseGraceMs: 60_000 });
    await waitFor(() => state.readCount > 3);
    respond(refused);
    expect(await start).toEqual(refused);
  });

  it('fails with its command', async () => {
    const state = createState(true);
    const { outcome, fail } = createResponse();
    const start = sendUntilStreaming(outcome, { isStreaming: state.check, pollIntervalMs, responseGraceMs: 60_000 });
    fail(new Error('the server is stopping'));
    await expect(start).rejects.toThrow('the server is stopping');
  });
});
