import { useFormat, useNow } from '../format/preferences-context.ts';

/** Shows how old a value is; the exact time is the title. */
export function Age({ timeMs }: { timeMs: number }) {
  const format = useFormat();
  const nowMs = useNow();
  return (
    <time dateTime={new Date(timeMs).toISOString()} title={format.exact(timeMs)}>
      {format.age(timeMs, nowMs)}
    </time>
  );
}
