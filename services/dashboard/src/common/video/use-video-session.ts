import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { useLiveEvents } from '../live/live-context.ts';
import { useSession } from '../session/session-context.ts';
import { attentionMonitor } from './attention.ts';
import { DecoderBudget, findDecoderLimit } from './decoder-budget.ts';
import { StartQueue } from './start-queue.ts';
import { VideoSession } from './video-session.ts';
import type { Stream, StreamType, VideoState } from './video-state.ts';

const isPhone = (): boolean => window.matchMedia('(max-width: 700px)').matches;

/** Shared by all tiles of the page. */
const queue = new StartQueue();
const budget = new DecoderBudget(() =>
  findDecoderLimit({ isPhone: isPhone(), cores: navigator.hardwareConcurrency || 1 }),
);
const budgetWindowMs = 5_000;
let budgetTimer: ReturnType<typeof setInterval> | undefined;

function checkBudget(): void {
  if (budget.size === 0) {
    clearInterval(budgetTimer);
    budgetTimer = undefined;
  } else if (document.hidden) budget.reset();
  else budget.check();
}

interface Camera {
  readonly vehicleId: number;
  readonly channelId: number;
  readonly streamType: StreamType;
}

/** Runs a session for the camera while the tile is visible. Returns its state, and functions that start and use it. */
export function useVideoSession(
  video: RefObject<HTMLVideoElement | null>,
  { vehicleId, channelId, streamType }: Camera,
  onData: (sizeBytes: number) => void,
) {
  const { api } = useSession();
  const [state, setState] = useState<VideoState>({ kind: 'stopped' });
  const session = useRef<VideoSession | null>(null);
  const newestOnData = useRef(onData);
  newestOnData.current = onData;
  useEffect(() => {
    if (video.current === null) return undefined;
    const report = (sizeBytes: number): void => newestOnData.current(sizeBytes);
    const shared = { api, queue, budget, onState: setState, onData: report };
    const created = new VideoSession(video.current, { ...shared, vehicleId, channelId, streamType });
    session.current = created;
    void created.start({ isWanted: false });
    budgetTimer ??= setInterval(checkBudget, budgetWindowMs);
    const stopAttention = attentionMonitor.subscribe((attention) => {
      if (attention !== 'present') created.park(attention);
      else if (created.state.kind === 'parked' && created.state.reason === 'hidden')
        void created.start({ isWanted: false });
    });
    return () => {
      stopAttention();
      created.close();
      session.current = null;
    };
  }, [api, video, vehicleId, channelId, streamType]);
  useLiveEvents(({ type, data }) => {
    if (type !== 'stream') return;
    const event = data as Stream;
    if (event.vehicle_id === vehicleId && event.channel_id === channelId) session.current?.onStreamEvent(event);
  });
  const resume = useCallback(() => void session.current?.start({ isWanted: true }), []);
  const touch = useCallback(() => session.current !== null && budget.touch(session.current), []);
  return { state, resume, touch };
}
