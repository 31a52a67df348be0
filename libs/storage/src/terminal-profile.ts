import type { Redis } from './redis.ts';

/** Sound that a terminal reports in 0x1003. */
export interface TerminalAudio {
  /** Payload type of JT/T 1078-2016 table 12. */
  readonly codec: number;
  readonly sampleRate: number;
  readonly channels: number;
}

/** What a terminal has reported about itself. Key `terminal-profile:<imei>`, imei being the canonical number. */
export interface TerminalProfile {
  /** Model of the last registration (0x0100). */
  readonly model: string | null;
  /** From the last 0x1003. */
  readonly audio: TerminalAudio | null;
}

/** A terminal that has not reported for this long is queried again. */
const ttlSeconds = 400 * 24 * 3600;

const profileKey = (imei: string): string => `terminal-profile:${imei}`;

// KEYS 1 profile. ARGV 1 model, 2 ttl. Another model is another terminal, whose sound is unknown.
const saveModelScript = `
if redis.call('HGET', KEYS[1], 'model') ~= ARGV[1] then
  redis.call('HDEL', KEYS[1], 'audio')
  redis.call('HSET', KEYS[1], 'model', ARGV[1])
end
redis.call('EXPIRE', KEYS[1], ARGV[2])`;

/** Stores the model of a terminal, and removes what was known of another model with the same number. */
export async function saveTerminalModel(redis: Redis, imei: string, model: string): Promise<void> {
  await redis.eval(saveModelScript, { keys: [profileKey(imei)], arguments: [model, String(ttlSeconds)] });
}

/** Stores the sound that a terminal reports. */
export async function saveTerminalAudio(redis: Redis, imei: string, audio: TerminalAudio): Promise<void> {
  const key = profileKey(imei);
  await redis.multi().hSet(key, 'audio', JSON.stringify(audio)).expire(key, ttlSeconds).exec();
}

/** Returns what a terminal has reported about itself. Throws when Redis can not be read. */
export async function readTerminalProfile(redis: Redis, imei: string): Promise<TerminalProfile> {
  const { model = null, audio } = (await redis.hGetAll(profileKey(imei))) as { model?: string; audio?: string };
  return { model, audio: audio === undefined ? null : (JSON.parse(audio) as TerminalAudio) };
}
