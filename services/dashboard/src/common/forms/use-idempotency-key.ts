import { useRef } from 'react';
import { createIdempotencyKey } from './idempotency-key.ts';

/** Returns a function that returns one key for each content of a form, so that a repeated click has one effect. */
export function useIdempotencyKey(): (content: unknown) => string {
  const last = useRef({ text: '', key: '' });
  return (content) => {
    const text = JSON.stringify(content);
    if (text !== last.current.text) last.current = { text, key: createIdempotencyKey() };
    return last.current.key;
  };
}
