import { useEffect, useRef } from 'react';
import { useIsLeaving } from './use-is-leaving.ts';

/**
 * Returns a function that calls the newest callback once its calls have ended for a while, unless the user has chosen
 * another page.
 */
export function useDelayed<T>(callback: (value: T) => void, delayMs: number): (value: T) => void {
  const isLeaving = useIsLeaving();
  const newest = useRef(callback);
  newest.current = callback;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (value) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      if (!isLeaving()) newest.current(value);
    }, delayMs);
  };
}
