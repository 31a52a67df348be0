import type { TimeSpan } from './time-scale.ts';

/** Severities of events, as in `marks.tsx`; pure modules import no components. */
type Severity = 'critical' | 'warning' | 'info';

/** How a segment of a lane looks; each has a pattern of its own besides its colour. */
export type SegmentStyle = 'moving' | 'idle' | 'stopped' | 'offline' | 'camera' | 'alarm' | 'uploaded';

export interface Segment extends TimeSpan {
  readonly style: SegmentStyle;
}

export interface ChartPoint {
  readonly timeMs: number;
  readonly value: number;
}

/** One row of the time bar. */
export type Lane = { readonly name: string } & (
  | { readonly kind: 'chart'; readonly points: readonly ChartPoint[]; readonly limit: number | null }
  | { readonly kind: 'segments'; readonly segments: readonly Segment[] }
  | { readonly kind: 'marks'; readonly marks: readonly { readonly timeMs: number; readonly severity: Severity }[] }
);

/** Heights in CSS pixels. */
export const axisHeight = 22;
export const laneHeights = { chart: 56, segments: 24, marks: 24 } as const satisfies Record<Lane['kind'], number>;

export const getBarHeight = (lanes: readonly Lane[]): number =>
  lanes.reduce((sum, { kind }) => sum + laneHeights[kind], axisHeight);
