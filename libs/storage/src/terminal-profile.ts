import type { Redis } from './redis.ts';

/** Audio properties that a terminal reports in 0x1003. */
export interface TerminalAudio {
  /** Payload type of JT/T 1078-2016 table 12. */
  readonly codec: number;
  readonly sampleRate: number;
  readonly channels: number;
}

/** Reported properties of a terminal. Key `terminal-profile:<imei>`; imei is the canonical number. */
export interface TerminalProfile {
  /** Model of the last registration (0x0100). */
  readonly model: string | null;
  /** From the last 0x1003. */
  readonly audio: TerminalAudio | null;
}

/** A terminal without a report for this long is queried again. */
const ttlSeconds = 400 * 24 * 3600;

const profileKey = (imei: string): string => `terminal-profile:${imei}`;

// KEYS 1 profile. ARGV 1 model, 2 ttl. Another model is another terminal, whose audio is unknown.
const saveModelScript = `
if redis.call('HGET', KEYS[1], 'model') ~= ARGV[1] then
  redis.call('HDEL', KEYS[1], 'audio')
  redis.call('HSET', KEYS[1], 'model', ARGV[1])
end
redis.call('EXPIRE', KEYS[1], ARGV[2])`;

/** Stores the model of a terminal, and deletes the properties of another model with the same number. */
export async function saveTerminalModel(redis: Redis, imei: string, model: string): Promise<void> {
  await redis.eval(saveModelScript, { keys: [profileKey(imei)], arguments: [model, String(ttlSeconds)] });
}

/** Stores the audio properties that a terminal reports. */
export async function saveTerminalAudio(redis: Redis, imei: string, audio: TerminalAudio): Promise<void> {
  const key = profileKey(imei);
  await redis.multi().hSet(key, 'audio', JSON.stringify(audio)).expire(key, ttlSeconds).exec();
}

/** Returns the reported properties of a terminal. Throws if Redis cannot be read. */
export async function readTerminalProfile(redis: Redis, imei: string): Promise<TerminalProfile> {
  const { model = null, audio } = (await redis.hGetAll(profileKey(imei))) as { model?: string; audio?: string };
  return { model, audio: audio === undefined ? null : (JSON.parse(audio) as TerminalAudio) };
}
