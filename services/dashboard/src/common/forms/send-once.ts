import { ApiFailure } from '@fleet/api-client';
import { createIdempotencyKey } from './idempotency-key.ts';

/** Sends the request of a form, with the header that lets it have one effect, however often it is sent. */
export type SendOnce = <Result>(
  content: unknown,
  request: (header: { readonly 'Idempotency-Key': string }) => Promise<Result>,
) => Promise<Result>;

/**
 * Creates the function that sends the requests of one form. A repeated click, or a retry after a lost response, has the
 * same key. Other content has another one, and so has a retry after a refusal: the server stores refusals, too. After a
 * success the same content is a new request, unless a later step of the form can fail (`keepsKey`).
 */
export function createSendOnce({ keepsKey = false }: { readonly keepsKey?: boolean } = {}): SendOnce {
  let last: { readonly text: string; readonly key: string } | undefined;
  return async (content, request) => {
    const text = JSON.stringify(content);
    if (last?.text !== text) last = { text, key: createIdempotencyKey() };
    try {
      const result = await request({ 'Idempotency-Key': last.key });
      if (!keepsKey) last = undefined;
      return result;
    } catch (error) {
      if (isRefusal(error)) last = undefined;
      throw error;
    }
  };
}

/** A response with `Retry-After` asks for the same request. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ApiFailure &&
  error.status >= 400 &&
  error.status < 500 &&
  error.status !== 429 &&
  error.retryAfterSeconds === null;
