import { setTimeout as delay } from 'node:timers/promises';
import { mediaControl, mediaControlSubject, publish, queryStream, request } from '@fleet/bus';
import { PayloadType } from '@fleet/jt1078';
import { type AccessUnit } from '@fleet/jt1078/testing';
import type { StreamId } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, TcpCamera, TestCamera } from './testing/camera.ts';
import { type MediaHarness, randomImei, requestStream, startHarness } from './testing/harness.ts';
import { decodeErrors, fetchStatus, isKeyFrame, Player } from './testing/player.ts';

// Real servers, on a machine that may be busy.
jest.setTimeout(60_000);

/**
 * A forward step of the camera's clock that exceeds real time by less than this counts as a pause, not as a seek
 * (decision 0006).
 */
const unnoticedMs = 250;

/** With a clock by arrival, a busy machine may delay pictures for this long. */
const busyMs = 4_000;

let harness: MediaHarness;
/** Three seconds with a key frame each second. */
let card: AccessUnit[];
beforeAll(async () => {
  card = await createTestCard();
  harness = await startHarness({ MEDIA_DATA_TIMEOUT_MS: '4000' });
});
afterAll(() => harness.stop());

type Control = { change: 'ended' | 'paused' | 'resumed' | 'restarting' | 'restarted'; pace?: 'device' | 'arrival' };

/**
 * Publishes control events to the pod and waits until it has received them; messages of one connection stay in order.
 */
async function control(id: StreamId, ...changes: Control[]): Promise<void> {
  for (const change of changes)
    publish(harness.bus, mediaControl, { ...id, ...change }, mediaControlSubject(harness.podId));
  await request(harness.bus, queryStream(harness.podId), id, { timeoutMs: 5_000 });
}

/** 40 ms of G.711A. */
const quietTone = Buffer.from(Uint8Array.from({ length: 320 }, (_unused, i) => ((i * 7) % 32) ^ 0xd5));

/** Recording that plays to one viewer. */
class Playback {
  readonly id: StreamId;
  readonly camera = new TcpCamera(harness.service.historyPort);
  readonly voice: TestCamera;
  sent = 0;
  #player: Player | undefined;

  constructor(id: StreamId) {
    this.id = id;
    this.voice = new TestCamera(id);
  }

  static async watched(
    options: { pace?: 'device' | 'arrival'; dataType?: number; audio?: string } = {},
  ): Promise<Playback> {
    const { pace, dataType = 2, audio = 'none' } = options;
    const id: StreamId = { kind: 'history', imei: randomImei(), channel: 1 };
    await requestStream(harness.redis, id, dataType, pace === undefined ? {} : { pace });
    const playback = new Playback(id);
    const opening = Player.open(harness.streamUrl(id, { audio }));
    await playback.send(card.slice(0, 1), { sound: dataType === 0 });
    playback.#player = await opening;
    return playback;
  }

