import type { MatchedTrace, TracePoint } from './providers.ts';

/** Providers take no longer traces at once; so many points are matched twice, so that a window's ends know what goes on there. */
const windowSize = 100;
const sharedPoints = 5;

/** Matches a long trace window by window; of shared points the first window gives the first half, the next one the rest. */
export async function inWindows(
  trace: readonly TracePoint[],
  match: (part: readonly TracePoint[]) => Promise<MatchedTrace>,
): Promise<MatchedTrace> {
  if (trace.length <= windowSize) return match(trace);
  const points: MatchedTrace['points'][number][] = [];
  let confidence = 0;
  for (let start = 0; ; start += windowSize - sharedPoints) {
    const part = trace.slice(start, start + windowSize);
    const matched = await match(part);
    const kept = points.length - start;
    const isLast = start + windowSize >= trace.length;
    const end = isLast ? part.length : windowSize - Math.floor(sharedPoints / 2);
    points.push(...matched.points.slice(kept, end));
    confidence += (matched.confidence * (end - kept)) / trace.length;
    if (isLast) return { points, confidence };
  }
}
