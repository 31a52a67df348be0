import { useComputedColorScheme } from '@mantine/core';
import {
  type KeyboardEvent,
  type PointerEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { colors, type Theme } from '../theme/tokens.ts';
import { drawLanes } from './draw-lanes.ts';
import { axisHeight, getBarHeight, type Lane, laneHeights } from './lanes.ts';
import { type Playhead, usePlayhead } from './playhead.ts';
import { clampTime, getLengthMs, panSpan, type TimeSpan, toTimeMs, toX, zoomSpan } from './time-scale.ts';
import './time-bar.css';

interface TimeBarProps {
  /** Name of the slider. */
  readonly label: string;
  readonly day: TimeSpan;
  readonly timeZone: string;
  readonly playhead: Playhead;
  readonly lanes: readonly Lane[];
  /** Chosen span, which becomes a clip. */
  readonly selection: TimeSpan | null;
  /** Whether dragging chooses a span instead of moving the playhead. */
  readonly isSelecting: boolean;
  readonly onSelect: (span: TimeSpan) => void;
  /** Returns the facts at a time, which the slider speaks. */
  readonly describe: (timeMs: number) => string;
}

const zoomPerStep = 1.25;
const keySteps: Readonly<Record<string, number>> = {
  ArrowLeft: -10_000,
  ArrowDown: -10_000,
  ArrowRight: 10_000,
  ArrowUp: 10_000,
  PageUp: 600_000,
  PageDown: -600_000,
};
/** Shift makes ten seconds a minute. */
const shiftFactor = 6;

/** Shows the time bar of a day: lanes on a canvas below a slider. The wheel zooms, dragging moves the playhead. */
export function TimeBar(props: TimeBarProps) {
  const { day, timeZone, playhead, lanes, selection } = props;
  const area = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(area);
  const [span, setSpan] = useState(day);
  const { timeMs, isPlaying } = usePlayhead(playhead);
  const height = getBarHeight(lanes);
  useCanvas(canvas, { lanes, span, timeZone, width, height });
  useWheelZoom(area, day, setSpan);

  // The view follows the playhead while it plays.
  const isOutside = timeMs < span.fromMs || timeMs > span.toMs;
  useEffect(() => {
    if (isPlaying && isOutside) setSpan((before) => panSpan(before, day, timeMs - before.fromMs));
  }, [isPlaying, isOutside, day, timeMs]);

  const pointer = usePointer(props, area, span);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = keySteps[event.key];
    if (step !== undefined) playhead.seek(timeMs + step * (event.shiftKey ? shiftFactor : 1));
    else if (event.key === 'Home') playhead.seek(day.fromMs);
    else if (event.key === 'End') playhead.seek(day.toMs);
    else if (event.key === '+') setSpan(zoomSpan(span, day, timeMs, 1 / zoomPerStep));
    else if (event.key === '-') setSpan(zoomSpan(span, day, timeMs, zoomPerStep));
    else return;
    event.preventDefault();
  };

  return (
    <div className="time-bar">
      <div className="time-bar-names" style={{ paddingTop: axisHeight }} aria-hidden="true">
        {lanes.map(({ name, kind }) => (
          <span key={name} style={{ height: laneHeights[kind] }}>
            {name}
          </span>
        ))}
      </div>
      <div
        ref={area}
        className="time-bar-area"
        style={{ height }}
        role="slider"
        tabIndex={0}
        aria-label={props.label}
        aria-valuemin={day.fromMs}
        aria-valuemax={day.toMs}
        aria-valuenow={Math.round(timeMs)}
        aria-valuetext={props.describe(timeMs)}
        onKeyDown={onKeyDown}
        {...pointer}
      >
        <canvas ref={canvas} aria-hidden="true" />
        {selection === null ? null : <SpanBox span={selection} view={span} width={width} />}
        <Needle x={toX(timeMs, span, width)} width={width} />
      </div>
    </div>
  );
}

function Needle({ x, width }: { x: number; width: number }) {
  return x < 0 || x > width ? null : <div className="time-bar-needle" style={{ transform: `translateX(${x}px)` }} />;
}

function SpanBox({ span, view, width }: { span: TimeSpan; view: TimeSpan; width: number }) {
  const left = Math.max(0, toX(span.fromMs, view, width));
  const right = Math.min(width, toX(span.toMs, view, width));
  return right < 0 || left > width ? null : (
    <div className="time-bar-span" style={{ left, width: Math.max(2, right - left) }} />
  );
}

/** Returns the width of an element in CSS pixels. */
function useWidth(element: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (element.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

interface Picture {
  readonly lanes: readonly Lane[];
  readonly span: TimeSpan;
  readonly timeZone: string;
  readonly width: number;
  readonly height: number;
}

/** Draws the lanes after each change of them, of the visible span, the size or the theme. */
function useCanvas(canvas: React.RefObject<HTMLCanvasElement | null>, picture: Picture): void {
  const theme: Theme = useComputedColorScheme('light');
  const { lanes, span, timeZone, width, height } = picture;
  useEffect(() => {
    const context = canvas.current?.getContext('2d') ?? null;
    if (canvas.current === null || context === null || width === 0) return;
    const ratio = window.devicePixelRatio;
    canvas.current.width = Math.round(width * ratio);
    canvas.current.height = Math.round(height * ratio);
    context.scale(ratio, ratio);
    drawLanes({ context, width, height, span, timeZone, colors: colors[theme] }, lanes);
  }, [canvas, lanes, span, timeZone, width, height, theme]);
}

/** Zooms around the pointer with the wheel; moves with a horizontal wheel. */
function useWheelZoom(
  area: React.RefObject<HTMLElement | null>,
  day: TimeSpan,
  setSpan: (change: (before: TimeSpan) => TimeSpan) => void,
): void {
  useEffect(() => {
    const element = area.current;
    if (element === null) return undefined;
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const { left, width } = element.getBoundingClientRect();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
        return setSpan((before) => panSpan(before, day, (event.deltaX / width) * getLengthMs(before)));
      const factor = event.deltaY < 0 ? 1 / zoomPerStep : zoomPerStep;
      setSpan((before) => zoomSpan(before, day, toTimeMs(event.clientX - left, before, width), factor));
    };
    // React's own listeners are passive and cannot keep the page from scrolling.
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [area, day, setSpan]);
}

/** Returns the listeners that move the playhead, or choose a span. */
function usePointer(
  { day, playhead, isSelecting, onSelect }: TimeBarProps,
  area: React.RefObject<HTMLElement | null>,
  span: TimeSpan,
) {
  const start = useRef<number | null>(null);
  const toTime = useCallback(
    (event: PointerEvent): number => {
      const { left, width } = area.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
      return clampTime(toTimeMs(event.clientX - left, span, width), day);
    },
    [area, span, day],
  );
  const move = (event: PointerEvent): void => {
    if (start.current === null) return;
    const timeMs = toTime(event);
    if (!isSelecting && !event.shiftKey) return playhead.seek(timeMs);
    onSelect({ fromMs: Math.min(start.current, timeMs), toMs: Math.max(start.current, timeMs) });
  };
  return {
    onPointerDown: (event: PointerEvent): void => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      start.current = toTime(event);
      if (!isSelecting && !event.shiftKey) playhead.seek(start.current);
    },
    onPointerMove: move,
    onPointerUp: (event: PointerEvent): void => {
      move(event);
      start.current = null;
    },
  };
}