  get player(): Player {
    if (this.#player === undefined) throw new Error('the playback has no viewer');
    return this.#player;
  }

  /** Sends pictures, each `stepMs` of recorded time and `everyMs` of real time after the previous one. */
  async send(units: readonly AccessUnit[], { stepMs = 40, everyMs = 0, sound = false } = {}): Promise<void> {
    for (const unit of units) {
      if (sound) await this.camera.send(this.voice.createAudioPacket(quietTone, PayloadType.G711A));
      await this.camera.send(...this.voice.createVideoPackets(unit));
      this.voice.timestampMs += stepMs;
      this.sent += 1;
      if (everyMs > 0) await delay(everyMs);
    }
  }

  /** Waits until the viewer has received all sent pictures except the lost ones. */
  async arrive(lost = 0): Promise<void> {
    await waitFor(() => this.player.video.length === this.sent - lost, `${this.sent - lost} pictures`);
  }

  /**
   * Closes the camera's connection and checks that the viewer's clock never stood still, leapt or went back. Returns
   * the errors of ffmpeg.
   */
  async finish({ lost = 0, maxStepMs = 100 } = {}): Promise<string> {
    this.camera.close();
    await waitFor(() => this.player.ending === 'complete', 'the end of the response');
    expect(this.player.video).toHaveLength(this.sent - lost);
    const steps = getSteps(this.player);
    expect(Math.min(...steps)).toBeGreaterThan(0);
    expect(Math.max(...steps)).toBeLessThanOrEqual(maxStepMs);
    return decodeErrors(this.player.flv);
  }
}

const getSteps = ({ video }: Player): number[] =>
  video.slice(1).map((tag, index) => tag.timestampMs - (video[index]?.timestampMs ?? 0));

const spanMs = ({ video }: Player, from: number): number =>
  (video.at(-1)?.timestampMs ?? 0) - (video[from]?.timestampMs ?? 0);

describe('playback seek', () => {
  it.each([
    ['an hour forward', 3_600_000],
    ['two seconds forward', 2_000],
    ['half a second back', -500],
    ['an hour back', -3_600_000],
  ])('%s leaves no gap, whether the frames or the response arrive first', async (_what, byMs) => {
    const playback = await Playback.watched();
    await playback.send(card.slice(1));
    await control(playback.id, { change: 'restarting' });
    playback.voice.timestampMs += byMs;
    await playback.send(card.slice(0, 50));
    await playback.arrive();
    // The response arrives after the frames, which must not lose a picture.
    await control(playback.id, { change: 'restarted' });
    const beforeMs = performance.now();
    await playback.send(card.slice(50));
    await playback.arrive();
    // The response arrives before the frames.
    await control(playback.id, { change: 'restarting' }, { change: 'restarted' });
    playback.voice.timestampMs -= byMs;
    await playback.send(card.slice(0, 1));
    await playback.arrive();
    const pauseMs = performance.now() - beforeMs;
    await playback.send(card.slice(1));
    // Half a second forward is no seek if the machine stalled for about as long. Only then may it appear as a pause.
    const isPause = Math.abs(byMs) <= pauseMs + unnoticedMs;
    expect(await playback.finish(isPause ? { maxStepMs: Math.abs(byMs) + 100 } : {})).toBe('');
  });

  it('keeps audio and video in sync', async () => {
    const playback = await Playback.watched({ dataType: 0, audio: 'aac' });
    for (let round = 0; round < 4; round += 1) {
      await playback.send(card, { everyMs: 15, sound: true });
      await control(playback.id, { change: 'restarting' });
      playback.voice.timestampMs += round % 2 === 0 ? 3_600_000 : -5_000;
      await playback.send(card.slice(0, 5), { everyMs: 15, sound: true });
      await control(playback.id, { change: 'restarted' });
    }
    await playback.arrive();
    const { player } = playback;
    const lastPictureMs = player.video.at(-1)?.timestampMs ?? 0;
    // The transcoder retains some audio.
    await waitFor(() => (player.audio.at(-1)?.timestampMs ?? 0) > lastPictureMs - 400, 'the audio');
    const times = player.audio.map((tag) => tag.timestampMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const steps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    // 1024 samples at 16 kHz are 64 ms. A short silence is allowed between two positions.
    expect(Math.max(...steps)).toBeLessThan(400);
    expect(times.at(-1)).toBeLessThan(lastPictureMs + 400);
    expect(await playback.finish()).toBe('');
  });

  it('omits pictures that depend on a missing key frame', async () => {
    const playback = await Playback.watched();
    await playback.send(card.slice(1));
    await control(playback.id, { change: 'restarting' }, { change: 'restarted' });
    playback.voice.timestampMs += 60_000;
    const [first, second] = [card.slice(13, 25), card.slice(25)];
    await playback.send(first);
    await playback.send(second);
    // The omitted pictures still take their time: the next one follows that much later.
    expect(await playback.finish({ lost: first.length, maxStepMs: (first.length + 2) * 40 })).toBe('');
  });

  it('refused by the camera has no effect', async () => {
    const playback = await Playback.watched();
    await playback.send(card.slice(1));
    await control(playback.id, { change: 'restarting' });
    await playback.send(card);
    expect(await playback.finish()).toBe('');
    expect(getSteps(playback.player).every((step) => step === 40)).toBe(true);
  });

  it('without viewers lets the first viewer begin at the new position', async () => {
    const id = await harness.requestStream({ kind: 'history', dataType: 2 });
    const playback = new Playback(id);
    await playback.send(card);
    await waitFor(async () => (await harness.findStream(id))?.videoFrames === card.length, 'the stream');
    await control(id, { change: 'restarting' }, { change: 'restarted' });
    playback.voice.timestampMs += 600_000;
    await playback.send(card.slice(0, 25));
    await waitFor(
      async () => (await harness.findStream(id))?.videoFrames === card.length + 25,
      'the pictures after the seek',
    );
    const player = await Player.open(harness.streamUrl(id));
    playback.camera.close();
    await waitFor(() => player.ending === 'complete', 'the end');
    expect(player.video).toHaveLength(25);
    expect(player.video[0] && isKeyFrame(player.video[0])).toBe(true);
  });
});

describe('playback speed', () => {
  it("other than normal follows arrival times; normal speed follows the camera's clock again", async () => {
    const playback = await Playback.watched();
    await playback.send(card.slice(1));
    await playback.arrive();
    const slowAt = playback.sent;
    await control(playback.id, { change: 'restarting', pace: 'arrival' }, { change: 'resumed' });
    await control(playback.id, { change: 'restarted', pace: 'arrival' });
    const startedMs = performance.now();
    // Ten times as fast, or as fast as the machine can.
    for (let i = 0; i < 4; i += 1) await playback.send(card, { everyMs: 10, stepMs: 120 });
    const tookMs = performance.now() - startedMs;
    await playback.arrive();
    const arrivedMs = performance.now() - startedMs;
    const recordedMs = 4 * card.length * 120;
    expect(recordedMs).toBeGreaterThan(1.5 * arrivedMs);
    expect(spanMs(playback.player, slowAt)).toBeGreaterThan(0.8 * tookMs);
    expect(spanMs(playback.player, slowAt)).toBeLessThan(1.2 * arrivedMs);
    const normalAt = playback.sent;
    await control(playback.id, { change: 'restarting', pace: 'device' }, { change: 'resumed' });
    await control(playback.id, { change: 'restarted', pace: 'device' });
    // Sent at network speed: the camera's clock applies.
    await playback.send(card);
    await playback.arrive();
    expect(spanMs(playback.player, normalAt)).toBe((card.length - 1) * 40);
    expect(await playback.finish({ maxStepMs: busyMs })).toBe('');
  });

  it("backwards advances the viewer's clock at the pace of arrival", async () => {
    const playback = await Playback.watched();
    await playback.send(card.slice(1));
    await playback.arrive();
    const rewindAt = playback.sent;
    await control(playback.id, { change: 'restarting', pace: 'arrival' });
    const keyFrames = card.filter((unit) => unit.isKeyFrame);
    playback.voice.timestampMs -= 1_000;
    const startedMs = performance.now();
    for (let i = 0; i < 4; i += 1) {
      await playback.send(keyFrames, { stepMs: -1_000, everyMs: 120 });
      if (i === 0) await control(playback.id, { change: 'restarted', pace: 'arrival' });
    }
    const tookMs = performance.now() - startedMs;
    await playback.arrive();
    const arrivedMs = performance.now() - startedMs;
    expect(spanMs(playback.player, rewindAt)).toBeGreaterThan(0.7 * tookMs);
    expect(spanMs(playback.player, rewindAt)).toBeLessThan(1.2 * arrivedMs);
    expect(await playback.finish({ maxStepMs: busyMs })).toBe('');
  });

  it('set in the request follows arrival times from the beginning', async () => {
    const playback = await Playback.watched({ pace: 'arrival' });
    const startedMs = performance.now();
    await playback.send(card.slice(1), { everyMs: 10 });
    await playback.arrive();
    const arrivedMs = performance.now() - startedMs;
    expect(spanMs(playback.player, 1)).toBeLessThan(1.2 * arrivedMs);
    expect(await playback.finish({ maxStepMs: busyMs })).toBe('');
  });
});

describe('playback pause', () => {
  it('may exceed the data timeout and leaves no gap', async () => {
    const playback = await Playback.watched();
    await playback.send(card.slice(1));
    await control(playback.id, { change: 'paused' });
    await waitFor(async () => (await harness.findStream(playback.id))?.isPaused, 'the pause');
    const pausedAtMs = performance.now();
    await waitFor(() => performance.now() - pausedAtMs > 2_500, 'a long silence');
    expect(await harness.findStream(playback.id)).toBeDefined();
    await control(playback.id, { change: 'restarting', pace: 'device' });
    // As cameras do: from the key frame before the paused position.
    playback.voice.timestampMs -= 1_000;
    await playback.send(card.slice(25));
    await control(playback.id, { change: 'resumed' }, { change: 'restarted', pace: 'device' });
    expect((await harness.findStream(playback.id))?.isPaused).toBe(false);
    expect(await playback.finish()).toBe('');
  });
});

describe('playback stop', () => {
  it('ends the response cleanly and removes the stream', async () => {
    const playback = await Playback.watched();
    await playback.send(card.slice(1));
    await playback.arrive();
    await control(playback.id, { change: 'ended' });
    await waitFor(() => playback.player.ending === 'complete', 'the end of the response');
    expect(await fetchStatus(harness.streamUrl(playback.id))).toMatchObject({ status: 404 });
    await waitFor(() => playback.camera.isClosed, 'the camera connection to close');
  });
});
