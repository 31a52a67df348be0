import { AppError, createCircuitBreaker } from '@fleet/service-kit';
import type CircuitBreaker from 'opossum';
import type { Config } from '../../assembly/config.ts';
import { maxAudioBytes } from './schema.ts';

/** Text to render as speech. */
interface SpeechText {
  readonly text: string;
  readonly language: string | null;
}

/** Renders text as an audio file with the service of an operator. */
export class SpeechProvider {
  readonly #breaker: CircuitBreaker<[SpeechText], Buffer> | null;

  constructor({ TTS_URL: url, TTS_TOKEN: token, TTS_TIMEOUT_MS: timeoutMs }: SpeechConfig) {
    const render = (text: SpeechText): Promise<Buffer> => post(String(url), token, text, timeoutMs);
    this.#breaker =
      url === undefined ? null : createCircuitBreaker(render, { volumeThreshold: 5, resetTimeoutMs: 15_000 });
  }

  /** Returns an audio file. Throws 503 without a provider, and 502 if it fails. */
  async render(text: SpeechText): Promise<Buffer> {
    if (this.#breaker === null)
      throw new AppError(
        'provider_not_configured',
        'No text-to-speech provider is configured. Set TTS_URL, or send an audio file.',
      );
    try {
      return await this.#breaker.fire(text);
    } catch (cause) {
      throw new AppError('upstream_error', 'The text-to-speech provider failed.', { cause });
    }
  }
}

type SpeechConfig = Pick<Config, 'TTS_URL' | 'TTS_TOKEN' | 'TTS_TIMEOUT_MS'>;

async function post(
  url: string,
  token: string | undefined,
  { text, language }: SpeechText,
  timeoutMs: number,
): Promise<Buffer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ text, ...(language === null ? {} : { language }) }),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the provider responded with ${response.status}`);
  }
  const audio = Buffer.from(await response.arrayBuffer());
  if (audio.length === 0 || audio.length > maxAudioBytes) throw new Error(`the provider sent ${audio.length} bytes`);
  return audio;
}
