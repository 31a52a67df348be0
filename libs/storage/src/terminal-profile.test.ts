import { randomInt } from 'node:crypto';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { connectRedis, type Redis } from './redis.ts';
import { readTerminalProfile, saveTerminalAudio, saveTerminalModel } from './terminal-profile.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(30_000);

let redis: Redis;
const audio = { codec: 19, sampleRate: 44_100, channels: 2 };
const newImei = (): string => String(randomInt(1e11, 1e12));

beforeAll(async () => {
  redis = await connectRedis(testEnv('REDIS_URL'), { name: 'terminal-profile', onError: () => undefined });
});
afterAll(() => {
  redis.destroy();
});

describe('the profile of a terminal', () => {
  it('is empty before the first report of the terminal', async () => {
    expect(await readTerminalProfile(redis, newImei())).toEqual({ model: null, audio: null });
  });

  it('returns model and audio, also after the same model registers again', async () => {
    const imei = newImei();
    await saveTerminalAudio(redis, imei, audio);
    await saveTerminalModel(redis, imei, 'CAM-1');
    await saveTerminalAudio(redis, imei, audio);
    await saveTerminalModel(redis, imei, 'CAM-1');
    expect(await readTerminalProfile(redis, imei)).toEqual({ model: 'CAM-1', audio });
    expect(await redis.ttl(`terminal-profile:${imei}`)).toBeGreaterThan(0);
  });

  it('deletes the audio when another model registers under the number', async () => {
    const imei = newImei();
    await saveTerminalModel(redis, imei, 'CAM-1');
    await saveTerminalAudio(redis, imei, audio);
    await saveTerminalModel(redis, imei, 'CAM-2');
    expect(await readTerminalProfile(redis, imei)).toEqual({ model: 'CAM-2', audio: null });
  });
});
