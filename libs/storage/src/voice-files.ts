import type { Redis } from './redis.ts';

/** Longer than the slowest device takes to connect and to play the longest voice. */
const ttlSeconds = 600;

const redisKey = (form: 'file' | 'pcm', voiceId: string): string => `voice:${form}:${voiceId}`;

/** Stores voice for a broadcast: the audio file of a caller, or its PCM. */
export async function saveVoice(redis: Redis, form: 'file' | 'pcm', voiceId: string, bytes: Buffer): Promise<void> {
  const options = { expiration: { type: 'EX', value: ttlSeconds } } as const;
  await redis.set(redisKey(form, voiceId), bytes.toString('base64'), options);
}

/** Returns stored voice, or null. */
export async function readVoice(redis: Redis, form: 'file' | 'pcm', voiceId: string): Promise<Buffer | null> {
  const text = await redis.get(redisKey(form, voiceId));
  return text === null ? null : Buffer.from(text, 'base64');
}
