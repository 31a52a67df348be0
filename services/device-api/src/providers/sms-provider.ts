import { createCircuitBreaker } from '@fleet/service-kit';
import type CircuitBreaker from 'opossum';
import type { Config } from '../config.ts';

type SmsConfig = Pick<
  Config,
  'WAKE_SMS_URL' | 'WAKE_SMS_TOKEN' | 'WAKE_SMS_TEXT' | 'WAKE_SMS_NUMBER_PREFIX' | 'WAKE_SMS_TIMEOUT_MS'
>;

/** Opens the circuit breaker: half of the last minute's messages failed, and at least this many. */
const breakerVolumeThreshold = 3;
const resetTimeoutMs = 30_000;

/** The provider rejected a message. */
class SmsError extends Error {
  override readonly name = 'SmsError';
  /** True if the provider rejected only this message. */
  readonly isMessageRejected: boolean;
  constructor(message: string, options: { isMessageRejected?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.isMessageRejected = options.isMessageRejected ?? false;
  }
}

/** Calls an SMS provider that accepts `POST {"to", "text"}` and responds with 2xx. */
export class SmsProvider {
  readonly #config: SmsConfig;
  readonly #breaker: CircuitBreaker<[imei: string, requestId: string], void>;

  constructor(config: SmsConfig & { readonly WAKE_SMS_URL: string }) {
    this.#config = config;
    this.#breaker = createCircuitBreaker((imei, requestId) => this.#post(config.WAKE_SMS_URL, imei, requestId), {
      volumeThreshold: breakerVolumeThreshold,
      resetTimeoutMs,
      isFailure: (error) => !(error instanceof SmsError && error.isMessageRejected),
    });
  }

  /** Returns the configured provider, or null. */
  static fromConfig(config: SmsConfig): SmsProvider | null {
    const { WAKE_SMS_URL } = config;
    return WAKE_SMS_URL === undefined ? null : new SmsProvider({ ...config, WAKE_SMS_URL });
  }

  /** Sends the wake-up text to a terminal, whose number is its phone number. Throws if the provider rejects it. */
  wake(imei: string, requestId: string): Promise<void> {
    return this.#breaker.fire(imei, requestId);
  }

  stop(): void {
    this.#breaker.shutdown();
  }

  async #post(url: string, imei: string, requestId: string): Promise<void> {
    const { WAKE_SMS_TOKEN, WAKE_SMS_TEXT, WAKE_SMS_NUMBER_PREFIX, WAKE_SMS_TIMEOUT_MS } = this.#config;
    let response: Response;
    try {
      response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-request-id': requestId,
          ...(WAKE_SMS_TOKEN === undefined ? {} : { authorization: `Bearer ${WAKE_SMS_TOKEN}` }),
        },
        body: JSON.stringify({ to: `${WAKE_SMS_NUMBER_PREFIX}${imei}`, text: WAKE_SMS_TEXT }),
        // The token is for this address only.
        redirect: 'error',
        signal: AbortSignal.timeout(WAKE_SMS_TIMEOUT_MS),
      });
      await response.body?.cancel();
    } catch (cause) {
      throw new SmsError('the SMS provider is unavailable', { cause });
    }
    if (!response.ok)
      throw new SmsError(`the SMS provider returned ${response.status}`, {
        isMessageRejected: [400, 404, 422].includes(response.status),
      });
  }
}
