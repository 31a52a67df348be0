import type { MatchedTrace, TracePoint } from './providers.ts';

/**
 * Size of a window, the longest trace that providers accept. Windows overlap, so that the matching of their ends takes
 * the neighbouring points into account.
 */
const windowSize = 100;
const sharedPoints = 5;

/**
 * Matches a long trace in windows. Of the shared points, the first half is taken from the earlier window, the rest from
 * the later one.
 */
export async function matchWindowed(
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
