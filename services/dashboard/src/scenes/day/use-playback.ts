import { ApiFailure, type components } from '@fleet/api-client';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { useLiveEvents } from '../../common/live/live-context.ts';
import { useSession } from '../../common/session/session-context.ts';
import { type Playhead, usePlayhead } from '../../common/timeline/playhead.ts';
import type { TimeSpan } from '../../common/timeline/time-scale.ts';
import { FlvPlayer } from '../../common/video/flv-player.ts';
import type { Stream } from '../../common/video/video-state.ts';
import { type PlaybackControl, type PositionMark, toRateControl, toVisiblePositionMs } from './playback-model.ts';

export type Playback = components['schemas']['Playback'];

export type PlaybackState =
  | { readonly kind: 'offered' }
  | { readonly kind: 'starting'; readonly sinceMs: number }
  /** Those who watch along do not control the recording. */
  | { readonly kind: 'playing'; readonly playback: Playback; readonly isOwn: boolean }
  /** Another user plays another window. */
  | { readonly kind: 'busy'; readonly playback: Playback | null }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly error: unknown };

interface PlaybackOptions {
  readonly vehicleId: number;
  readonly channelId: number;
  readonly playhead: Playhead;
  readonly video: RefObject<HTMLVideoElement | null>;
}

/** Plays the recording of a camera over the air. The recording's clock moves the playhead. */
export function usePlayback({ vehicleId, channelId, playhead, video }: PlaybackOptions) {
  const { api } = useSession();
  const [state, setState] = useState<PlaybackState>({ kind: 'offered' });
  const player = useRef<FlvPlayer | null>(null);
  const mark = useRef<PositionMark | null>(null);
  /** The recording of the player, and whether it plays the sound. */
  const opened = useRef<{ readonly playback: Playback; readonly hasSound: boolean } | null>(null);
  /** The recording that this page plays or has played last. */
  const newestId = useRef<string | null>(null);
  const params = { path: { vehicleId } };

  const read = async (): Promise<Playback | null> => {
    const query = { channel_id: channelId };
    try {
      const found = await api.GET('/api/vehicles/{vehicleId}/dashcam-playback', { params: { ...params, query } });
      return found.data?.data ?? null;
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 404) return null;
      throw error;
    }
  };
  const stop = (): void => {
    player.current?.destroy();
    player.current = null;
    mark.current = null;
    opened.current = null;
    playhead.setSource('track');
  };
  const onEnd = async (ended: Playback): Promise<void> => {
    stop();
    playhead.pause();
    const other = await read().catch(() => null);
    setState(
      other === null || other.playback_id === ended.playback_id ? { kind: 'ended' } : { kind: 'busy', playback: other },
    );
  };
  /** Another user may have taken the camera over while its stream continues. */
  const checkOwner = async (playbackId: string): Promise<void> => {
    const other = await read().catch(() => null);
    if (other === null || other.playback_id === playbackId || newestId.current !== playbackId) return;
    newestId.current = null;
    stop();
    playhead.pause();
    setState({ kind: 'busy', playback: other });
  };
  const open = (element: HTMLVideoElement, playback: Playback, hasSound: boolean): void => {
    stop();
    opened.current = { playback, hasSound };
    const url = playback.ws_flv_url ?? playback.stream_url;
    player.current = new FlvPlayer(element, {
      url: hasSound ? url : `${url}&audio=none`,
      isRecording: true,
      onEnd: () => void onEnd(playback),
      onUndecodable: (detail) => {
        stop();
        setState({ kind: 'failed', error: new Error(detail) });
      },
    });
    playhead.setSource('video');
  };
  const watch = (playback: Playback, isOwn: boolean): void => {
    if (video.current === null) return;
    open(video.current, playback, playback.pace === 1);
    newestId.current = playback.playback_id;
    playhead.play();
    setState({ kind: 'playing', playback, isOwn });
  };
  const start = async ({ fromMs, toMs }: TimeSpan, takeover = false): Promise<void> => {
    setState({ kind: 'starting', sinceMs: Date.now() });
    const span = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
    const body = { channel_id: channelId, ...span, takeover };
    try {
      const { data } = await api.POST('/api/vehicles/{vehicleId}/dashcam-playback', { params, body });
      if (data === undefined) throw new Error('The server returned no playback.');
      watch(data.data, true);
    } catch (error) {
      if (error instanceof ApiFailure && error.code === 'camera_busy')
        setState({ kind: 'busy', playback: await read().catch(() => null) });
      else setState({ kind: 'failed', error });
    }
  };
  const control = async (body: PlaybackControl): Promise<void> => {
    try {
      const request = { params, body: { channel_id: channelId, ...body } };
      await api.POST('/api/vehicles/{vehicleId}/dashcam-playback/control', request);
    } catch (error) {
      stop();
      // The recording ended while the control was on its way.
      if (error instanceof ApiFailure && error.status === 404) playhead.pause();
      setState(error instanceof ApiFailure && error.status === 404 ? { kind: 'ended' } : { kind: 'failed', error });
    }
  };
  // Leaves the recording; the server ends it without viewers.
  useEffect(() => stop, [vehicleId, channelId]);
  useLiveEvents(({ type, data }) => {
    const event = data as Stream;
    if (type !== 'stream' || event.kind !== 'history' || event.playback === null) return;
    if (event.vehicle_id !== vehicleId || event.channel_id !== channelId) return;
    const known = newestId.current;
    if (known !== null && event.playback.playback_id !== known) void checkOwner(known);
    if (opened.current === null || video.current === null || event.playback.playback_id !== known) return;
    // Cameras send no sound at other speeds. A browser that expects it would wait for it.
    const hasSound = event.playback.pace === 1;
    if (hasSound !== opened.current.hasSound && playhead.state.isPlaying)
      return open(video.current, opened.current.playback, hasSound);
    const { buffered } = video.current;
    if (buffered.length === 0) return;
    const bufferedEnd = buffered.end(buffered.length - 1);
    mark.current = { positionMs: Date.parse(event.playback.position), bufferedEnd, pace: event.playback.pace };
  });
  useFollow(playhead, video, mark);
  useControls(playhead, state, video, (body) => void control(body));
  return { state, start, watch, reset: () => setState({ kind: 'offered' }) };
}

