import { ActionIcon, Button } from '@mantine/core';
import { IconMaximize, IconVolume, IconVolumeOff, IconX } from '@tabler/icons-react';
import { type KeyboardEvent, type RefObject, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNow, usePreferences } from '../format/preferences-context.ts';
import { CaptureButtons } from './capture.tsx';
import { TalkButton, type TalkControl } from './talk-button.tsx';
import { TileState } from './tile-state.tsx';
import { useVideoSession } from './use-video-session.ts';
import type { StreamType, VideoState } from './video-state.ts';
import './tile.css';

interface VideoTileProps {
  readonly vehicleId: number;
  readonly channelId: number;
  readonly title: string;
  readonly streamType: StreamType;
  readonly isMuted: boolean;
  /** Whether the tile is shown large. */
  readonly isFocused?: boolean;
  /** Whether the user may take pictures and record clips. */
  readonly mayCapture: boolean;
  readonly onMute: (isMuted: boolean) => void;
  readonly onFocus?: (isFocused: boolean) => void;
  readonly onClose?: () => void;
  /** Called with received bytes, a few times a second. */
  readonly onData?: (sizeBytes: number) => void;
}

const ignore = (): void => undefined;

/** Plays a camera. Every state has its reason and a next step. */
export function VideoTile(props: VideoTileProps) {
  const { t } = useTranslation('video');
  const { vehicleId, channelId, isMuted, onClose, onData = ignore } = props;
  const video = useRef<HTMLVideoElement>(null);
  const tile = useRef<HTMLElement>(null);
  const talk = useRef<TalkControl>(null);
  const snapshot = useRef({ takeNow: ignore });
  const [isTalking, setIsTalking] = useState(false);
  const [isSubForced, setIsSubForced] = useState(false);
  const streamType = isSubForced ? 'LOW' : props.streamType;
  const session = useVideoSession(video, { vehicleId, channelId, streamType }, onData);
  const { state } = session;
  const keys = useTileKeys({ ...props, video, tile, talk, snapshot: snapshot.current });
  const { onKeyDown, onKeyUp } = keys;
  return (
    // The keys of a tile apply while it has the focus.
    <section
      ref={tile}
      className="tile"
      aria-label={props.title}
      tabIndex={0}
      data-focused={props.isFocused ?? false}
      onPointerDown={session.touch}
      onKeyDown={onKeyDown}
      onKeyUp={onKeyUp}
    >
      <video ref={video} muted={isMuted || isTalking} playsInline aria-label={t('picture', { title: props.title })} />
      <header>
        <strong>{props.title}</strong>
        {state.kind === 'playing' ? <StreamFacts state={state} video={video} /> : null}
        {onClose === undefined ? null : (
          <ActionIcon variant="subtle" size="sm" aria-label={t('close')} onClick={onClose}>
            <IconX size={16} />
          </ActionIcon>
        )}
      </header>
      <TileState
        state={state}
        vehicleId={vehicleId}
        channelId={channelId}
        streamType={streamType}
        onResume={session.resume}
        onSubStream={() => setIsSubForced(true)}
        onCancel={onClose}
      />
      {state.kind === 'playing' ? (
        <footer>
          <TileActions {...props} tile={tile} />
          {props.mayCapture ? (
            <CaptureButtons vehicleId={vehicleId} channelId={channelId} snapshot={snapshot.current} />
          ) : null}
          {state.stream.talk_url === null ? null : (
            <TalkButton talkUrl={state.stream.talk_url} onTalking={setIsTalking} control={talk} />
          )}
        </footer>
      ) : null}
    </section>
  );
}

/** Shows stream type, codec, delay and viewers. */
function StreamFacts({
  state: { stream },
  video,
}: {
  state: Extract<VideoState, { kind: 'playing' }>;
  video: RefObject<HTMLVideoElement | null>;
}) {
  const { t } = useTranslation('video');
  // The delay is measured again each second.
  useNow();
  const element = video.current;
  const bufferedEnd = element !== null && element.buffered.length > 0 ? element.buffered.end(0) : 0;
  const delay = Math.max(0, bufferedEnd - (element?.currentTime ?? 0));
  const facts = [
    t(`type.${stream.stream_type}`),
    stream.video_codec?.toUpperCase(),
    t('delay', { seconds: delay.toFixed(1) }),
    stream.viewers > 1 ? t('viewers', { count: stream.viewers }) : undefined,
  ];
  return <small>{facts.filter((fact) => fact !== undefined).join(' · ')}</small>;
}

function TileActions({
  isMuted,
  isFocused = false,
  onMute,
  onFocus,
  tile,
}: VideoTileProps & { tile: RefObject<HTMLElement | null> }) {
  const { t } = useTranslation('video');
  return (
    <>
      <ActionIcon variant="default" aria-label={t(isMuted ? 'soundOn' : 'soundOff')} onClick={() => onMute(!isMuted)}>
        {isMuted ? <IconVolumeOff size={18} /> : <IconVolume size={18} />}
      </ActionIcon>
      <ActionIcon variant="default" aria-label={t('fullScreen')} onClick={() => void tile.current?.requestFullscreen()}>
        <IconMaximize size={18} />
      </ActionIcon>
      {onFocus === undefined ? null : (
        <Button variant="default" size="compact-sm" aria-pressed={isFocused} onClick={() => onFocus(!isFocused)}>
          {t('focus')}
        </Button>
      )}
    </>
  );
}

/** Returns the handlers of `m` for sound, `t` held for talk, `s` for a picture and `f` for the full screen. */
function useTileKeys({
  isMuted,
  onMute,
  tile,
  talk,
  snapshot,
}: VideoTileProps & {
  readonly video: RefObject<HTMLVideoElement | null>;
  readonly tile: RefObject<HTMLElement | null>;
  readonly talk: RefObject<TalkControl | null>;
  readonly snapshot: { readonly takeNow: () => void };
}) {
  const hasSingleKeys = usePreferences()?.dashboard['single_keys'] !== false;
  const actions: Readonly<Record<string, () => void>> = {
    m: () => onMute(!isMuted),
    t: () => talk.current?.press(),
    s: () => snapshot.takeNow(),
    f: () => void tile.current?.requestFullscreen(),
  };
  return {
    onKeyDown: (event: KeyboardEvent): void => {
      const action = actions[event.key];
      const isOwn = event.target === event.currentTarget && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (!isOwn || !hasSingleKeys || event.repeat || action === undefined) return;
      event.preventDefault();
      action();
    },
    onKeyUp: (event: KeyboardEvent): void => {
      if (event.key === 't') talk.current?.release();
    },
  };
}
