import {
  audioSampleRates,
  avAttributesResponse,
  type Edition,
  terminalRegistration,
  tryDecodeBody,
} from '@fleet/jt808';
import { type Redis, saveTerminalAudio, saveTerminalModel } from '@fleet/storage';
import type { RedisBreaker } from './redis-breaker.ts';

/** Stores in Redis what terminals report about themselves, for other services. */
export class TerminalProfiles {
  readonly #redis: Redis;
  readonly #breaker: RedisBreaker;
  readonly #onError: (error: unknown) => void;

  constructor(redis: Redis, breaker: RedisBreaker, onError: (error: unknown) => void) {
    this.#redis = redis;
    this.#breaker = breaker;
    this.#onError = onError;
  }

  /** Stores the model of a registration (0x0100); never throws. */
  async saveRegistration(imei: string, body: Buffer, edition: Edition): Promise<void> {
    const decoded = tryDecodeBody(terminalRegistration, body, edition);
    if (!decoded.ok || decoded.body.terminalModel === '') return;
    const { terminalModel } = decoded.body;
    await this.#breaker.run(() => saveTerminalModel(this.#redis, imei, terminalModel)).catch(this.#onError);
  }

  /** Stores the audio attributes of 0x1003; never throws. */
  async saveAttributes(imei: string, body: Buffer, edition: Edition): Promise<void> {
    const decoded = tryDecodeBody(avAttributesResponse, body, edition);
    if (!decoded.ok) return;
    const { audioCodec, audioChannels, audioSampleRate } = decoded.body;
    const sampleRate = audioSampleRates[audioSampleRate];
    if (sampleRate === undefined) return;
    const audio = { codec: audioCodec, sampleRate, channels: Math.max(1, audioChannels) };
    await this.#breaker.run(() => saveTerminalAudio(this.#redis, imei, audio)).catch(this.#onError);
  }
}