/** Moves the playhead with the picture on screen. */
function useFollow(
  playhead: Playhead,
  video: RefObject<HTMLVideoElement | null>,
  mark: RefObject<PositionMark | null>,
): void {
  useEffect(() => {
    const element = video.current;
    if (element === null) return undefined;
    const follow = (): void => {
      if (mark.current !== null) playhead.follow(toVisiblePositionMs(mark.current, element.currentTime));
    };
    element.addEventListener('timeupdate', follow);
    return () => element.removeEventListener('timeupdate', follow);
  }, [playhead, video, mark]);
}

/** Sends pauses, speeds and seeks of the user to the camera. */
function useControls(
  playhead: Playhead,
  state: PlaybackState,
  video: RefObject<HTMLVideoElement | null>,
  send: (control: PlaybackControl) => void,
): void {
  const { isPlaying, rate, seeks } = usePlayhead(playhead);
  const sent = useRef({ isPlaying: true, rate: 1, seeks });
  const playback = state.kind === 'playing' && state.isOwn ? state.playback : null;
  const playbackId = playback?.playback_id;
  useEffect(() => {
    // A new recording plays at 1x from its start.
    sent.current = { isPlaying: true, rate: 1, seeks: playhead.state.seeks };
  }, [playbackId, playhead]);
  useEffect(() => {
    if (playback === null) return;
    const before = sent.current;
    sent.current = { isPlaying, rate, seeks };
    if (seeks !== before.seeks) send({ playback_control: 5, drag_playback_time: toSeekTime(playback, playhead) });
    if (isPlaying !== before.isPlaying) {
      if (isPlaying) void video.current?.play();
      else video.current?.pause();
    }
    if (!isPlaying && before.isPlaying) send({ playback_control: 1 });
    else if (isPlaying && (!before.isPlaying || rate !== before.rate)) send(toRateControl(rate));
    // Only choices of the user count.
  }, [isPlaying, rate, seeks]);
}

/** Returns the time of a seek within the window. */
function toSeekTime({ from, to }: Playback, { state }: Playhead): string {
  const latestMs = Date.parse(to) - 1_000;
  return new Date(Math.min(latestMs, Math.max(Date.parse(from), state.timeMs))).toISOString();
}
