import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness, shortWaitSettings } from './testing/harness.ts';
import { findTalkStatus, Talker } from './testing/talker.ts';

jest.setTimeout(180_000);

const talkMaxSeconds = 20;

let harness: DedicatedHarness;
beforeAll(async () => {
  harness = await leaseHarness({ ...shortWaitSettings, TALK_MAX_SECONDS: String(talkMaxSeconds) });
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

const talkUrl = ({ phone }: Pick<SimulatedTerminal, 'phone'>, query = ''): string =>
  `${harness.product.runtime.video_url.replace(/^http/, 'ws')}/${phone}/1/talk${query}`;
const findTalk = (terminal: SimulatedTerminal) => terminal.cameras.records.findLast(({ kind }) => kind === 'talk');

/** Opens a talk and waits until voice arrives on both sides. */
async function talk(terminal: SimulatedTerminal, query = ''): Promise<Talker> {
  const talker = await Talker.open(talkUrl(terminal, query));
  await waitFor(() => talker.received.length > 0 && (findTalk(terminal)?.receivedFrames.length ?? 0) > 0, 'voice');
  return talker;
}

/** Talks as soon as the turn is free and the services respond. */
const talkAgain = (terminal: SimulatedTerminal): Promise<Talker> =>
  waitFor(() => talk(terminal).catch(() => undefined), 'another talk', 60_000);

describe('a refused talk', () => {
  it('is 404 for a device that is offline, 502 for one that refuses or does not connect, 504 for one that sleeps', async () => {
    const [refusing, silent, asleep] = await Promise.all([
      harness.startTerminal(),
      harness.startTerminal({ media: 'neverConnect' }),
      harness.startTerminal(),
    ]);
    refusing.setBehaviour({ kind: 'refusing', result: 1 }, 0x9101);
    asleep.setBehaviour({ kind: 'sleeping', wakeAfterTries: 1 });
    expect(await findTalkStatus(talkUrl({ phone: '013999999999' }))).toBe(404);
    expect(await findTalkStatus(talkUrl(refusing))).toBe(502);
    expect(await findTalkStatus(talkUrl(silent))).toBe(502);
    expect(await findTalkStatus(talkUrl(asleep))).toBe(504);
  });

  it('is 502 with the codec for a terminal that plays one that talk does not support', async () => {
    const terminal = await harness.startTerminal({ camera: { video: 'h264', audio: 'aac' } });
    await expect(Talker.open(talkUrl(terminal))).rejects.toThrow(
      /^502 .*The camera plays AAC \(payload type 19\), which talk does not support/,
    );
  });

  it('is 409 for a second talker, who may take over by force', async () => {
    const terminal = await harness.startTerminal();
    const first = await talk(terminal);
    expect(await findTalkStatus(talkUrl(terminal))).toBe(409);
    const second = await talk(terminal, '?force=true');
    await waitFor(() => first.closeCode !== null, 'the end of the first talk');
    expect(first.closeCode).toBe(4409);
    expect(terminal.cameras.records.filter(({ kind }) => kind === 'talk')).toHaveLength(2);
    second.close();
  });
});

describe('an open talk', () => {
  it('ends at the time limit', async () => {
    const terminal = await harness.startTerminal();
    const talker = await talk(terminal);
    await waitFor(() => talker.closeCode !== null, 'the end of the talk', 2 * talkMaxSeconds * 1_000);
    expect(talker.closeCode).toBe(4408);
    await waitFor(() => findTalk(terminal)?.state === 'ended', "the end of the camera's talk");
  });

  it('ends with the connection of the camera', async () => {
    const terminal = await harness.startTerminal();
    const talker = await talk(terminal);
    terminal.cameras.closeAll('ended by the driver');
    await waitFor(() => talker.closeCode !== null, 'the end of the talk');
    expect(talker.closeCode).toBe(4404);
    (await talkAgain(terminal)).close();
  });

  it.each([
    ['device-api', 1006],
    ['jt1078-media', 4502],
  ])("ends with a killed %s, and with it the camera's; the next talk works", async (name, closeCode) => {
    const terminal = await harness.startTerminal();
    const talker = await talk(terminal);
    const killed = findTalk(terminal);
    const previousPid = killProcess(harness, name);
    await waitFor(() => talker.closeCode !== null && killed?.state === 'ended', 'the end of the talk');
    expect(talker.closeCode).toBe(closeCode);
    await waitForRestart(harness, name, previousPid);
    await waitUntilHealthy(harness);
    const again = await talkAgain(terminal);
    expect(findTalk(terminal)).not.toBe(killed);
    again.close();
  });
});
