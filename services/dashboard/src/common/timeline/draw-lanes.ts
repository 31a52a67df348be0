import type { ThemeColors } from '../theme/tokens.ts';
import { severityPaths, severityTokens } from '../ui/marks.tsx';
import { axisHeight, type ChartPoint, type Lane, laneHeights, type Segment, type SegmentStyle } from './lanes.ts';
import { getTicks, type TimeSpan, toX } from './time-scale.ts';

interface BarFrame {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly span: TimeSpan;
  readonly timeZone: string;
  readonly colors: ThemeColors;
}

const pixelsPerTick = 76;
const segmentInset = 4;
const markSize = 16;
/** The chart reaches at least this value. */
const minChartValue = 60;
/** Reports that are further apart are not connected by a line. */
const longestLineMs = 600_000;

const styleTokens = {
  moving: 'moving',
  idle: 'idle',
  stopped: 'stopped',
  offline: 'offline',
  camera: 'moving',
  alarm: 'critical',
  uploaded: 'stopped',
} as const satisfies Record<SegmentStyle, keyof ThemeColors>;

/** Draws axis and lanes into a canvas, which is scaled to CSS pixels. */
export function drawLanes(frame: BarFrame, lanes: readonly Lane[]): void {
  const { context, width, height, colors } = frame;
  context.clearRect(0, 0, width, height);
  context.fillStyle = colors.surface;
  context.fillRect(0, 0, width, height);
  drawAxis(frame);
  let top = axisHeight;
  for (const lane of lanes) {
    context.strokeStyle = colors.border;
    context.lineWidth = 1;
    strokeLine(context, [0, top + 0.5], [width, top + 0.5]);
    drawLane(frame, lane, top);
    top += laneHeights[lane.kind];
  }
}

function drawLane(frame: BarFrame, lane: Lane, top: number): void {
  if (lane.kind === 'chart') drawChart(frame, lane.points, lane.limit, top);
  else if (lane.kind === 'segments') for (const segment of lane.segments) drawSegment(frame, segment, top);
  else
    for (const { timeMs, severity } of lane.marks) {
      const x = toX(timeMs, frame.span, frame.width);
      if (x >= -markSize && x <= frame.width + markSize)
        drawMark(frame, severityPaths[severity], frame.colors[severityTokens[severity]], x, top);
    }
}

function strokeLine(context: CanvasRenderingContext2D, from: [number, number], to: [number, number]): void {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

function drawAxis({ context, width, height, span, timeZone, colors }: BarFrame): void {
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  context.strokeStyle = colors.border;
  for (const { timeMs, label } of getTicks(span, timeZone, Math.max(2, width / pixelsPerTick))) {
    const x = Math.round(toX(timeMs, span, width)) + 0.5;
    strokeLine(context, [x, axisHeight - 6], [x, height]);
    context.fillStyle = colors.mutedText;
    context.fillText(label, x + 4, axisHeight / 2);
  }
}

/** Draws the highest value of each pixel: a day has more reports than a screen has columns. */
function drawChart(
  { context, width, span, colors }: BarFrame,
  points: readonly ChartPoint[],
  limit: number | null,
  top: number,
): void {
  const bottom = top + laneHeights.chart - 3;
  const highest = points.reduce((max, { value }) => Math.max(max, value), Math.max(minChartValue, limit ?? 0));
  const toY = (value: number): number => bottom - (value / highest) * (laneHeights.chart - 8);
  if (limit !== null) {
    context.strokeStyle = colors.idle;
    context.setLineDash([6, 6]);
    strokeLine(context, [0, toY(limit)], [width, toY(limit)]);
    context.setLineDash([]);
  }
  context.strokeStyle = colors.moving;
  context.lineWidth = 1.5;
  context.beginPath();
  let lastMs = Number.NEGATIVE_INFINITY;
  let column: { x: number; value: number } | null = null;
  for (const { timeMs, value } of points) {
    const x = Math.round(toX(timeMs, span, width));
    const isConnected = timeMs - lastMs <= longestLineMs;
    lastMs = timeMs;
    if (column !== null && column.x === x) {
      column.value = Math.max(column.value, value);
      continue;
    }
    if (column !== null) context.lineTo(column.x, toY(column.value));
    if (!isConnected) context.moveTo(x, toY(value));
    column = { x, value };
  }
  if (column !== null) context.lineTo(column.x, toY(column.value));
  context.stroke();
}

function drawSegment({ context, width, span, colors }: BarFrame, segment: Segment, top: number): void {
  const fromX = toX(segment.fromMs, span, width);
  const toXValue = toX(segment.toMs, span, width);
  if (toXValue < 0 || fromX > width) return;
  const height = laneHeights.segments - 2 * segmentInset;
  const box = [Math.max(-2, fromX), top + segmentInset, 0, height] as const;
  const boxWidth = Math.max(2, Math.min(width + 2, toXValue) - box[0]);
  const color = colors[styleTokens[segment.style]];
  context.fillStyle = color;
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  if (segment.style === 'offline') return drawHatching(context, [box[0], box[1], boxWidth, height]);
  if (segment.style === 'idle') context.fillRect(box[0], box[1] + height / 3, boxWidth, height / 3);
  else if (segment.style === 'stopped')
    context.strokeRect(box[0] + 1, box[1] + 1, Math.max(1, boxWidth - 2), height - 2);
  else context.fillRect(box[0], box[1], boxWidth, height);
  if (segment.style !== 'uploaded') return;
  // Uploaded clips have a light core: they differ from recordings without colour.
  context.fillStyle = colors.surface;
  context.fillRect(box[0] + 1, box[1] + height / 3, Math.max(1, boxWidth - 2), height / 3);
}

function drawHatching(
  context: CanvasRenderingContext2D,
  [left, top, width, height]: readonly [number, number, number, number],
): void {
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.beginPath();
  for (let x = left - height; x < left + width; x += 8) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}

function drawMark({ context }: BarFrame, path: string, color: string, x: number, top: number): void {
  context.save();
  context.translate(x - markSize / 2, top + (laneHeights.marks - markSize) / 2);
  context.scale(markSize / 24, markSize / 24);
  context.fillStyle = color;
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- a canvas, not an array
  context.fill(new Path2D(path), 'evenodd');
  context.restore();
}
