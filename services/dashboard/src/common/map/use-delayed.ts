import { useEffect, useRef } from 'react';

/** Returns a function that calls the newest callback once its calls have ended for a while. */
export function useDelayed<T>(callback: (value: T) => void, delayMs: number): (value: T) => void {
  const newest = useRef(callback);
  newest.current = callback;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (value) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => newest.current(value), delayMs);
  };
}
